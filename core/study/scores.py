"""Scores of a study's models as the competence registry lists them: which there are, and whose."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import pandas as pd

from core.competence.records import ORIGINS
from core.errors import InputError, UnknownNameError


class TaskScore(NamedTuple):
    """The values of one task and origin; low is better in bits per byte."""

    task: str
    origin: str
    unit: str

    @property
    def name(self) -> str:
        """Return what commands, the address and the list call it."""
        return f"{self.task} ({self.origin})"


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

    table: of the competence registry. origin: of the values; None where only one has the task.
    Raises UnknownNameError for a task or origin that there is not, InputError where no embedded
    model has a value, where the values are of several origins or units, and where one model has
    two.
    """
    rows = _measured(select(table, tasks=(task,), origins=(origin,) if origin else ()))
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
        _measured(table).groupby(["task", "origin", "group", "unit"], sort=False)["model"].nunique()
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


def _measured(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["embedded"] & table["value"].notna()]
