"""How much of an event a text tells: the share of its facts that the text's words give away."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from math import log
from types import MappingProxyType

from core.stimuli.cave.events import COLORS, KINDS, SCENES, SIZES, TIMES, WEATHERS, Event
from core.stimuli.cave.grammar import concept
from core.stimuli.cave.words import WORDINGS, plural

COUNTS = ("one", "two", "three", "four")
CONCEPTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "scene": SCENES,
        "time": TIMES,
        "weather": WEATHERS,
        "count": COUNTS,
        "kind": KINDS,
        "color": COLORS,
        "size": SIZES,
        "facing": ("facing left", "facing right"),
        "place": ("at left", "in the middle", "at right"),
        "depth": ("near", "far"),
    }
)
_DETAILS = ("color", "size", "facing", "place", "depth")  # of a thing, beside its kind


def share_told(event: Event, text: str) -> float:
    """Return the mean over an event's facts of how much of each a text tells, from 0 to 1.

    The facts are scene, time, weather, count, and each different kind, color, size, direction and
    place of its things. A wording that c of the C concepts of a factor share tells 1 − log c / log
    C of the fact; of several, the most telling counts. A fact counts as told wherever its words
    stand, so that one red thing tells of all red things.
    """
    shares = _shares(text)
    facts = set(_facts(event))
    return sum(shares.get(fact, 0.0) for fact in facts) / len(facts)


def _facts(event: Event) -> Iterator[tuple[str, str]]:
    yield from (
        ("scene", event.scene),
        ("time", event.time),
        ("weather", event.weather),
        ("count", COUNTS[len(event.things) - 1]),
    )
    for thing in event.things:
        yield "kind", thing.kind
        for detail in _DETAILS:
            if (name := concept(thing, detail)) is not None:
                yield detail, name


def _shares(text: str) -> dict[tuple[str, str], float]:
    """Return how much a text tells of every fact that it may speak of."""
    pattern, meanings = _dictionary()
    shares: dict[tuple[str, str], float] = {}
    for wording in pattern.findall(text.lower()):
        for factor, concepts in meanings[wording].items():
            share = 1 - log(len(concepts)) / log(len(CONCEPTS[factor]))
            shares |= {
                (factor, one): max(share, shares.get((factor, one), 0.0)) for one in concepts
            }
    return shares


@cache
def _dictionary() -> tuple[re.Pattern[str], dict[str, dict[str, set[str]]]]:
    """Return a pattern of all wordings, the longest first, and what each may mean: the concepts by
    factor.
    """
    meanings: dict[str, dict[str, set[str]]] = {
        wording: {} for wordings in WORDINGS.values() for wording in wordings
    }
    for factor, concepts in CONCEPTS.items():
        for one in concepts:
            for wording in _wordings(factor, one):
                meanings.setdefault(wording, {}).setdefault(factor, set()).add(one)
    longest_first = sorted(meanings, key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b"), meanings


def _wordings(factor: str, one: str) -> Iterator[str]:
    """Yield what means a concept: nouns also in the plural, a count with the word for things that
    it counts, which are all.
    """
    for wording in WORDINGS[one]:
        if factor == "count":
            yield from (
                f"{wording} {noun if one == 'one' else plural(noun)}" for noun in WORDINGS["thing"]
            )
        else:
            yield wording
            if factor == "kind":
                yield plural(wording)
