"""How a measure of language models changes with their size, with one value per recipe."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from core.competence.records import can_measure
from core.errors import PlatoscopeError
from core.progress import Progress
from core.statistics.trends import recipe_trend
from core.study.study import Study
from core.study.trainings import describe_trainings

Measured = Mapping[str, float]  # by the name of the measure
COLUMNS = (
    "measure",
    "model",
    "title",
    "line",
    "recipe",
    "parameters",
    "value",
    "reason",
    "rise",
    "rise_low",
    "rise_high",
    "p",
    "recipes",
    "trend_reason",
)


def measure_models(
    study: Study,
    names: Sequence[str],
    measures: Sequence[str],
    measure: Callable[[str], Measured],
    report: Progress | None,
) -> pd.DataFrame:
    """Return a row per measure and model; NaN with a reason for a model that cannot be measured."""
    models = describe_trainings(study).set_index("model").loc[list(names)]
    rows = []
    for done, (model, about) in enumerate(models.iterrows(), start=1):
        values, reason = _values(study, str(model), measure)
        for name in measures:
            value = values.get(name, np.nan)
            shown = {key: about[key] for key in ("title", "line", "recipe", "parameters")}
            rows.append({"measure": name, "model": model, **shown, "value": value})
            rows[-1]["reason"] = reason
        if report:
            report(done, len(models), "language models measured")
    return pd.DataFrame(rows, columns=list(COLUMNS[:8]))


def _values(study: Study, model: str, measure: Callable[[str], Measured]) -> tuple[Measured, str]:
    """Return what was measured of a model, or why nothing was."""
    if not can_measure(study.entry(model)):
        return {}, "it has features only, and no model to run"
    if study.store.text_costs(study.dataset.name, model) is None:
        return {}, "it does not predict text from left to right"
    try:
        return measure(model), ""
    except PlatoscopeError as error:
        study.store.note_failure(error)
        return {}, str(error)


def with_trends(rows: pd.DataFrame, *, draws: int, seed: int) -> pd.DataFrame:
    """Add to the rows of each measure its trend over size.

    rise: how much the measure changes as parameters grow tenfold, between recipes of one family,
    each the mean over its seeds. p, rise_low, rise_high: as of `recipe_trend`, sizes being dealt
    anew within families.
    """
    parts = [_with_trend(part, draws, seed) for _, part in rows.groupby("measure", sort=False)]
    return pd.concat(parts, ignore_index=True) if parts else rows.reindex(columns=list(COLUMNS))


def _with_trend(rows: pd.DataFrame, draws: int, seed: int) -> pd.DataFrame:
    present = rows[rows["value"].notna() & rows["parameters"].notna()]
    recipes = present.groupby("recipe", sort=False).agg(
        value=("value", "mean"), parameters=("parameters", "first"), line=("line", "first")
    )
    trend = recipe_trend(
        recipes["value"].to_numpy(float),
        np.log10(recipes["parameters"].to_numpy(float)),
        pd.factorize(recipes["line"])[0].astype(np.int64),
        draws=draws,
        seed=seed,
    )
    return rows.assign(
        rise=trend.rise,
        rise_low=trend.low,
        rise_high=trend.high,
        p=trend.p,
        recipes=trend.recipes,
        trend_reason=trend.reason,
    )
