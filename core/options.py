"""Options of questions: fields of frozen dataclasses with default, range, choices and help.

It imports nothing heavy: every command's parser reads it.
"""

from __future__ import annotations

import math
import reprlib
from argparse import ArgumentTypeError
from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from core.errors import InputError

MOST_SEED = 2**31 - 1  # what NumPy, torch, UMAP and the number fields of a browser all take
NEIGHBORS = 10  # the usual k
MOST_STIMULI = 1_000_000
MOST_LAYERS = 10_000
MOST_DRAWS = 100_000  # permutations, halves and other draws


@dataclass(frozen=True)
class Range:
    """Numbers from least to most, both included; whole: integers. Called with a word, as argparse
    calls a type, it returns the number.
    """

    least: int | float
    most: int | float
    whole: bool = True

    def __contains__(self, value: float) -> bool:
        return abs(value) < math.inf and self.least <= value <= self.most

    def __str__(self) -> str:
        return f"{_text(self.least)} to {_text(self.most)}"

    @property
    def described(self) -> str:
        return f"{'a whole number' if self.whole else 'a number'}, {self}"

    def __call__(self, word: str) -> int | float:
        try:
            return self.read(word)
        except InputError as error:
            raise ArgumentTypeError(str(error)) from error

    def read(self, word: str) -> int | float:
        """Return the number that a word in ASCII says; raise InputError."""
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
    """Return an option's help with its default and range in brackets."""
    if numbers is None:
        return f"{text} ({default})" if default else text
    if not default and text.endswith(")"):
        return f"{text[:-1]}; {numbers})"
    return f"{text} ({'; '.join(filter(None, (default, str(numbers))))})"


Value = str | int | float  # of a metric's parameter
Kind = Literal["text", "whole", "number", "switch", "pair", "factor"]

KINDS: Mapping[Any, Kind] = {str: "text", int: "whole", float: "number", bool: "switch"}
_OPTION, _PART = "option", "part"

T = TypeVar("T")


@dataclass(frozen=True)
class Option:
    """One choice of a question: an option of its command, a key of the address, a control.

    path: of fields, from the question to the value. kind: `pair` is NAME=VALUE with numbers as
    numbers, `factor` with all values as text. many: any number of values. help: a phrase for the
    command line. choices: all valid values, if they are few.
    """

    name: str
    path: tuple[str, ...]
    kind: Kind
    default: Any
    help: str
    label: str
    many: bool
    choices: tuple[str, ...]
    metavar: str
    range: Range | None
    positional: bool
    required: bool

    @property
    def flag(self) -> str:
        return f"--{self.name.replace('_', '-')}"


def option(
    default: Any = None,
    *,
    help: str,
    label: str = "",
    name: str = "",
    metavar: str = "",
    least: int | float | None = None,
    most: int | float | None = None,
    positional: bool = False,
    required: bool = False,
) -> Any:
    """Declare a field of a question; see `Option`. A number must have least and most."""
    return field(default=default, metadata={_OPTION: {**locals()}})


def argument(*, optional: bool = False, **declared: Any) -> Any:
    """Declare a field that the command takes without dashes, and requires unless optional."""
    return option("", positional=True, required=not optional, **declared)


def required(default: Any, **declared: Any) -> Any:
    """Declare a field that the command requires by its name; see `Option`."""
    return option(default, required=True, **declared)


def part(kind: type[T], **defaults: Any) -> T:
    """Declare a group of fields that several questions share; defaults: where they differ here."""
    made: T = field(default=kind(**defaults), metadata={_PART: True})
    return made


def options_of(question: type) -> tuple[Option, ...]:
    """Return the options of a question type in the order of its fields, parts unfolded. Raise
    TypeError for a field that is neither an option nor a part, and for a name used twice.
    """
    return _options_of(question)


@cache
def _options_of(question: Any) -> tuple[Option, ...]:
    options = tuple(_unfold(question, None, ()))
    names = [one.name for one in options]
    if twice := {name for name in names if names.count(name) > 1}:
        raise TypeError(f"{question.__name__} has two options named {', '.join(sorted(twice))}")
    return options


def _unfold(kind: type, instance: Any, path: tuple[str, ...]) -> Iterator[Option]:
    hints = get_type_hints(kind)
    for one in fields(kind):
        default = getattr(instance, one.name) if instance is not None else one.default
        if _PART in one.metadata:
            yield from _unfold(type(default), default, (*path, one.name))
        elif _OPTION in one.metadata:
            yield _option(one, hints[one.name], default, path)
        else:
            raise TypeError(f"{kind.__name__}.{one.name} is neither an option nor a part")


def _option(one: Field[Any], hint: Any, default: Any, path: tuple[str, ...]) -> Option:
    declared = one.metadata[_OPTION]
    kind, many, choices = _read_hint(hint)
    name, numbers = declared["name"] or one.name, None
    if kind in ("whole", "number"):
        least, most = declared["least"], declared["most"]
        if least is None or most is None:  # some machine would not bear such a number
            raise TypeError(f"a number needs least and most: {declared['help']}")
        numbers = Range(least, most, whole=kind == "whole")
    metavars = {"text": "NAME", "pair": "NAME=VALUE", "factor": "FACTOR=VALUE"}
    return Option(
        name=name,
        path=(*path, one.name),
        kind=kind,
        default=default,
        help=declared["help"],
        label=declared["label"] or name.replace("_", " ").capitalize(),
        many=many,
        choices=choices,
        metavar=declared["metavar"] or metavars.get(kind, "N"),
        range=numbers,
        positional=declared["positional"],
        required=declared["required"],
    )


def _read_hint(hint: Any) -> tuple[Kind, bool, tuple[str, ...]]:
    if get_origin(hint) in (Union, UnionType):
        inner = [one for one in get_args(hint) if one is not type(None)]
        return _read_hint(inner[0])
    if get_origin(hint) is tuple:
        inner = get_args(hint)[0]
        if get_origin(inner) is tuple:
            return ("factor" if get_args(inner)[1] is str else "pair"), True, ()
        kind, _, choices = _read_hint(inner)
        return kind, True, choices
    if get_origin(hint) is Literal:
        return "text", False, tuple(get_args(hint))
    return KINDS[hint], False, ()


def value_of(question: Any, one: Option) -> Any:
    value = question
    for name in one.path:
        value = getattr(value, name)
    return value


def values_of(question: Any) -> dict[str, Any]:
    return {one.name: value_of(question, one) for one in options_of(type(question))}


def build(kind: type[T], values: Mapping[str, Any]) -> T:
    """Return a question from values by option name, else defaults."""
    chosen: dict[str, Any] = {}
    for one in options_of(kind):
        if one.name in values:
            tree = chosen
            for name in one.path[:-1]:
                tree = tree.setdefault(name, {})
            tree[one.path[-1]] = values[one.name]
    return _make(kind, None, chosen)


def _make(kind: type[T], instance: Any, tree: Mapping[str, Any]) -> T:
    values: dict[str, Any] = {}
    for one in fields(kind):  # type: ignore[arg-type]
        default = getattr(instance, one.name) if instance is not None else one.default
        if _PART in one.metadata:
            values[one.name] = _make(type(default), default, tree.get(one.name, {}))
        else:
            values[one.name] = tree.get(one.name, default)
    assert is_dataclass(kind)
    return kind(**values)


PER_STIMULUS = "neighbors per stimulus, 1 … n − 1"


def seed_option(help: str) -> Any:
    return option(0, least=0, most=MOST_SEED, label="Seed", help=help)


def neighbors_option(
    default: int | tuple[int, ...] | None = NEIGHBORS, *, help: str = PER_STIMULUS, name: str = ""
) -> Any:
    return option(default, name=name, least=1, most=MOST_STIMULI, label="Neighbors k", help=help)


def models_option(help: str, *, name: str = "models", label: str = "") -> Any:
    """Declare which models are named; help: which are meant if none are, in brackets."""
    return option((), name=name, label=label, metavar="M", help=help)


def draws_option(default: int, *, least: int, help: str, label: str = "") -> Any:
    """Declare a number of permutations, halves or draws with replacement."""
    return option(default, least=least, most=MOST_DRAWS, label=label, help=help)
