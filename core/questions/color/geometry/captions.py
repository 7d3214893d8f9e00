"""Which color words occur together in captions: language alone, without any model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
from jaxtyping import Int64


def find_words(text: str, words: Sequence[str]) -> list[int]:
    """Return which words a text has, in order and as often as they occur: whole words in lower or
    upper case.
    """
    numbers = {word: number for number, word in enumerate(words)}
    return [numbers[word] for word in re.findall(r"[a-z]+", text.lower()) if word in numbers]


def count_together(
    captions: Iterable[str], words: Sequence[str]
) -> Int64[np.ndarray, "words words"]:
    """Count how often two color words stand in one caption, in either order; twice the same word
    counts on the diagonal.

    The table is symmetric, as that of pixels is; see
    `core.questions.color.geometry.cooccurrence.pmi`.
    """
    table = np.zeros((len(words), len(words)), np.int64)
    for caption in captions:
        for first, second in combinations(find_words(caption, words), 2):
            table[first, second] += 1
            table[second, first] += 1
    return table
