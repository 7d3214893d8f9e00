"""The competence registry: every value there is of a study's models, measured here, published or
the user's own, in one table.

Values of different origins are never mixed: they differ in tests, splits and units even where a
task has the same name.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from core.competence.imported import find_models, imported_rows
from core.competence.published import published_rows
from core.competence.records import COLUMNS, MEASURED, ORIGINS, measured_elsewhere, measured_rows
from core.errors import InputError, UnknownNameError
from core.store import ModelEntry
from core.study.study import Study

CAPTIONS = "1 - bits per byte of the captions, mean over texts"


class TaskScore(NamedTuple):
    """The values of one task and origin; low is better in bits per byte."""

    task: str
    origin: str
    unit: str

    @property
    def name(self) -> str:
        """Return what commands, the address and the list call it."""
        return f"{self.task} ({self.origin})"


def registry(study: Study) -> pd.DataFrame:
    """Return every value with its origin: COLUMNS, then embedded.

    model: the store's name, or what published figures and the user's scores call a model that is
    not embedded. n is <NA> where it is not stated. A value that is NaN has a reason; one that
    nobody measured or published has no row. Measured values are those of the present tasks and
    weights, and for every language model how well it codes the captions studied.
    """
    entries = study.store.models(study.dataset.name)
    measured = [
        measured_scores(study),
        *measured_elsewhere(study.store, study.dataset.name),
        _captions(study),
    ]
    placed = [
        _place(rows, entries)
        for rows in (published_rows(), imported_rows(study.store, study.dataset.name))
    ]
    tables = [
        table
        for table in [*(rows.assign(embedded=True) for rows in measured), *placed]
        if len(table)
    ]
    return pd.concat(tables, ignore_index=True).astype({"n": "Int64", "embedded": "bool"})[
        [*COLUMNS, "embedded"]
    ]


def measured_scores(study: Study) -> pd.DataFrame:
    """Return every value that was measured of these models by the present tasks: COLUMNS."""
    measured = [
        measured_rows(study.store, study.dataset.name, entry)
        for entry in study.store.models(study.dataset.name)
    ]
    tables = [table for table in measured if table is not None]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=list(COLUMNS))


def select(
    table: pd.DataFrame, *, tasks: Sequence[str] = (), origins: Sequence[str] = ()
) -> pd.DataFrame:
    """Return the rows of some tasks and origins, of all where none is named.

    Raises UnknownNameError for a task or origin that there is not.
    """
    for column, wanted, values in (
        ("task", tasks, table["task"].unique()),
        ("origin", origins, ORIGINS),
    ):
        if unknown := [name for name in wanted if name not in values]:
            raise UnknownNameError(column, unknown[0], values)
        table = table.loc[table[column].isin(wanted)] if wanted else table
    return table


def score_of(table: pd.DataFrame, task: str, *, origin: str | None = None) -> pd.Series:
    """Return a value per embedded model that has one: the index is the model, the name is the task.

    table: as `registry` returns it. origin: of the values; None where only one has the task. Raises
    UnknownNameError for a task or origin that there is not, InputError where no embedded model has
    a value, where the values are of several origins or units, and where one model has two.
    """
    rows = _known(select(table, tasks=(task,), origins=(origin,) if origin else ()))
    if rows.empty:
        raise InputError(
            f"no embedded model has a {f'{origin} ' if origin else ''}value of {task!r}; embed one,"
            " or import scores"
        )
    for column, advice in (("origin", "name one"), ("unit", "import the scores again in one unit")):
        if len(several := rows[column].unique()) > 1:
            raise InputError(
                f"{task!r} has values of several {column}s, {' and '.join(several)}, which are not"
                f" mixed; {advice}"
            )
    if (twice := rows["model"].duplicated()).any():
        model = rows.loc[twice, "model"].iloc[0]
        raise InputError(
            f"{model!r} has two values of {task!r}, by its name and by its spec; import one of them"
            " again"
        )
    return rows.set_index("model")["value"].rename(task)


def choices(table: pd.DataFrame) -> pd.DataFrame:
    """Return what can be plotted: task, origin, group, unit, and of how many embedded models; those
    of most models first.
    """
    counts = (
        _known(table).groupby(["task", "origin", "group", "unit"], sort=False)["model"].nunique()
    )
    return (
        counts.rename("models")
        .reset_index()
        .sort_values("models", ascending=False, kind="stable", ignore_index=True)
    )


def known_scores(table: pd.DataFrame, names: Collection[str]) -> list[TaskScore]:
    """Return the scores that these embedded models have, those of most models first."""
    offered = choices(table[table["model"].isin(names)]).drop_duplicates(["task", "origin"])
    return [TaskScore(*row) for row in offered[list(TaskScore._fields)].itertuples(index=False)]


def _known(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["embedded"] & table["value"].notna()]


def _captions(study: Study) -> pd.DataFrame:
    """Return how well each language model codes the captions, as rows; the source is the recipe of
    what was studied.
    """
    rows = study.competence()
    sources = [study.recipe("captions-coded", [model]).digest for model in rows["model"]]
    blank = dict.fromkeys(("low", "high", "chance", "n"), np.nan)
    about = {
        "task": CAPTIONS,
        "group": "language",
        "split": "captions",
        "origin": MEASURED,
        "source": sources,
    }
    return rows.assign(**about, **blank)[list(COLUMNS)]


def _place(rows: pd.DataFrame, entries: Sequence[ModelEntry]) -> pd.DataFrame:
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
