"""Scores as people write them: a CSV table with a row per model and task.

Published figures ship under data/published, each with its source; a user's own scores are kept in
the store. A table with one mistake is refused whole. A published figure belongs to a model by its
spec, `hf:ID` or `timm:NAME.TAG`, alone; a user's score names its model by name or by spec.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import NamedTuple

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
from core.files.texts import csv_table
from core.files.userfile import SHEET, decode
from core.machine.memory import size_text
from core.recipe import Recipe
from core.settings import ROOT
from core.store import ModelEntry, Store, check_facts, locked, set_facts, write_result
from core.store.schema import result_file

UNITS: Mapping[str, tuple[float, float]] = {  # least, most
    ACCURACY: (0, 1),
    PERCENT: (0, 100),
    BITS: (0, inf),
    SKILL: (-inf, 1),
}
NUMBERS = ("value", "low", "high", "chance", "n")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
SHOWN = 200  # characters of names of columns
LISTED = 5  # mistakes that a message lists, and models that notes name
RESULT = f"competence~{USER}"
REQUIRED = ("model", "task", "value", "unit")
OPTIONAL = ("group", "low", "high", "chance", "n", "split", "source")
NO_GROUP = "own"
FOLDER = ROOT / "data" / "published"
SCORES = ("language_scores.csv", "vision_scores.csv")


def read_sheet(
    data: bytes, *, name: str, required: Sequence[str], optional: Sequence[str]
) -> pd.DataFrame:
    """Read a CSV table of scores: UTF-8, a row per model and task.

    name: of the file, for messages. required: columns in which every row has a text; optional:
    columns that may be missing, as may their cells. Return these columns in this order: missing
    texts are "", missing numbers NaN. Raise InputError, which lists the mistakes by row.
    """
    if len(data) > SHEET:
        raise InputError(
            f"{name} has {size_text(len(data))}; expected scores of {size_text(SHEET)} at most:"
            " split it"
        )
    columns, lines = csv_table(decode(data, name, InputError), name, InputError)
    header = [column.strip().lower() for column in columns]
    if missing := [column for column in required if column not in header]:
        raise InputError(
            f"{name} has no column {missing[0]!r} in its first line; it has"
            f" {', '.join(map(repr, header))[:SHOWN]}, and needs {', '.join(required)}"
        )
    if unknown := [column for column in header if column not in (*required, *optional)]:
        raise UnknownNameError(f"column of scores in {name}", unknown[0], (*required, *optional))
    if len(set(header)) < len(header):
        raise InputError(f"{name} has two columns of one name (case does not count); keep one")
    cells = pd.DataFrame(lines, index=range(1, len(lines) + 1), columns=header)
    cells = cells.apply(lambda column: column.str.strip())
    cells = cells[(cells != "").any(axis=1)]
    if cells.empty:
        raise InputError(f"{name} has no rows below its header; give one per model and task")
    cells = cells.reindex(columns=[*required, *optional], fill_value="")
    table = cells.copy()
    for column in cells.columns.intersection(NUMBERS):
        plain = cells[column].str.fullmatch(NUMBER)
        table[column] = cells[column].where(plain, "nan").astype(float)
    mistakes = [
        f"row {row}: {why}"
        for wrong, why in _mistakes(cells, table, required)
        for row in cells.index[wrong]
    ]
    if mistakes:
        more = f"; and {len(mistakes) - LISTED} more" if len(mistakes) > LISTED else ""
        raise InputError(
            f"nothing of {name} was taken: {'; '.join(mistakes[:LISTED])}{more}; correct the file"
            " and give it again"
        )
    return table.reset_index(drop=True)


def _mistakes(
    cells: pd.DataFrame, table: pd.DataFrame, required: Sequence[str]
) -> Iterator[tuple[pd.Series, str]]:
    for column in cells:
        if column in required:
            yield cells[column] == "", f"{column} is empty"
        yield ~cells[column].map(str.isprintable), f"{column} has characters that cannot be shown"
        if column in NUMBERS:
            unread = (cells[column] != "") & ~np.isfinite(table[column])
            yield unread, f"{column} is not a plain number such as 81.2"
    for unit, (least, most) in UNITS.items():
        for column in table.columns.intersection(["value", "chance"]):
            outside = (table["unit"] == unit) & ((table[column] < least) | (table[column] > most))
            yield outside, f"{column} is outside {least:g} … {most:g}, the range of {unit!r}"
    if "low" in table and "high" in table:
        outside = (table["value"] < table["low"]) | (table["value"] > table["high"])
        yield outside, "value is outside its interval"
    if "n" in table:
        yield (table["n"] < 1) | (table["n"] % 1 > 0), "n is not a number of samples, 1 or more"
    yield table.duplicated(["model", "task"]), "this model has a value of this task already"


def published_rows() -> pd.DataFrame:
    """Return every published figure: COLUMNS, then checkpoint.

    model: its spec. checkpoint: what was measured if that is another name of the model, or the
    model after fine-tuning, else "". Interval, chance and n are NaN: no source states them.
    """
    required, optional = (*REQUIRED, "group", "source"), ("checkpoint", "split")
    table = pd.concat(
        [
            read_sheet(
                (FOLDER / name).read_bytes(), name=name, required=required, optional=optional
            )
            for name in SCORES
        ],
        ignore_index=True,
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


class Imported(NamedTuple):
    """What an import did: its rows, how many values they replaced, and notes for the user."""

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
    """Keep a CSV table of scores in the store; a value replaces that of the same model and task.

    Raise InputError for the table, UnknownNameError for the dataset, StoreError if what was
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
    unknown = [model for model in added["model"].unique() if not find_models(model, entries)]
    notes = [
        f"{model!r} is not embedded, and its scores are kept until it is:"
        f" {UnknownNameError('model', model, names)}"
        for model in unknown[:LISTED]
    ]
    if len(unknown) > LISTED:
        notes.append(
            f"not embedded either: {len(unknown) - LISTED} more, whose scores are kept too"
        )
    return Imported(added, int(old.sum()), notes)


def scores_table(model: str, texts: Sequence[str]) -> bytes:
    """Return scores of a model as a table for `import_scores`: 0.71, 71%, or TASK=0.71, of which
    TASK may end in its unit, `latency (ms)`; b"" for none. Raise InputError.
    """
    if not texts:
        return b""
    table = io.StringIO()
    rows = csv.writer(table)
    rows.writerow(REQUIRED)
    for text in texts:
        task, _, value = text.rpartition("=")
        named = re.fullmatch(r"(.*\S)\s*\((.+)\)", task.strip())
        task, unit = named.groups() if named else (task.strip() or COMPETENCE, SCORE)
        number = value.strip().removesuffix("%")
        rows.writerow((model, task, number, PERCENT if number != value.strip() else unit))
    data = table.getvalue().encode()
    read_scores(data, name=f"the scores of {model}")
    return data


def check_model_facts(
    root: Path, dataset: str, model: str, facts: Facts, *, title: str = "", level: str = ""
) -> None:
    """Raise what `set_model_facts` would, before the model is there."""
    check_facts(Store(root), dataset, facts, title=title, level=level)
    if scores_table(model, facts.competence):
        imported_rows(Store(root), dataset)


def set_model_facts(
    root: Path,
    dataset: str,
    model: str,
    facts: Facts,
    *,
    title: str = "",
    level: str = "",
    source: str = "what was typed",
) -> None:
    """Keep facts of a model, and its scores as the user's own; others stay. Raise as `set_facts`
    and `scores_table`, before anything is kept.
    """
    scored = Store(root).caption_variants(dataset).get(model, model)
    scores = scores_table(scored, facts.competence)
    set_facts(root, dataset, model, facts, title=title, level=level)
    if scores:
        import_scores(root, dataset, scores, name=source)


def imported_rows(store: Store, dataset: str) -> pd.DataFrame:
    """Return all that was imported, with COLUMNS; raise StoreError if it cannot be read, since the
    next import would lose it.
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
    """Give each row to the embedded models that it is about, by name or spec; a row about none
    keeps its name.
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
