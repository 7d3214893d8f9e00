"""A study's models among each other: all pairs, the map, bins of competence, and alignment along
training.

What takes long is kept in the store with its recipe.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from core.competence.records import ACCURACY, MEASURED
from core.metrics import METRICS
from core.progress import Progress
from core.questions.competence.bins import assign_bins, bin_pairs, bin_trends, summarize_bins
from core.questions.competence.registry import registry, select
from core.questions.competence.tasks_solved import THRESHOLD, tasks_solved
from core.questions.competence.trajectories import along_training
from core.questions.models.distances import distances
from core.questions.models.map_table import map_table
from core.statistics.layouts import SETTINGS, check_layout, lay_out
from core.study.keeping import keep
from core.study.pairing import pair_models
from core.study.study import Study


def map_models(
    study: Study,
    names: Sequence[str],
    *,
    layout: str = "umap",
    seed: int = 0,
    report: Progress | None = None,
    **compared: Any,
) -> pd.DataFrame:
    """Place models in a plane by −log(alignment); see `core.questions.models.map_table.map_table`
    for the columns.

    compared: metric, layers and the metric's parameters, as of `pair_models`. The map does not
    depend on the order of `names`. Raises InputError where no map can be drawn, and as
    `pair_models`.
    """
    check_layout(layout, models=len(set(names)), seed=seed)
    pairs, spec = (
        pair_models(study, names, report=report, **compared),
        METRICS[compared.get("metric", "mutual_knn")].spec,
    )
    complete = METRICS[spec.id].complete(
        {name: value for name, value in compared.items() if name not in ("metric", "layers")}
    )
    choices = {"metric": spec.id, "layers": compared.get("layers", "best"), **complete}
    recipe = study.recipe(
        "model-map", sorted(set(names)), layout=layout, **SETTINGS[layout], seed=seed, **choices
    )

    def draw() -> pd.DataFrame:
        found = distances(pairs, spec=spec)
        return map_table(found, lay_out(found.matrix, layout=layout, seed=seed)).assign(
            layout=layout
        )

    return keep(study, recipe, draw)


def bin_models(
    study: Study,
    names: Sequence[str],
    *,
    bins: int = 5,
    equal: bool = False,
    threshold: float = THRESHOLD,
    tasks: Sequence[str] = (),
    by: str = "objective",
    permutations: int = 999,
    seed: int = 0,
    report: Progress | None = None,
    **compared: Any,
) -> pd.DataFrame:
    """Bin vision models by the share of tasks they solve: their mean alignment within each bin, and
    whether it has a trend.

    equal: bins of equally many models. threshold, tasks: as of `solve_tasks`. by: the column of
    `Study.models` that tells which pairs are of one group, and which models p takes to be alike:
    objective, family, group … compared: as of `map_models`. Returns the columns of
    `summarize_bins`, slope, p and groups of `bin_trends`, and its reason as trend_reason. Models
    whose competence was not measured are left out.
    """
    pairs = pair_models(study, names, report=report, **compared)
    skill = skill_of(study, names, threshold=threshold, tasks=tasks)
    group = study.models().set_index("model")[by]
    placed = assign_bins(skill, count=bins, equal=equal)
    table = summarize_bins(bin_pairs(pairs, skill, group, placed), placed)
    trend = bin_trends(
        pairs, skill, group, count=bins, equal=equal, permutations=permutations, seed=seed
    )
    return table.merge(trend.rename(columns={"reason": "trend_reason"}), on="pairs_of")


def solve_tasks(
    study: Study, *, threshold: float = THRESHOLD, tasks: Sequence[str] = ()
) -> pd.DataFrame:
    """Return the share of tasks that each vision model solves; see
    `core.questions.competence.tasks_solved.tasks_solved`.

    tasks: some of those that were measured by probes, of VTAB for example; none for all of the
    Cave's own. Raises UnknownNameError for a task that no model was measured on.
    """
    if not tasks:
        return study.tasks_solved(threshold=threshold)
    vision = study.readers("image")
    table = registry(study)
    rows = pd.concat([select(table, task=task, origin=MEASURED) for task in dict.fromkeys(tasks)])
    return tasks_solved(
        rows[rows["model"].isin(vision) & (rows["unit"] == ACCURACY)], threshold=threshold
    )


def skill_of(
    study: Study, names: Sequence[str], *, threshold: float = THRESHOLD, tasks: Sequence[str] = ()
) -> pd.Series:
    """Return the share of tasks that each of the models solves, by name; NaN where it was not
    measured. See `solve_tasks`.
    """
    solved = solve_tasks(study, threshold=threshold, tasks=tasks)
    return solved.set_index("model")["solved"].astype(float).reindex(sorted(set(names)))


def follow_training(
    study: Study, *, report: Progress | None = None, **compared: Any
) -> pd.DataFrame:
    """Return how aligned all checkpoints are with vision, language, reality and each other; see
    `along_training`.
    """
    models = study.models()
    return along_training(
        pair_models(study, list(models["model"]), report=report, **compared), models
    )
