"""A question in words: those of the command line, and those of a page's address."""

from __future__ import annotations

import json
import math
import reprlib
import shlex
from argparse import ArgumentParser, ArgumentTypeError, BooleanOptionalAction, Namespace
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

from core.errors import InputError, UnknownNameError
from core.options import Option, Value, build, explain, options_of, value_of
from core.questions.question import Question

Q = TypeVar("Q")


@runtime_checkable  # tests check arguments against it
class Worded(Protocol):
    """A question, or any other dataclass of options that a command takes."""

    command: ClassVar[str]


def add_options(parser: ArgumentParser, kind: type) -> None:
    """Add an option for each field of a question, with its help and default."""
    for one in options_of(kind):
        if one.kind == "switch":
            parser.add_argument(
                one.flag,
                dest=one.name,
                action=BooleanOptionalAction if one.default else "store_true",
                default=one.default,
                help=one.help,
            )
        elif one.positional:
            several = ("+" if one.required else "*") if one.many else None
            text = explain(one.help, "", one.range)
            parser.add_argument(
                one.name, type=_reader(one), nargs=several, metavar=one.metavar, help=text
            )
        else:
            _add_value(parser, one)


def _add_value(parser: ArgumentParser, one: Option) -> None:
    parser.add_argument(
        one.flag,
        dest=one.name,
        type=_reader(one),
        default=None if one.many else one.default,  # uses add up, but not to a default
        choices=one.choices or None,
        metavar=None if one.choices else one.metavar,
        help=_help(one),
        nargs="+" if one.many else None,
        required=one.required and one.name != "dataset",  # else the store's only one
        action="extend" if one.many else "store",
    )


def _help(one: Option) -> str:
    """Return an option's help with its default, which a help in brackets says by itself, and range:
    draws (200; 0 to 100,000).
    """
    default = " ".join(map(str, one.default)) if one.many else one.default
    if one.required and one.name == "dataset":
        default = "the store's only one"
    shown = default not in (None, "") and one.kind not in ("pair", "factor")
    return explain(one.help, str(default) if shown else "", one.range)


def read_question(kind: type[Q], arguments: Namespace) -> Q:
    """Return the question that parsed arguments ask; raises what its fields refuse."""
    parsed = [(one, getattr(arguments, one.name)) for one in options_of(kind)]
    for one, value in parsed:
        if (
            value == [] and not one.positional
        ):  # argparse drops the dashes of --k=-- and keeps an empty list
            raise InputError(f"{one.flag} takes a value; got --: name one, or leave {one.flag} out")
    return build(kind, {one.name: _frozen(value) for one, value in parsed if value is not None})


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def build_checked(kind: type[Q], values: Mapping[str, Any]) -> Q:
    """Return a question, or any dataclass of options, from Python values by option name; one value
    may mean several. Raises UnknownNameError for an option, InputError for a value.
    """
    options = {one.name: one for one in options_of(kind)}
    for name in values:
        if name not in options:
            raise UnknownNameError("option", name, options)
    return build(kind, {name: _checked(options[name], value) for name, value in values.items()})


def _checked(one: Option, value: Any) -> Any:
    if one.many and isinstance(value, Mapping):
        value = tuple(value.items())
    elif one.many:
        value = (value,) if isinstance(value, str | int | float) else tuple(value)
    kinds: dict[str, Any] = {"text": str, "switch": bool, "whole": int, "number": (int, float)}
    for each in value if one.many else [value]:
        if one.kind in ("pair", "factor"):
            fits = isinstance(each, tuple) and len(each) == 2
            expected = "a mapping from names to values"
        elif one.choices or one.kind not in kinds:
            fits, expected = each in one.choices, f"one of {', '.join(one.choices)}"
        else:
            fits = isinstance(each, kinds[one.kind]) and (one.range is None or each in one.range)
            words = {"text": "a text", "switch": "True or False"}
            expected = one.range.described if one.range else words[one.kind]
        if not fits and each != one.default:
            raise InputError(f"{one.name}: expected {expected}; got {reprlib.repr(each)}")
    return value


def to_words(question: Worded) -> list[str]:
    """Return a question as words of its command, defaults left out."""
    words = question.command.split()
    for one in options_of(type(question)):
        value = value_of(question, one)
        if one.positional:
            words += map(str, value if one.many else [value])
        elif value != one.default:
            words += _option_words(one, value)
    return words


def to_command(question: Question, *more: str) -> str:
    """Return a question as a line for a shell; more: further words."""
    return shlex.join(["platoscope", *to_words(question), *more])


def _option_words(one: Option, value: Any) -> list[str]:
    if one.kind == "switch":
        return [one.flag] if value else [f"--no-{one.flag.removeprefix('--')}"]
    texts = [_text(one, each) for each in (value if one.many else (value,))]
    if any(text.startswith("-") for text in texts):  # else it would be taken for an option
        return [f"{one.flag}={text}" for text in texts]
    return [one.flag, *texts]


def to_query(question: Question) -> dict[str, list[str]]:
    """Return a question as the keys and values of its page's address, defaults left out."""
    query: dict[str, list[str]] = {}
    for one in options_of(type(question)):
        value = value_of(question, one)
        if value != one.default:
            query[one.name] = [_shown(one, each) for each in (value if one.many else (value,))]
    return query


def _shown(one: Option, value: Any) -> str:
    return str(value).lower() if one.kind == "switch" else _text(one, value)


def _text(one: Option, value: Any) -> str:
    return f"{value[0]}={value[1]}" if one.kind in ("pair", "factor") else f"{value}"


def _reader(one: Option) -> Callable[[str], Any]:
    if one.kind == "text":
        return str
    if one.kind in ("pair", "factor"):
        return partial(_read_pair, numbers=one.kind == "pair")
    assert one.range
    return one.range


def _read_pair(text: str, *, numbers: bool) -> tuple[str, Value]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise ArgumentTypeError(
            "expected a name and its value, such as variant=released or scene=city; got"
            f" {reprlib.repr(text)}"
        )
    return name, _number(value) if numbers else value


def _number(text: str) -> Value:
    """Return a finite number as one, any other text as it is."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if number and abs(value) < math.inf else text
