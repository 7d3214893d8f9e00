"""Hallucination: what a model says, left to itself, that no event of the world can be.

Of each text only the first caption counts: the longest run of whole sentences from its beginning
that the Cave's grammar can word. A text without one is no sentence of the world, which is counted
apart. Source: section 5 of Huh et al. 2024 (hallucination should fall as models get better).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from core.stimuli.cave.reading import contradiction, readings

Verdict = Literal["possible", "impossible", "no caption"]
MOST_SENTENCES = 8  # three of a frame, a thing named again and four pads
TOKENS = 80  # the longest caption of the Cave is about 60 of its own tokenizer


@dataclass(frozen=True)
class Judged:
    """A caption, what it is, and why it is impossible: number, place or named again."""

    text: str
    verdict: Verdict
    why: str = ""


def judge(text: str) -> Judged:
    """Return what the first caption of a text is, or the text where it begins with none."""
    sentences = text.split(". ")
    whole = len(sentences) - (not text.endswith("."))
    for count in range(min(whole, MOST_SENTENCES), 0, -1):
        first = ". ".join(sentences[:count])
        caption = first if first.endswith(".") else f"{first}."
        if why := [contradiction(one) for one in readings(caption)]:
            return (
                Judged(caption, "possible") if "" in why else Judged(caption, "impossible", why[0])
            )
    return Judged(text, "no caption")


def judge_all(texts: Iterable[str]) -> list[Judged]:
    """Return what each text's first caption is."""
    return [judge(text) for text in texts]
