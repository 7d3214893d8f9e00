"""From rows to stimuli and caption levels, in order of first appearance; and the levels that follow
from several captions of a stimulus.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from core.errors import StimuliError, UnknownNameError, shortened
from core.recipe import Plain

SHOWN_PROBLEMS = 10
_LONGEST_REASON = 300
# no leading zeros: "007" is a name; 15 digits also fit a float, next to gaps
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,14})")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]+)?([eE][-+]?[0-9]{1,2})?")


@dataclass(frozen=True)
class Row:
    """One caption of one stimulus as given; `number` counts from 1."""

    number: int
    stimulus: str
    level: str
    text: Any
    factors: Plain = field(default_factory=dict)


@dataclass(frozen=True)
class Problem:
    """What is wrong with a row, in words."""

    row: int
    reason: str

    def __str__(self) -> str:
        return f"row {self.row}: {shortened(self.reason, _LONGEST_REASON)}"


@dataclass(frozen=True, eq=False)
class Captioned:
    """The stimuli that are whole: tables as in Dataset, and the levels, default first."""

    stimuli: pd.DataFrame
    captions: pd.DataFrame
    levels: tuple[str, ...]

    def revision(self, images: Sequence[str]) -> str:
        """Return the sha256 of ids, factors, levels, captions and each image's own digest."""
        parts = [_plain(self.stimuli), list(self.levels), _plain(self.captions), list(images)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    @property
    def notes(self) -> tuple[str, ...]:
        """Return how many captions several stimuli share, and stimuli have fewer than others."""
        stimuli_of = self.captions.groupby("text")["index"].nunique()
        shared = int((stimuli_of > 1).sum())
        notes = [f"captions that two or more stimuli share: {shared:,}"] * bool(shared)
        counts = self.captions.groupby("index").size()
        if fewer := int((counts < counts.max()).sum()):
            present = self.captions["level"].value_counts()
            lacking = [level for level in self.levels if present[level] < len(counts)]
            levels = ", ".join(lacking[:5]) + (" …" if len(lacking) > 5 else "")
            notes.append(
                f"stimuli with fewer than {counts.max():,} captions: {fewer:,} of {len(counts):,};"
                f" not all have the caption levels {levels}"
            )
        return tuple(notes)


def gather(rows: Sequence[Row], *, broken: Collection[str] = ()) -> tuple[Captioned, list[Problem]]:
    """Put rows together, leaving out the stimuli in `broken`, rows without text or with a level
    that their stimulus has already, and stimuli without the default level (the first row's) or with
    two values of one factor.
    """
    levels = tuple(dict.fromkeys(row.level for row in rows if row.level))
    default = levels[0] if levels else None
    sound = [row for row in rows if row.stimulus not in broken]
    texts: dict[tuple[str, str], str] = {}
    seen: dict[tuple[str, str], int] = {}
    first: dict[str, Row] = {}
    wrong: list[Problem] = []
    contradictions: dict[str, Problem] = {}
    for row in sound:
        key, origin = (row.stimulus, row.level), first.setdefault(row.stimulus, row)
        if reason := _wrong_with(row, seen.get(key)):
            wrong.append(Problem(row.number, reason))
        else:
            texts[key] = row.text
            seen[key] = row.number
        for name, value in row.factors.items():
            if value != origin.factors[name] and row.stimulus not in contradictions:
                reason = (
                    f"{name} of {row.stimulus} is {value!r} but {origin.factors[name]!r} in row"
                    f" {origin.number}"
                )
                contradictions[row.stimulus] = Problem(row.number, reason)
    lacking = {name for name in first if (name, default) not in texts}
    # unless the row that broke it has been named already
    unnamed = lacking - {row.stimulus for row in sound if row.level == default}
    wrong += contradictions.values()
    for name in unnamed if default is not None else ():
        reason = f"{name} has no caption of level {default}, the first in the table"
        wrong.append(Problem(first[name].number, reason))
    kept = [row for name, row in first.items() if name not in {*contradictions, *lacking}]
    return _tabulate(kept, texts, levels), sorted(wrong, key=lambda problem: problem.row)


def gather_images(
    rows: Sequence[Row], *, broken: Collection[str] = ()
) -> tuple[Captioned, list[Problem]]:
    """Put rows of images or ids without captions together, leaving out the stimuli in `broken` and
    rows of one stimulus after the first.
    """
    first: dict[str, Row] = {}
    wrong = []
    for row in rows:
        if row.stimulus in first:
            reason = f"{row.stimulus} is there twice (also row {first[row.stimulus].number})"
            wrong.append(Problem(row.number, reason))
        elif row.stimulus not in broken:
            first[row.stimulus] = row
    whole = _tabulate([*first.values()], {}, ())
    types = {"index": "int64", "level": "str", "text": "str"}
    return replace(whole, captions=whole.captions.astype(types)), wrong


def refuse(where: str, problems: Sequence[Problem]) -> StimuliError:
    """Return the error that lists the first problems and their number."""
    shown = "\n  ".join(str(problem) for problem in problems[:SHOWN_PROBLEMS])
    count = f"{len(problems):,} problem{'s' if len(problems) > 1 else ''}"
    more = f"; the first {SHOWN_PROBLEMS}" if len(problems) > SHOWN_PROBLEMS else ""
    return StimuliError(
        f"{where} has {count} (rows count from 1, without a header){more}:\n  {shown}\n"
        "Correct them, or leave these out and keep the rest with skip_broken=True (--skip-broken)"
    )


def read_level(value: Any) -> str:
    """Return a level as text; empty where there is none. A whole number has no decimals however it
    was stored.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return (
        str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()
    )


def _wrong_with(row: Row, earlier: int | None) -> str | None:
    """Return what is wrong with a row's caption; earlier: the row that has its level already."""
    text, name = row.text, row.stimulus
    if not row.level:
        return f"{name} has no caption level"
    if text is None or (isinstance(text, float) and math.isnan(text)):
        return f"the caption of {name} is missing"
    if not isinstance(text, str):
        return f"the caption of {name} is of type {type(text).__name__}, expected text"
    if not text.strip():
        return f"the caption of {name} is empty"
    fixed = {"the caption": text, "the level": row.level, "the id": name}
    for what, value in {**fixed, **row.factors}.items():  # that UTF-8 cannot spell
        if isinstance(value, str) and "\0" in value:
            return f"{what} of {name} has a NUL character"
        if isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value):
            return f"{what} of {name} has half a character (a lone surrogate)"
    if earlier is not None:
        return f"{name} has level {row.level} twice (also row {earlier})"
    return None


def _tabulate(
    rows: Sequence[Row], texts: Mapping[tuple[str, str], str], levels: Sequence[str]
) -> Captioned:
    columns = {"stimulus": pd.Series([row.stimulus for row in rows], dtype="str")}
    for name in rows[0].factors if rows else ():
        columns[name] = type_values([row.factors[name] for row in rows])
    lines = [
        (index, level, texts[row.stimulus, level])
        for index, row in enumerate(rows)
        for level in levels
        if (row.stimulus, level) in texts
    ]
    present = {level for _, level, _ in lines}
    captions = pd.DataFrame(lines, columns=["index", "level", "text"])
    return Captioned(
        pd.DataFrame(columns), captions, tuple(level for level in levels if level in present)
    )


def type_values(values: Sequence[Any]) -> pd.Series:
    """Return a factor's values as all numbers or all text, missing where None; "007" and numbers
    over 15 digits stay text.
    """
    written = [str(value) for value in values if value is not None]
    if written and all(_WHOLE.fullmatch(text) for text in written):
        return pd.Series([None if value is None else int(value) for value in values])
    if written and all(_NUMBER.fullmatch(text) for text in written):
        return pd.Series([None if value is None else float(value) for value in values])
    return pd.Series([None if value is None else str(value) for value in values], dtype="str")


def _plain(table: pd.DataFrame) -> list[Any]:
    """Return a table as names and columns of JSON values, None where missing."""
    columns = [
        [None if pd.isna(value) else value for value in table[name].tolist()]
        for name in table.columns
    ]
    return [list(table.columns), columns]


LONGEST, CONCATENATED, MEAN = "longest", "concatenated", "mean"
DERIVED = (LONGEST, CONCATENATED, MEAN)

Texts = list[
    tuple[str, ...]
]  # by stimulus: what a model reads of it; of several texts, the vectors' mean is taken


def offered_levels(own: Sequence[str], written: Sequence[str] = ()) -> tuple[str, ...]:
    """Return every level that can be embedded: the dataset's own, DERIVED if there are several, and
    those written since.
    """
    derived = [level for level in DERIVED if level not in own] if len(own) > 1 else []
    return tuple(dict.fromkeys((*own, *derived, *written)))


def texts_at(
    captions: pd.DataFrame, level: str, *, own: Sequence[str], stimuli: Sequence[str]
) -> Texts:
    """Return what is read of each stimulus at a level.

    captions: index, level, text, in the order of stimuli and levels. own: the levels they have.
    stimuli: the ids in order. `longest` is the caption of most characters (the first of equals),
    `concatenated` all joined by spaces, `mean` all in the order of the levels. Raise
    UnknownNameError for the level, StimuliError for stimuli without a caption of it.
    """
    if level not in offered_levels(own):
        raise UnknownNameError("caption level", level, offered_levels(own))
    wanted = captions[captions["level"] == level] if level in own else captions
    by_index = {index: tuple(texts) for index, texts in wanted.groupby("index")["text"]}
    if lacking := [name for index, name in enumerate(stimuli) if index not in by_index]:
        some = ", ".join(map(repr, lacking[:3])) + (" …" if len(lacking) > 3 else "")
        raise StimuliError(
            f"{len(lacking)} of {len(stimuli)} stimuli have no caption of level {level!r}: {some};"
            f" add them, or choose another of: {', '.join(own)}"
        )
    every = [by_index[index] for index in range(len(stimuli))]
    if level in own or level == MEAN:
        return every
    return [(max(texts, key=len) if level == LONGEST else " ".join(texts),) for texts in every]
