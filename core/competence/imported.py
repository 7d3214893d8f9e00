"""The user's own scores: imported from CSV, kept in the store beside what is measured here.

A score names its model as the store does or by spec. That of a model which is not embedded yet is
kept too, and counts once the model is embedded: a table of scores can be imported first.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from core.competence.records import COLUMNS, COMPETENCE, PERCENT, SCORE, USER
from core.competence.sheet import read_sheet
from core.encoders.requests import Facts
from core.errors import InputError, StoreError, UnknownNameError
from core.recipe import Recipe
from core.store import ModelEntry, Store, check_facts, locked, set_facts, write_result
from core.store.schema import result_file

RESULT = f"competence~{USER}"
REQUIRED = ("model", "task", "value", "unit")
OPTIONAL = ("group", "low", "high", "chance", "n", "split", "source")
NO_GROUP = "own"
MOST_NOTES = 5  # a table of published scores can name hundreds of models


@dataclass(frozen=True)
class Imported:
    """What an import did. table: its rows, with COLUMNS; replaced: how many values they took the
    place of; notes: for the user.
    """

    table: pd.DataFrame
    replaced: int
    notes: list[str]


def read_scores(data: bytes, *, name: str) -> pd.DataFrame:
    """Read a CSV table of scores with the columns REQUIRED, and OPTIONAL ones, as rows with
    COLUMNS; see `read_sheet`.

    name: of the file, the source of a row that names none. Raises InputError.
    """
    table = read_sheet(data, name=name, required=REQUIRED, optional=OPTIONAL)
    source, group = (
        table["source"].replace("", f"imported from {name}"),
        table["group"].replace("", NO_GROUP),
    )
    return table.assign(source=source, group=group, origin=USER, reason="")[list(COLUMNS)]


def import_scores(root: Path, dataset: str, data: bytes, *, name: str) -> Imported:
    """Keep a CSV table of scores in the store; a value takes the place of the one that the same
    model and task had.

    Raises InputError for the table, UnknownNameError for the dataset, StoreError where what was
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
        recipe = Recipe.of(
            "imported-scores", content=hashlib.sha256(table.to_csv().encode()).hexdigest()
        )
        write_result(root, dataset=card, name=RESULT, table=table, recipe=recipe)
    return Imported(added, int(old.sum()), _notes(added, entries))


def told_scores(model: str, said: Sequence[str]) -> bytes:
    """Return a table of what a person says of a model's competence, for `import_scores`: 0.71, 71%,
    or of a task, TASK=0.71, where TASK may end in its unit, `latency (ms)`; b"" for nothing.

    Raises InputError as `read_scores`.
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
    scored = Store(root).retellings(dataset).get(model, model)
    scores = told_scores(scored, facts.competence)
    set_facts(root, dataset, model, facts, title=title, level=level)
    if scores:
        import_scores(root, dataset, scores, name=source)


def imported_rows(store: Store, dataset: str) -> pd.DataFrame:
    """Return all that was imported, with COLUMNS; `model` as it was written.

    Raises StoreError where there is something that cannot be read: to go on would lose it.
    """
    if stored := store.result(dataset, RESULT):
        return stored[0]
    if store.results(dataset, RESULT):
        problem = next(
            (problem for problem in store.problems() if RESULT in problem), "it cannot be read"
        )
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
    """Return what identifies a score: the models that are meant, or their name where none is
    embedded, and the task.
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


def _notes(rows: pd.DataFrame, entries: Sequence[ModelEntry]) -> list[str]:
    """Return a sentence for each model that is not embedded, with the nearest that are; of more
    than a few, how many more.
    """
    names = [name for entry in entries for name in (entry.card.name, entry.card.spec)]
    counts = {str(model): count for model, count in rows["model"].value_counts(sort=False).items()}
    unknown = [model for model in counts if not find_models(model, entries)]
    notes = [
        f"{model!r} is not embedded, and its scores ({counts[model]}) are kept until it is: "
        + str(UnknownNameError("model", model, names))
        for model in unknown[:MOST_NOTES]
    ]
    more = unknown[MOST_NOTES:]
    kept = sum(counts[model] for model in more)
    return (
        [*notes, f"not embedded either: {len(more)} more, whose scores ({kept}) are kept, too"]
        if more
        else notes
    )
