"""How competent vision models are: the share of tasks that they solve, or a mean score."""

from __future__ import annotations

import pandas as pd

from core.competence.records import ACCURACY, MEASURED, PUBLISHED, USER
from core.competence.scores import vtab_tasks
from core.errors import MetricError
from core.questions.competence.question import THRESHOLD, Solving
from core.questions.competence.registry import measured_scores, registry
from core.study.scores import mean_scores, most_telling, select
from core.study.study import Study


def solve_tasks(study: Study, solving: Solving) -> pd.DataFrame:
    """Return the competence of each vision model: model, solved, tasks (how many count), reason,
    basis (what `solved` is).

    The share of the tasks named that it solves, or its mean score over them, as `solving` says.
    Without any tasks named those of the Cave; if no model was measured on these, the first of these
    that is known of five models, or of as many as any: the tasks of VTAB that any model was
    measured on; what one's own scores say; published scores. See `mean_scores`.
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
    known = known[known["model"].isin(vision) & known["embedded"]]
    probed = known[(known["origin"] == MEASURED) & known["task"].isin(vtab_tasks()["task"])]
    tables = [_by_tasks(probed, solving, "VTAB tasks")]
    tables += [mean_scores(known[known["origin"] == origin]) for origin in (USER, PUBLISHED)]
    return most_telling(tables, "solved")


def _by_tasks(rows: pd.DataFrame, solving: Solving, tasks: str) -> pd.DataFrame:
    table = tasks_solved(rows, threshold=solving.threshold)
    if solving.skill == "solved":
        return table.assign(basis=f"share of {tasks} solved")
    means = rows.groupby("model")["value"].mean()
    values = table["model"].map(means).where(table["reason"] == "")
    return table.assign(solved=values, basis=f"mean accuracy over {tasks}")


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
