"""Scores as people write them: a CSV table with a row per model and task.

Published figures ship so under data/published, each with the source that states it; a user's own
scores are imported, and kept in the store next to what is measured here. A table with one mistake
is refused whole. Numbers are plain decimals, so that nothing is guessed.

A published figure belongs to a model by its spec, `hf:ID` or `timm:NAME.TAG`, and to no other: a
copy in a folder, or a timm name without its tag, may have other weights. A user's score names its
model as the store does or by spec. That of a model which is not embedded yet is kept too, and
counts once the model is embedded.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from pathlib import Path

import numpy as np
import pandas as pd

from core.competence.records import (
    ACCURACY,
    BITS,
    COLUMNS,
    COMPETENCE,
    PERCENT,
    PUBLISHED,
    SCORE,
    SKILL,
    USER,
)
from core.encoders.requests import Facts
from core.errors import InputError, StoreError, UnknownNameError
from core.files.userfile import SHEET, decode, shown
from core.machine.memory import size_text
from core.recipe import Recipe
from core.settings import ROOT
from core.store import ModelEntry, Store, check_facts, locked, set_facts, write_result
from core.store.files import Stamp, stamp
from core.store.schema import result_file

UNITS: Mapping[str, tuple[float, float]] = {  # least, most
    ACCURACY: (0, 1),
    PERCENT: (0, 100),
    BITS: (0, inf),
    SKILL: (-inf, 1),
}
NUMBERS = ("value", "low", "high", "chance", "n")
LONGEST = 131_072  # characters of a cell
SHOWN = 200  # characters of names of columns
TOLD = 5  # mistakes that a message lists
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
RESULT = f"competence~{USER}"
REQUIRED = ("model", "task", "value", "unit")
OPTIONAL = ("group", "low", "high", "chance", "n", "split", "source")
NO_GROUP = "own"
MOST_NOTES = 5  # a table of published scores can name hundreds of models
FOLDER = ROOT / "data" / "published"
SCORES = ("language_scores.csv", "vision_scores.csv")

Row = dict[str, str]


def read_sheet(
    data: bytes, *, name: str, required: Sequence[str], optional: Sequence[str]
) -> pd.DataFrame:
    """Read a CSV table of scores: UTF-8, fields separated by commas, a header, a row per model and
    task.

    name: of the file, for messages. required: columns in which every row says something; optional:
    columns that may be missing, as may their cells. Returns these columns in this order; texts that
    are missing are "", numbers NaN. Raises InputError, which lists the mistakes by line.
    """
    if len(data) > SHEET:
        raise InputError(
            f"{name} has {size_text(len(data))}; expected scores of {size_text(SHEET)} at most:"
            " split it"
        )
    rows = list(_rows(decode(data, name, InputError), name, required, optional))
    if not rows:
        raise InputError(f"{name} has no rows below its header; give one per model and task")
    mistakes = [f"line {line}: {wrong}" for line, row in rows for wrong in _mistakes(row, required)]
    seen: dict[tuple[str, str], int] = {}
    for line, row in rows:
        first = seen.setdefault((row["model"], row["task"]), line)
        if first != line and row["model"] and row["task"]:
            mistakes.append(
                f"line {line}: {row['model']!r} has a value of {row['task']!r} in line {first}"
                " already"
            )
    if mistakes:
        more = f"; and {len(mistakes) - TOLD} more" if len(mistakes) > TOLD else ""
        raise InputError(
            f"nothing of {name} was taken: {'; '.join(mistakes[:TOLD])}{more}; correct the file and"
            " give it again"
        )
    table = pd.DataFrame([row for _, row in rows])
    for column in NUMBERS:
        if column in table:
            table[column] = [float(text) if text else np.nan for text in table[column]]
    return table


def _rows(
    text: str, name: str, required: Sequence[str], optional: Sequence[str]
) -> Iterator[tuple[int, Row]]:
    """Yield each row with the line that it begins in; cells without the blanks around them."""
    csv.field_size_limit(LONGEST)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    columns: list[str] = []
    first = 1
    try:
        for line in reader:
            cells = [cell.strip() for cell in line]
            if any(cells) and not columns:
                columns = [cell.lower() for cell in cells]
                _check_columns(columns, required, optional, name)
            elif any(cells):
                if len(cells) != len(columns):
                    raise InputError(
                        f"line {first} of {name} has {len(cells)} fields where the header has"
                        f" {len(columns)}; put texts with commas in double quotes, and write"
                        " decimals with a point"
                    )
                values = dict(zip(columns, cells, strict=True))
                yield first, {column: values.get(column, "") for column in (*required, *optional)}
            first = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{name} is not a CSV table: {error} at line {reader.line_num}") from error
    if not columns:
        raise InputError(
            f"{name} is empty; expected a table with the columns {', '.join(required)}"
        )


def _check_columns(
    columns: Sequence[str], required: Sequence[str], optional: Sequence[str], name: str
) -> None:
    if len(columns) == 1 and ";" in columns[0]:
        raise InputError(
            f"line 1 of {name} separates fields by semicolons; save it with commas, and decimals"
            " with a point"
        )
    if again := [column for column, count in Counter(columns).items() if count > 1]:
        raise InputError(
            f"{name} has several columns {shown(again[0])} (case does not count); keep one"
        )
    if missing := [column for column in required if column not in columns]:
        present = ", ".join(map(repr, columns))
        raise InputError(
            f"{name} has no column {missing[0]!r}; it has {present[:SHOWN]}; name that column in"
            " line 1"
        )
    known = (*required, *optional)
    if unknown := [column for column in columns if column not in known]:
        raise UnknownNameError(f"column of scores in line 1 of {name}", unknown[0], known)


def _mistakes(row: Row, required: Sequence[str]) -> Iterator[str]:
    yield from (f"{column} is empty" for column in required if not row[column])
    yield from (
        f"{column} has characters that cannot be shown"
        for column, text in row.items()
        if not text.isprintable()
    )
    numbers: dict[str, float] = {}
    wrong: list[str] = []
    for column in NUMBERS:
        if text := row.get(column):
            if not _NUMBER.fullmatch(text):
                wrong.append(f"{column} {text[:40]!r} is not a plain number such as 81.2")
            elif abs(float(text)) == inf:
                wrong.append(f"{column} {text[:40]!r} is too large for a number")
            else:
                numbers[column] = float(text)
    if wrong:
        yield from wrong
        return
    least, most = UNITS.get(row["unit"], (-inf, inf))
    for column in ("value", "chance"):
        if not least <= numbers.get(column, least) <= most:
            yield (
                f"{column} {row[column]} is outside {least:g} … {most:g}, the range of the unit"
                f" {row['unit']!r}"
            )
    low, high = numbers.get("low", -inf), numbers.get("high", inf)
    if "value" in numbers and not low <= numbers["value"] <= high:
        yield f"value {row['value']} is outside its interval, {low:g} … {high:g}"
    if "n" in numbers and (numbers["n"] < 1 or numbers["n"] % 1):
        yield f"n {row['n']} is not a number of samples, 1 or more"


def published_rows() -> pd.DataFrame:
    """Return every published figure: COLUMNS, then checkpoint.

    model: its spec. checkpoint: what was measured if that is another name of the model, or the
    model after fine-tuning, else ""; the source says so too. Interval, chance and n are NaN, since
    none of the sources states them.
    """
    files = [FOLDER / name for name in SCORES]
    return pd.concat([read_published(file, stamp(file)) for file in files], ignore_index=True)


@lru_cache(maxsize=len(SCORES))
def read_published(path: Path, _: Stamp = (0, 0, 0)) -> pd.DataFrame:
    """Read a file of figures, as `published_rows` returns them; raises InputError for a figure
    without a source or a known unit.
    """
    required = (*REQUIRED, "group", "source")
    data, optional = path.read_bytes(), ("checkpoint", "split")
    table = read_sheet(data, name=path.name, required=required, optional=optional)
    if unknown := sorted(set(table["unit"]) - set(UNITS)):
        raise InputError(
            f"{path.name} has the unit {unknown[0]!r}; expected one of {', '.join(UNITS)}"
        )
    other = table["checkpoint"] != ""
    source = table["source"].mask(other, table["source"] + ", measured on " + table["checkpoint"])
    blank = dict.fromkeys(("low", "high", "chance", "n"), np.nan)
    rows = table.assign(**blank, source=source, origin=PUBLISHED, reason="")
    return rows[[*COLUMNS, "checkpoint"]]


def published_models() -> pd.DataFrame:
    """Return the models whose figures were looked for, whether or not any was found: model (its
    spec), family, modality, parameters (of a vision model with its head), width, depth (blocks),
    source.
    """
    return pd.read_csv(FOLDER / "models.csv")


def vtab_tasks() -> pd.DataFrame:
    """Return the nineteen tasks of the Visual Task Adaptation Benchmark: task, group, classes,
    adaptation (what the benchmark's own code calls it), hub (id of the data set), image and label
    (names of the parts of a sample there), note, source. Source: Zhai et al. 2019.
    """
    return pd.read_csv(FOLDER / "vtab_tasks.csv", keep_default_na=False)


@dataclass(frozen=True)
class Imported:
    """What an import did. table: its rows; replaced: how many values they took the place of; notes:
    for the user.
    """

    table: pd.DataFrame
    replaced: int
    notes: list[str]


def read_scores(data: bytes, *, name: str) -> pd.DataFrame:
    """Read a CSV table of scores with the columns REQUIRED, and OPTIONAL ones, as rows with
    COLUMNS; see `read_sheet`. name: of the file, the source of a row that names none.
    """
    table = read_sheet(data, name=name, required=REQUIRED, optional=OPTIONAL)
    source = table["source"].replace("", f"imported from {name}")
    group = table["group"].replace("", NO_GROUP)
    return table.assign(source=source, group=group, origin=USER, reason="")[list(COLUMNS)]


def import_scores(root: Path, dataset: str, data: bytes, *, name: str) -> Imported:
    """Keep a CSV table of scores in the store; a value takes the place of the one that the same
    model and task had.

    Raises InputError for the table, UnknownNameError for the dataset, StoreError if what was
    imported before cannot be read.
    """
    added, store = read_scores(data, name=name), Store(root)
    card, entries = store.dataset(dataset), store.models(dataset)
    if (twice := _keys(added, entries).duplicated()).any():
        model, task = added.loc[twice, ["model", "task"]].iloc[0]
        raise InputError(
            f"{name} gives {model!r} two values of {task!r}, by its name and by its spec; keep one"
        )
    # no other import may come between reading and writing
    with locked(result_file(store.root, dataset, "importing-scores")):
        before = imported_rows(store, dataset)
        old = _keys(before, entries).isin(_keys(added, entries))
        table = pd.concat([part for part in (before[~old], added) if len(part)], ignore_index=True)
        content = hashlib.sha256(table.to_csv().encode()).hexdigest()
        recipe = Recipe.of("imported-scores", content=content)
        write_result(root, dataset=card, name=RESULT, table=table, recipe=recipe)
    names = [name for entry in entries for name in (entry.card.name, entry.card.spec)]
    counts = Counter(map(str, added["model"]))
    unknown = [model for model in counts if not find_models(model, entries)]
    notes = [
        f"{model!r} is not embedded, and its scores ({counts[model]}) are kept until it is: "
        + str(UnknownNameError("model", model, names))
        for model in unknown[:MOST_NOTES]
    ]
    if more := unknown[MOST_NOTES:]:
        kept = sum(counts[model] for model in more)
        notes.append(f"not embedded either: {len(more)} more, whose scores ({kept}) are kept, too")
    return Imported(added, int(old.sum()), notes)


def told_scores(model: str, said: Sequence[str]) -> bytes:
    """Return a table of what a person says of a model's competence, for `import_scores`: 0.71, 71%,
    or of a task, TASK=0.71, of which TASK may end in its unit, `latency (ms)`; b"" for nothing.
    Raises InputError.
    """
    table = io.StringIO()
    rows = csv.writer(table)
    rows.writerow(REQUIRED)
    for text in said:
        task, _, value = text.rpartition("=")
        named = re.fullmatch(r"(.*\S)\s*\((.+)\)", task.strip())
        task, unit = named.groups() if named else (task.strip() or COMPETENCE, SCORE)
        number = value.strip().removesuffix("%")
        rows.writerow((model, task, number, PERCENT if number != value.strip() else unit))
    data = table.getvalue().encode() if said else b""
    if said:
        read_scores(data, name=f"the scores of {model}")
    return data


def check_told(
    root: Path, dataset: str, model: str, facts: Facts, *, title: str = "", level: str = ""
) -> None:
    """Raise as `tell_model` does, before there is the model."""
    check_facts(Store(root), dataset, facts, title=title, level=level)
    if told_scores(model, facts.competence):
        imported_rows(Store(root), dataset)


def tell_model(
    root: Path,
    dataset: str,
    model: str,
    facts: Facts,
    *,
    title: str = "",
    level: str = "",
    source: str = "what was said",
) -> None:
    """Keep facts of a model of the store, and its scores as the user's own; what is not said stays.
    Raises as `set_facts` and `told_scores`, before anything is kept.
    """
    scored = Store(root).caption_variants(dataset).get(model, model)
    scores = told_scores(scored, facts.competence)
    set_facts(root, dataset, model, facts, title=title, level=level)
    if scores:
        import_scores(root, dataset, scores, name=source)


def imported_rows(store: Store, dataset: str) -> pd.DataFrame:
    """Return all that was imported, with COLUMNS; `model` as it was written. Raises StoreError if
    there is something that cannot be read: to go on would lose it.
    """
    if stored := store.result(dataset, RESULT):
        return stored[0]
    if store.results(dataset, RESULT):
        problem = next((one for one in store.problems() if RESULT in one), "it cannot be read")
        raise StoreError(
            f"the scores imported before are out of reach: {problem}; then import them again"
        )
    return pd.DataFrame(columns=list(COLUMNS))


def find_models(written: str, entries: Sequence[ModelEntry]) -> list[str]:
    """Return the models that a name, or a spec, means: one by name, all of that spec; upper and
    lower case of a spec are alike.
    """
    if any(entry.card.name == written for entry in entries):
        return [written]
    return [
        entry.card.name for entry in entries if entry.card.spec.casefold() == written.casefold()
    ]


def place_rows(rows: pd.DataFrame, entries: Sequence[ModelEntry]) -> pd.DataFrame:
    """Give each row to the embedded models that it is about, by name or spec; one that is about
    none keeps what it says.
    """
    names = rows[[column for column in ("model", "checkpoint") if column in rows]]
    means = {name: find_models(name, entries) for name in pd.unique(names.to_numpy().ravel())}
    embedded = [
        list(dict.fromkeys(model for name in said for model in means[name]))
        for said in names.itertuples(index=False)
    ]
    models = [about or [said] for about, said in zip(embedded, rows["model"], strict=True)]
    placed = rows.assign(
        model=pd.Series(models, index=rows.index, dtype="object"),
        embedded=[bool(about) for about in embedded],
    )
    return placed.explode("model", ignore_index=True)


def _keys(rows: pd.DataFrame, entries: Sequence[ModelEntry]) -> pd.Series:
    """Return what identifies a score: the models that are meant, or their name if none is embedded,
    and the task.
    """
    means = {
        model: tuple(find_models(model, entries)) or (model.casefold(),)
        for model in rows["model"].unique()
    }
    return pd.Series(
        list(zip(rows["model"].map(means), rows["task"], strict=True)),
        index=rows.index,
        dtype="object",
    )
