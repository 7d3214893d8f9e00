"""From a TOML file to a plan: every key, type and number is checked, and every error says where."""

from __future__ import annotations

import os
import shlex
import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NoReturn,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from core.encoders.catalog import check_spec
from core.errors import EncoderError, InputError, UnknownNameError, quoted, shortened
from core.files.texts import read_toml
from core.files.userfile import NOTE, UserFile, shown
from core.modalities import check_modality
from core.options import options_of
from core.plans.plan import Figure, Group, Plan, stored_name
from core.questions.moved import present_words
from core.questions.question import StudyQuestion
from core.questions.topics import every_kind
from core.questions.words import add_options, read_question
from core.settings import ROOT, expand

FOLDER = ROOT / "data" / "studies"
KEYS = {"groups": "group", "figures": "figure"}  # [[group]] is one group
TYPES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
TAKEN = {"models", "published"}  # tables of every study
OPENED = ("vision", "language")  # modalities of models that a spec opens
SHOWN = 100  # characters of a value in a message
MARK = "@"  # before the name of a group
DATASET = "--dataset"  # which the plan itself says
LONGEST = 300  # characters of a complaint, which repeats what was given

T = TypeVar("T")


def shipped() -> dict[str, Path]:
    """Return the files of the published studies, by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}


def open_plan(name: str) -> Plan:
    """Return a plan by the name of a published study or the path of a file; raise InputError."""
    places = shipped()
    place = places.get(name) or expand(name)
    if not os.path.isfile(place):  # a very long name is no error
        raise InputError(
            f"no study named {name!r} and no such file; there are {', '.join(places)}, or name a"
            " TOML file of your own"
        )
    return read_plan(place)


def read_plan(place: Path) -> Plan:
    """Read a plan; raises InputError that says where the file is wrong."""
    values = read_toml(UserFile(place, "a plan in TOML", InputError, most=NOTE))
    own = {"name": place.stem, "place": place}
    if taken := own.keys() & values.keys():
        raise InputError(f"{place}: {min(taken)} is the file's own; leave it out")
    plan: Plan = read_table(Plan, values, str(place), own)
    try:
        _check(plan)
    except UnknownNameError as error:
        raise InputError(f"{place}: {error}") from error
    return plan


def _check(plan: Plan) -> None:
    for kind, names in (
        ("group", [group.name for group in plan.groups]),
        ("figure", [figure.name.lower() for figure in plan.figures]),  # files may not tell case
    ):
        if twice := [name for name in names if names.count(name) > 1]:
            raise InputError(f"{plan.place}: two {kind}s are named {twice[0]}; rename one")
        if wrong := [name for name in names if not name.replace("-", "").isalnum()]:
            raise InputError(
                f"{plan.place}: {kind} {wrong[0]!r} needs a name of letters, digits and hyphens"
            )
        if kind == "figure" and (taken := TAKEN.intersection(names)):
            raise InputError(
                f"{plan.place}: a figure is named {min(taken)}, as a table that every study"
                " writes; rename it"
            )
    for group in plan.groups:
        _check_specs(plan, group)
    for part in (plan.coding, plan.probing):
        for name in part.groups if part else ():
            plan.group(name)
    for figure in plan.figures:
        check_words(plan, figure)
    drawn = {figure.name for figure in plan.figures}
    for finding in plan.published:
        if finding.figure not in drawn:
            raise InputError(f"{plan.place}: no figure named {finding.figure!r} for {finding.what}")


def _check_specs(plan: Plan, group: Group) -> None:
    try:
        check_modality(group.modality)
        for model in group.models:
            stored = stored_name(model.spec)
            if not stored or ":" in stored:
                check_spec(model.spec)
            if not stored and group.modality not in OPENED:
                raise InputError(
                    f"modality: expected one of {', '.join(OPENED)} for {model.spec}, got"
                    f" {group.modality!r}; models of other kinds are named as the store does"
                )
    except (EncoderError, InputError) as error:
        raise InputError(f"{plan.place}: group {group.name}: {error}") from error


def read_table(
    kind: type[T], values: Mapping[str, Any], where: str, own: Mapping[str, Any] | None = None
) -> T:
    """Make a dataclass of a table's values; raise InputError for an unknown or missing key."""
    made, hints = dict(own or {}), get_type_hints(kind, include_extras=True)
    keys = KEYS if kind is Plan else {}
    wanted = {keys.get(one.name, one.name): one for one in fields(kind)}  # type: ignore[arg-type]
    if strange := sorted(values.keys() - wanted.keys()):
        near = get_close_matches(strange[0], wanted, n=1)
        hint = f"did you mean {near[0]}?" if near else f"expected {', '.join(wanted)}"
        raise InputError(f"{where}: unknown key {shown(strange[0])}; {hint}")
    for key, one in wanted.items():
        if key in values:
            made[one.name] = _value(hints[one.name], values[key], f"{where}: {key}")
        elif one.name not in made and one.default is one.default_factory is MISSING:
            raise InputError(f"{where}: the key {key!r} is missing")
    return kind(**made)


def _value(hint: Any, value: Any, where: str) -> Any:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _value(next(one for one in inner if one is not NoneType), value, where)
    if origin is Annotated:
        kind, numbers = inner
        if _value(kind, value, where) not in numbers:
            raise InputError(f"{where}: expected {numbers.described}; got {_short(value)}")
        return value
    if origin is tuple:
        if not isinstance(value, list):
            raise InputError(f"{where}: expected a list; got {_short(value)}")
        named = enumerate(value, start=1)
        return tuple(_value(inner[0], one, f"{where} {at}") for at, one in named)
    if origin is Literal:
        if value not in inner:
            raise InputError(f"{where}: expected one of {', '.join(inner)}; got {_short(value)}")
        return value
    if is_dataclass(hint) or origin is Mapping:
        return _table(hint, value, where)
    if hint is float and type(value) is int and abs(value) <= sys.float_info.max:
        return float(value)
    if type(value) is not hint:
        raise InputError(f"{where}: expected {TYPES[hint]}; got {_short(value)}")
    return value


def _table(hint: Any, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise InputError(f"{where}: expected a table; got {_short(value)}")
    if is_dataclass(hint):
        return read_table(hint, value, where)  # type: ignore[arg-type]
    return {key: _value(str, one, f"{where}: {key}") for key, one in value.items()}


def _short(value: Any) -> str:
    return shortened(repr(value), SHOWN)


class UnknownModelsError(InputError):
    """No model of a group that a figure names is in the store."""


def check_words(plan: Plan, figure: Figure) -> None:
    """Raise InputError if a figure's words are no question, or name an unknown group."""
    where = f"{plan.place}: figure {figure.name}"
    try:
        kind, words = _split(plan, figure)
    except ValueError as error:
        raise InputError(
            f"{where}: {quoted(figure.ask)} opens a quotation, or ends in a backslash; expected"
            " the words of a command: close the quotation"
        ) from error
    for name in groups_in(figure):
        plan.group(name)
    if DATASET in words:
        raise InputError(f"{where}: the plan says which dataset; leave {DATASET} out")
    _parse(kind, words, where)


def groups_in(figure: Figure) -> list[str]:
    """Return the names of the groups that a figure names, each once."""
    words = [word[1:] for word in shlex.split(figure.ask) if word.startswith(MARK)]
    return list(dict.fromkeys(word.partition(":")[0] for word in words))


def question_of(plan: Plan, figure: Figure, models: Mapping[str, Sequence[str]]) -> StudyQuestion:
    """Return a figure's question about models of the store, by group; `@GROUP:LAYER` is a layer of
    each. Raise UnknownModelsError if none of an option's models is there.
    """
    kind, words = _split(plan, figure)
    options: list[list[str]] = []  # each flag with its values
    for word in words:
        if word.startswith("--") or not options:
            options.append([word])
        else:
            options[-1].append(word)
    spread: list[str] = []
    for flag, *values in options:
        named: list[str] = []
        for value in values:
            group, colon, layer = value.removeprefix(MARK).partition(":")
            of_group = [f"{name}{colon}{layer}" for name in models.get(group, ())]
            named += of_group if value.startswith(MARK) else [value]
        if values and not named:
            groups = " or ".join(value.removeprefix(MARK) for value in values)
            raise UnknownModelsError(f"no model of group {groups} is in the store")
        spread += [flag, *named]
    return _parse(kind, [*spread, DATASET, plan.dataset.name], figure.name)


def _split(plan: Plan, figure: Figure) -> tuple[type[StudyQuestion], list[str]]:
    words = present_words(shlex.split(figure.ask))
    kinds = {kind.command: kind for kind in every_kind() if issubclass(kind, StudyQuestion)}
    for length in (2, 1):
        command = " ".join(words[:length])
        if command in kinds:
            # an option of several values says what is compared, which the preparation does not
            flags = {one.name: one.flag for one in options_of(kinds[command]) if not one.many}
            chosen = vars(plan.preparation).items()
            prepared = [
                (flags[name], f"{value}")
                for name, value in chosen
                if name in flags and value is not None
            ]
            return kinds[command], [*chain(*prepared), *words[length:]]
    raise UnknownNameError(f"question of figure {figure.name}", " ".join(words[:2]), kinds)


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError(f"{self.prog}: {shortened(message, LONGEST)}")


def _parse(kind: type[StudyQuestion], words: Sequence[str], where: str) -> StudyQuestion:
    parser = _Parser(prog=where, add_help=False, allow_abbrev=False)
    add_options(parser, kind)
    return read_question(kind, parser.parse_args(words))
