"""How the address writes the values of controls, and how they are read from a link."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from core.errors import InputError, UnknownNameError, quoted
from core.options import Range

Texts = dict[str, list[str]]  # of an address, by key
Bounds = tuple[float, float]


@dataclass(frozen=True)
class Reader:
    """How one value of a link is read; kind, among and within as of `bind`."""

    kind: str
    among: Collection[Any] | None
    within: Bounds

    def __call__(self, text: str, sample: Any) -> Any:
        """Return the value that a text says, of the sample's type; raises InputError."""
        if self.among is not None:
            return self._find(text, self.among)
        if isinstance(sample, bool):
            return self._switch(text)
        if isinstance(sample, int | float):
            return self._number(text, type(sample))
        return text

    def _find(self, text: str, among: Collection[Any]) -> Any:
        for value in among:
            if to_text(value) == text:
                return value
        raise UnknownNameError(self.kind, text, map(to_text, among))

    def _switch(self, text: str) -> bool:
        if text not in ("true", "false"):
            raise InputError(f"{self.kind} is true or false, not {quoted(text)}")
        return text == "true"

    def _number(self, text: str, kind: type[float]) -> float:
        low, high = self.within
        try:
            return Range(low, high, whole=issubclass(kind, int)).read(text)
        except InputError as error:
            bounds = "a number" if math.isinf(high) else f"{low:,.10g} to {high:,.10g}"
            raise InputError(f"{self.kind} is {bounds}, not {quoted(text)}") from error


def named_by(titles: Mapping[Any, str] | pd.Series) -> Callable[[str], str]:
    """Return what tells the title of a choice; of one that is gone meanwhile, its name."""
    return lambda name: titles.get(name, name)


def fits(value: Any, among: Collection[Any] | None, within: Bounds) -> bool:
    """Return whether a value, or each of several, can be chosen; among and within as of `bind`."""
    values = value if isinstance(value, list | tuple) else [value]
    if among is not None:
        return all(one in among for one in values)
    low, high = within
    return all(low <= one <= high for one in values if isinstance(one, int | float))


def to_texts(value: Any, joint: str) -> list[str]:
    """Return what the address says of a control's value; joint: what joins several in a text."""
    if joint:
        return str(value).split(joint)
    values: Iterable[Any] = value if isinstance(value, list | tuple) else [value]
    return [to_text(one) for one in values] or [""]  # nothing chosen is a choice


def to_text(value: Any) -> str:
    """Return how the address, as the command line, writes one value."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def split(texts: Texts) -> Texts:
    """Return the texts by key, with KIND=NAME=VALUE under KIND:NAME as well."""
    named = {
        f"{key}:{text.partition('=')[0]}": [text.partition("=")[2]]
        for key, each in texts.items()
        for text in each
        if "=" in text
    }
    return {**texts, **named}


def join(texts: Texts) -> Texts:
    """Return the texts by key, with those of KIND:NAME as NAME=VALUE under KIND."""
    joined: Texts = {}
    for key, each in texts.items():
        kind, colon, name = key.partition(":")
        joined.setdefault(kind, []).extend([f"{name}={text}" for text in each] if colon else each)
    return joined


def say_first(mistakes: Sequence[str], most: int = 2) -> str:
    """Return the first mistakes in one control's values as one sentence, and how many more."""
    more = [f"and {len(mistakes) - most} more"] if len(mistakes) > most else []
    return "; ".join([*mistakes[:most], *more])
