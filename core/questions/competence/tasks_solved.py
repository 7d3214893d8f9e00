"""Which tasks a model solves, judged by how well the best model does."""

from __future__ import annotations

import pandas as pd

from core.competence.records import ACCURACY, MEASURED
from core.errors import MetricError
from core.questions.competence.question import THRESHOLD, Solving
from core.questions.competence.registry import measured_scores, registry
from core.study.scores import select
from core.study.study import Study


def solve_tasks(study: Study, solving: Solving) -> pd.DataFrame:
    """Return the share of tasks that each vision model solves; see `tasks_solved`.

    Without any tasks named, those of the Cave count. Raises UnknownNameError for a task that no
    model was measured on.
    """
    vision = study.readers("image")
    if solving.tasks:
        rows = select(registry(study), tasks=solving.tasks, origins=(MEASURED,))
        rows = rows[rows["unit"] == ACCURACY]
    else:
        rows = measured_scores(study)
    return tasks_solved(rows[rows["model"].isin(vision)], threshold=solving.threshold)


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
