"""How competent vision models are: the share of tasks that they solve, or a mean score."""

from __future__ import annotations

import pandas as pd

from core.competence.published import vtab_tasks
from core.competence.records import ACCURACY, MEASURED, PERCENT, PUBLISHED, USER
from core.errors import MetricError
from core.questions.competence.question import THRESHOLD, Solving
from core.questions.competence.registry import measured_scores, registry
from core.study.scores import TaskScore, select
from core.study.study import Study

LEAST = 2  # models that a measure of competence tells apart
LOW = "error|loss|perplexity"  # in the name of a score of which a low one is better


def solve_tasks(study: Study, solving: Solving) -> pd.DataFrame:
    """Return the competence of each vision model: model, solved, tasks (how many count), reason,
    basis (what `solved` is).

    The share of the tasks named that it solves, or its mean score over them, as `solving` says.
    Without any tasks named those of the Cave; if no model was measured on these, the first of these
    that tells two models apart: the tasks of VTAB that any model was measured on; the mean of one's
    own scores; published scores. Only shares of which a high one is better count as scores.
    Raises UnknownNameError for a task that no model was measured on.
    """
    vision = study.readers("image")
    if solving.tasks:
        rows = select(registry(study), tasks=solving.tasks, origins=(MEASURED,))
        rows = rows[rows["model"].isin(vision) & (rows["unit"] == ACCURACY)]
        return _by_tasks(rows, solving, "tasks")
    suite = measured_scores(study)
    suite = suite[suite["model"].isin(vision)]
    if len(suite):
        return _by_tasks(suite, solving, "tasks")
    known = registry(study)
    known = known[known["model"].isin(vision) & known["embedded"] & _are_shares(known)]
    known = known[~known.duplicated(["model", "task", "origin"], keep=False)]  # which of two is it?
    probed = known[(known["origin"] == MEASURED) & known["task"].isin(vtab_tasks()["task"])]
    tables = [_by_tasks(probed, solving, "VTAB tasks")]
    tables += [mean_scores(known[known["origin"] == origin]) for origin in (USER, PUBLISHED)]
    return max(tables, key=lambda table: min(table["solved"].nunique(), LEAST))


def _are_shares(rows: pd.DataFrame) -> pd.Series:
    low_is_better = rows["task"].str.contains(LOW, case=False)
    low_is_better |= rows["unit"].str.contains(LOW, case=False)
    return rows["unit"].isin([ACCURACY, PERCENT]) & ~low_is_better


def _by_tasks(rows: pd.DataFrame, solving: Solving, tasks: str) -> pd.DataFrame:
    table = tasks_solved(rows, threshold=solving.threshold)
    if solving.skill == "solved":
        return table.assign(basis=f"share of {tasks} solved")
    means = rows.groupby("model")["value"].mean()
    values = table["model"].map(means).where(table["reason"] == "")
    return table.assign(solved=values, basis=f"mean accuracy over {tasks}")


def mean_scores(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the mean of scores of one origin, as `solve_tasks` does: over the tasks that as many
    models have as any other, in the unit of the first of them; percentages as shares.
    """
    rows = rows[rows["value"].notna()]
    if rows.empty:
        return rows.assign(solved=0.0, tasks=0, basis="")[
            ["model", "solved", "tasks", "reason", "basis"]
        ]
    counts = rows.groupby(list(TaskScore._fields), sort=False)["model"].nunique()
    best = [TaskScore(*key) for key in counts.index[counts == counts.max()]]
    best = [score for score in best if score.unit == best[0].unit]
    rows = rows[rows["task"].isin([score.task for score in best]) & (rows["unit"] == best[0].unit)]
    table = rows.groupby("model", sort=False)["value"].agg(["mean", "count"]).reset_index()
    lacking = len(best) - table["count"]
    reasons = [f"{one} of {len(best)} scores are missing" if one else "" for one in lacking]
    scale = 100 if best[0].unit == PERCENT else 1
    several = f"mean of {len(best)} scores ({best[0].origin})"
    return pd.DataFrame(
        {
            "model": table["model"],
            "solved": (table["mean"] / scale).where(lacking == 0),
            "tasks": len(best),
            "reason": reasons,
            "basis": best[0].name if len(best) == 1 else several,
        }
    )


def tasks_solved(rows: pd.DataFrame, *, threshold: float = THRESHOLD) -> pd.DataFrame:
    """Return the share of tasks that each model solves.

    A task is solved by a score of at least `threshold` times the best model's, if its interval lies
    above chance: where the best is little above chance, a share of it would be nothing. rows:
    model, task, value, low, chance; higher values are better. Returns model, solved in [0, 1],
    tasks (how many there are), reason; NaN where a model lacks some of the tasks. Raises
    MetricError for a threshold outside (0, 1]. Source: Huh et al. 2024, figure 2 (80 % of the best
    performance, without the condition on chance).
    """
    if not 0 < threshold <= 1:
        raise MetricError(
            f"the threshold is a share of the best score in (0, 1], not {threshold}; the published"
            " study takes 0.8"
        )
    best = rows.groupby("task")["value"].transform("max")
    solved = (rows["value"] >= threshold * best) & (rows["low"] > rows["chance"])
    marked = rows.assign(solved=solved.where(rows["value"].notna()))
    total = rows["task"].nunique()
    table = (
        marked.groupby("model", sort=False)["solved"]
        .agg(lambda column: column.sum() / total)
        .rename("solved")
        .reset_index()
    )
    measured = marked.groupby("model", sort=False)["value"].count().to_numpy()
    reasons = [
        f"{total - have} of {total} tasks were not measured" if have < total else ""
        for have in measured
    ]
    return table.assign(
        solved=table["solved"].astype(float).where(measured == total), tasks=total, reason=reasons
    )
