"""From a TOML file to a plan: every key, type and number is checked, and every error says where."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from difflib import get_close_matches
from itertools import combinations
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from core.encoders.catalog import check_spec
from core.errors import EncoderError, InputError, UnknownNameError, shortened
from core.files.texts import read_toml
from core.files.userfile import NOTE, UserFile, shown
from core.modalities import check_modality
from core.plans.plan import Group, Plan, stored_name
from core.plans.wording import check_words
from core.settings import ROOT, expand

FOLDER = ROOT / "data" / "studies"
KEYS = {"groups": "group", "figures": "figure"}  # [[group]] is one group
TYPES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
TAKEN = {"models", "published"}  # tables of every study
OPENED = ("vision", "language")  # modalities of models that a spec opens
SHOWN = 100  # characters of a value in a message

T = TypeVar("T")


def shipped() -> dict[str, Path]:
    """Return the files of the published studies, by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}


def open_plan(name: str) -> Plan:
    """Return the plan of a published study by its name, or of a file by its path.

    Raises InputError for what is neither, and for a file that is no plan.
    """
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
    """Raise InputError where names within a plan do not fit each other."""
    for kind, names, alike in (
        ("group", [group.name for group in plan.groups], str),
        ("figure", [figure.name for figure in plan.figures], str.lower),  # files may not tell case
    ):
        for first, second in combinations(names, 2):
            if alike(first) == alike(second):
                both = first if first == second else f"{first} and {second}"
                raise InputError(f"{plan.place}: two {kind}s are named {both}; rename one")
        if wrong := [name for name in names if not name.replace("-", "").isalnum()]:
            raise InputError(
                f"{plan.place}: {kind} {wrong[0]!r} needs a name of letters, digits and hyphens"
            )
    if taken := [figure.name for figure in plan.figures if figure.name.lower() in TAKEN]:
        raise InputError(
            f"{plan.place}: a figure is named {taken[0]}, as a table that every study writes;"
            " rename it"
        )
    for group in plan.groups:
        _check_specs(plan, group)
    measured = [part.groups for part in (plan.coding, plan.probing) if part]
    for name in (name for names in measured for name in names):
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
    """Make a dataclass of a table's values; raises InputError for an unknown or missing key."""
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
    """Return a value as its type says; raises InputError for another type, or a number out of its
    range.
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _value(next(one for one in inner if one is not NoneType), value, where)
    if origin is Annotated:
        kind, numbers = inner
        if _value(kind, value, where) not in numbers:
            raise InputError(f"{where}: expected {numbers.described}; got {_short(value)}")
        return value
    if origin is tuple:
        return _values(inner[0], value, where)
    if origin is Literal:
        if value not in inner:
            raise InputError(f"{where}: expected one of {', '.join(inner)}; got {_short(value)}")
        return value
    if is_dataclass(hint) or origin is Mapping:
        if not isinstance(value, dict):
            raise InputError(f"{where}: expected a table; got {_short(value)}")
        return _texts(value, where) if origin else read_table(hint, value, where)
    if hint is float and type(value) is int and abs(value) <= sys.float_info.max:
        return float(value)
    if type(value) is not hint:
        raise InputError(f"{where}: expected {TYPES[hint]}; got {_short(value)}")
    return value


def _short(value: Any) -> str:
    return shortened(repr(value), SHOWN)


def _values(hint: Any, value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise InputError(f"{where}: expected a list; got {_short(value)}")
    return tuple(_value(hint, one, f"{where} {at}") for at, one in enumerate(value, start=1))


def _texts(value: Mapping[str, Any], where: str) -> dict[str, str]:
    return {key: _value(str, one, f"{where}: {key}") for key, one in value.items()}
