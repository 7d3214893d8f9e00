"""How competent models are: every value there is of a study's models, measured here, published or
the user's own, and which tasks they solve.

Values of different origins are never mixed: they differ in tests, splits and units even if a task
has the same name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from core.competence.records import (
    ACCURACY,
    COLUMNS,
    MEASURED,
    PUBLISHED,
    USER,
    measured_elsewhere,
    measured_rows,
)
from core.competence.scores import (
    FOLDER,
    SCORES,
    imported_rows,
    place_rows,
    published_rows,
    vtab_tasks,
)
from core.errors import MetricError
from core.options import option
from core.study.scores import mean_scores, most_telling, select
from core.study.study import Study

CAPTIONS = "1 - bits per byte of the captions, mean over texts"
Skill = Literal["solved", "mean"]
THRESHOLD = 0.8  # of the best model's score


@dataclass(frozen=True)
class Solving:
    """Which tasks vision models are judged by, and how."""

    tasks: tuple[str, ...] = option(
        (),
        metavar="T",
        help="tasks that count, of those measured by probes (the Cave's own, else those of VTAB)",
    )
    threshold: float = option(
        THRESHOLD,
        least=0,
        most=1,
        metavar="S",
        label="Threshold",
        help="share of the best model's score that solves a task, if it is above chance",
    )
    skill: Skill = option(
        "solved",
        label="Competence",
        help="of a vision model: the share of tasks that it solves, or its mean score over them",
    )


def registry(study: Study) -> pd.DataFrame:
    """Return every value with its origin: COLUMNS, then embedded.

    model: the store's name, or what published figures and the user's scores call a model that is
    not embedded. n is <NA> if it is not stated. A value that is NaN has a reason; one that
    was never measured or published has no row. Measured values are those of the present tasks and
    weights, and for every language model how well it codes the captions studied.
    """
    study.store.note_files(*(FOLDER / name for name in SCORES))
    entries = study.store.models(study.dataset.name)
    measured = [
        measured_scores(study),
        *measured_elsewhere(study.store, study.dataset.name),
        _captions(study),
    ]
    placed = [
        place_rows(rows, entries)
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


def _captions(study: Study) -> pd.DataFrame:
    """Return how well each language model codes the captions, as rows; the source is the recipe of
    what was studied.
    """
    rows = study.coded()
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


def solve_tasks(study: Study, solving: Solving) -> pd.DataFrame:
    """Return the competence of each vision model: model, solved, tasks (how many count), reason,
    basis (what `solved` is).

    The share of the tasks named that it solves. If none is named, those of the Cave; if no model
    was measured on these, the first of these that is known of five models, or of as many as any:
    the tasks of VTAB that any model was measured on; one's own scores; published scores. See
    `mean_scores`.
    Raises UnknownNameError for a task that no model was measured on.
    """
    vision = study.readers("image")
    if solving.tasks:
        rows = select(registry(study), tasks=solving.tasks, origins=(MEASURED,))
        rows = rows[rows["model"].isin(vision) & (rows["unit"] == ACCURACY)]
        return _by_tasks(rows, solving)
    suite = measured_scores(study)
    suite = suite[suite["model"].isin(vision)]
    if len(suite):
        return _by_tasks(suite, solving)
    known = registry(study)
    known = known[known["model"].isin(vision) & known["embedded"]]
    probed = known[(known["origin"] == MEASURED) & known["task"].isin(vtab_tasks()["task"])]
    tables = [_by_tasks(probed, solving, "VTAB tasks")]
    tables += [mean_scores(known[known["origin"] == origin]) for origin in (USER, PUBLISHED)]
    return most_telling(tables, "solved")


def _by_tasks(rows: pd.DataFrame, solving: Solving, tasks: str = "tasks") -> pd.DataFrame:
    table = tasks_solved(rows, threshold=solving.threshold)
    if solving.skill == "solved":
        return table.assign(basis=f"share of {tasks} solved")
    means = rows.groupby("model")["value"].mean()
    values = table["model"].map(means).where(table["reason"] == "")
    return table.assign(solved=values, basis=f"mean accuracy over {tasks}")


def tasks_solved(rows: pd.DataFrame, *, threshold: float = THRESHOLD) -> pd.DataFrame:
    """Return the share of tasks that each model solves.

    A task is solved by a score of at least `threshold` times the best model's, if its interval lies
    above chance: if the best is little above chance, a share of it would be nothing. rows:
    model, task, value, low, chance; higher values are better. Returns model, solved in [0, 1],
    tasks (how many there are), reason; NaN if a model lacks some of the tasks. Raises
    MetricError for a threshold outside (0, 1]. Source: Huh et al. 2024, figure 2 (80% of the best
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
    values = table["solved"].astype(float).where(measured == total)
    return table.assign(solved=values, tasks=total, reason=reasons)
