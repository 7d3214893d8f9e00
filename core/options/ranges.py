"""What a number may be: how it is read from a word, and said in a sentence."""

from __future__ import annotations

import math
import reprlib
from argparse import ArgumentTypeError
from dataclasses import dataclass

from core.errors import InputError

MOST_SEED = 2**31 - 1  # what NumPy, torch, UMAP and the number fields of a browser all take
MOST_STIMULI = 1_000_000
MOST_LAYERS = 10_000
MOST_DRAWS = 100_000  # permutations, halves and whatever else is drawn again and again


@dataclass(frozen=True)
class Range:
    """Numbers from least to most, both among them; whole: only those without a fraction.

    It is the type of an option: called with a word, it returns the number.
    """

    least: int | float
    most: int | float
    whole: bool = True

    def __contains__(self, value: float) -> bool:
        """Return whether a number lies in it; NaN and infinity lie nowhere."""
        return abs(value) < math.inf and self.least <= value <= self.most

    def __str__(self) -> str:
        return f"{_text(self.least)} to {_text(self.most)}"

    @property
    def described(self) -> str:
        """Return what is expected, as a sentence has it."""
        return f"{'a whole number' if self.whole else 'a number'}, {self}"

    def __call__(self, word: str) -> int | float:
        """Return what `read` does, for argparse: raises ArgumentTypeError."""
        try:
            return self.read(word)
        except InputError as error:
            raise ArgumentTypeError(str(error)) from error

    def read(self, word: str) -> int | float:
        """Return the number that a word in ASCII says; raises InputError."""
        try:
            value = int(word) if self.whole else float(word)
        except ValueError:
            value = math.nan
        if value not in self or not word.isascii() or "_" in word:
            raise InputError(f"expected {self.described}; got {reprlib.repr(word)}")
        return value


WORDS = Range(1, 1_000)  # of a caption in fewer words
SIZES = Range(1, 10**15)  # parameters of models
LAYERS, WIDTHS = Range(1, 2_000), Range(1, 1_000_000)  # of models
TOKENS = Range(1, 10**12)  # of texts that a model codes
SAMPLES = Range(6, 10_000_000)  # of a probe: three to train, one to validate, two to test


def _text(number: int | float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:,.10g}"


def explain(text: str, default: str, numbers: Range | None) -> str:
    """Return an option's help: what it is, with its default and range in brackets. A text that ends
    in brackets and has no default says it there.
    """
    if numbers is None:
        return f"{text} ({default})" if default else text
    if not default and text.endswith(")"):
        return f"{text[:-1]}; {numbers})"
    return f"{text} ({'; '.join(filter(None, (default, str(numbers))))})"
