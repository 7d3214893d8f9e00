"""Scores of a study's models in the competence registry."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import pandas as pd

from core.competence.records import ACCURACY, COMPETENCE, ORIGINS, PERCENT, USER
from core.errors import InputError, UnknownNameError
from core.statistics.correlations import LEAST_MODELS

# in the name of a score of which a low one is better
LOW = (
    r"error|loss|perplexity|bits per|latency|distance|false|miss"
    r"|\b(?:[wcpet]er|[mr]?mse|r?mae|fpr|fnr|fdr|eer|ece|ppl|nll|bp[bc]|fid|ms|seconds?)\b"
)
SHARE = r"\bacc\b|accuracy|top[-_ ]?[1-5]\b"  # in the name of one's own score that is an accuracy
SEVERAL = 3  # scores that a mean names


class TaskScore(NamedTuple):
    """The values of one task and origin."""

    task: str
    origin: str
    unit: str

    @property
    def name(self) -> str:
        return f"{self.task} ({self.origin})"


def select(
    table: pd.DataFrame, *, tasks: Sequence[str] = (), origins: Sequence[str] = ()
) -> pd.DataFrame:
    """Return the rows of some tasks and origins, of all if none is named."""
    for column, wanted, values in (
        ("task", tasks, table["task"].unique()),
        ("origin", origins, ORIGINS),
    ):
        if unknown := [name for name in wanted if name not in values]:
            raise UnknownNameError(column, unknown[0], values)
        table = table.loc[table[column].isin(wanted)] if wanted else table
    return table


def score_of(table: pd.DataFrame, task: str, *, origin: str | None = None) -> pd.Series:
    """Return a task's value per embedded model that has one. table: the competence registry.
    origin: None if only one has the task. Raise UnknownNameError for a task or origin, InputError
    if no embedded model has a value, or if values have several origins, units, or one model two.
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


def mean_scores(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each model's competence from scores of one origin: model, solved, tasks (how many
    count), reason, basis (what `solved` is): the score that a person calls `competence`, or else
    the mean of accuracies and percentages over the tasks that most models have.
    """
    rows = rows[rows["value"].notna()]
    rows = rows[~rows.duplicated(["model", "task"], keep=False)]  # which of two is it?
    called = rows[(rows["task"] == COMPETENCE) & (rows["origin"] == USER)]
    if called["value"].nunique() > 1:
        rows = called
    else:
        values = rows.groupby(["task", "unit"])["value"]
        within = (values.transform("min") >= 0) & (values.transform("max") <= 1)
        words = (rows["task"] + " " + rows["unit"]).str.replace("_", " ")
        named = within & words.str.contains(SHARE, case=False)
        low = words.str.contains(LOW, case=False)
        rows = rows[(named | rows["unit"].isin([ACCURACY, PERCENT])) & ~low]
    if rows.empty:
        return rows.assign(solved=0.0, tasks=0, basis="")[
            ["model", "solved", "tasks", "reason", "basis"]
        ]
    rows = rows.assign(value=rows["value"] / rows["unit"].map({PERCENT: 100}).fillna(1))
    counts = rows.groupby(["task", "origin"], sort=False)["model"].nunique()
    best = list(counts.index[counts == counts.max()])
    rows = rows[rows["task"].isin([task for task, _ in best])]
    table = rows.groupby("model", sort=False)["value"].agg(["mean", "count"]).reset_index()
    lacking = len(best) - table["count"]
    (task, origin), *others = best
    tasks = [task, *(name for name, _ in others)]
    more = f" and {len(tasks) - SEVERAL} more" if len(tasks) > SEVERAL else ""
    basis = f"mean of {', '.join(tasks[:SEVERAL])}{more}" if others else task
    whys = [f"{one} of {len(best)} scores are missing" if one else "" for one in lacking]
    return pd.DataFrame(
        {
            "model": table["model"],
            "solved": table["mean"].where(lacking == 0),
            "tasks": len(best),
            "reason": whys,
            "basis": f"{basis} ({origin})",
        }
    )


def most_telling(tables: Sequence[pd.DataFrame], column: str) -> pd.DataFrame:
    """Return the first table with values of LEAST_MODELS models, or of the most."""

    def count(table: pd.DataFrame) -> int:
        values = table[column].dropna()
        return min(len(values), LEAST_MODELS) if values.nunique() > 1 else 0

    return max(tables, key=count)


def choices(table: pd.DataFrame) -> pd.DataFrame:
    """Return task, origin, group, unit and models of each score, that of most models first."""
    counts = (
        _measured(table).groupby(["task", "origin", "group", "unit"], sort=False)["model"].nunique()
    )
    return (
        counts.rename("models")
        .reset_index()
        .sort_values("models", ascending=False, kind="stable", ignore_index=True)
    )


def known_scores(table: pd.DataFrame, names: Collection[str]) -> list[TaskScore]:
    offered = choices(table[table["model"].isin(names)]).drop_duplicates(["task", "origin"])
    return [TaskScore(*row) for row in offered[list(TaskScore._fields)].itertuples(index=False)]


def _measured(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["embedded"] & table["value"].notna()]
