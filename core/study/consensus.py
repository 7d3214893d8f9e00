"""What a study's models agree on: the consensus of chosen spaces, each stimulus's distance to it,
and what that does to alignment.

A space is named `model:layer`, the layer by its number or its name; a model alone means its
penultimate block. What takes long is kept in the store with its recipe.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float32, Int64

from core.errors import MetricError, UnknownNameError
from core.progress import Progress
from core.questions.dispersion.residuals import (
    SHUFFLES,
    SUMMARIES,
    correlate,
    leave_one_out,
    relate,
    residuals,
    summarize,
    tail,
)
from core.recipe import Recipe
from core.spaces.inputs import check_space
from core.statistics.correlations import partial_correlation
from core.statistics.procrustes import generalized_procrustes
from core.study.keeping import keep
from core.study.spaces import Layer, find_spaces
from core.study.study import Study

HELD_OUT = (
    "space",
    "index",
    "stimulus",
    "dispersion",
    "deviation",
    "norm",
    "shuffled",
    "shuffled_p",
)


def disperse(
    study: Study,
    spaces: Sequence[str],
    *,
    centering: str = "features",
    without_each: bool = False,
    weights: tuple[float, ...] | None = None,
    report: Progress | None = None,
) -> pd.DataFrame:
    """Return a row per stimulus: how far it is from the consensus of these spaces, over all and in
    each.

    Columns index, stimulus, mean, pc1, median, trimmed (see `summarize`), a column of residuals per
    space, explained (the share of variance along pc1), iterations and objective (of the whole; NaN
    where each space has a consensus of its own). without_each: each residual is to the consensus of
    the other spaces. weights: one per space; see `generalized_procrustes`. Raises UnknownNameError,
    MetricError for fewer than two spaces (three where one is left out), degenerate ones, and
    weights together with without_each.
    """
    places = find_spaces(study, spaces)
    names = [str(place) for place in places]
    if without_each:
        if weights is not None:
            raise MetricError(
                "a consensus without one space has no other weights; give weights or leave one out"
            )
        points = held_out(study, spaces, centering=centering, report=report)
        fitted = points.pivot(index="index", columns="space", values="deviation")[
            names
        ].reset_index()
        fitted = fitted.assign(iterations=np.nan, objective=np.nan)
    else:
        fitted = _fitted(study, places, centering=centering, weights=weights)
    found = summarize(fitted[names].to_numpy())
    summaries = pd.DataFrame({name: getattr(found, name) for name in SUMMARIES})
    rest = fitted[[*names, "iterations", "objective"]].assign(explained=found.explained)
    return pd.concat([_stimuli(study), summaries, rest], axis=1)


def consensus(
    study: Study,
    spaces: Sequence[str],
    *,
    centering: str = "features",
    report: Progress | None = None,  # noqa: ARG001 - as pages ask
) -> pd.DataFrame:
    """Return a row per stimulus: index, and its place in the consensus's principal axes, axis_1 …
    largest first.
    """
    fitted = _fitted(study, find_spaces(study, spaces), centering=centering, weights=None)
    return fitted[["index", *fitted.columns[fitted.columns.str.startswith("axis_")]]]


def held_out(
    study: Study,
    spaces: Sequence[str],
    *,
    centering: str = "features",
    report: Progress | None = None,
) -> pd.DataFrame:
    """Compare each space in turn with the consensus of the others: a row per space and stimulus;
    see `leave_one_out`.

    Columns space, index, stimulus, dispersion (of the others in their own consensus), deviation (of
    the space from it), norm (of that consensus), and the same in all rows of a space: shuffled (the
    mean of Pearson's r where the space's stimuli are shuffled) and shuffled_p (one-sided: how often
    r is as high then).
    """
    places = find_spaces(study, spaces)

    def compare() -> pd.DataFrame:
        found = leave_one_out(_read(study, places), centering=centering, report=report)
        tables = []
        for place, x, y, norm, null in zip(places, *(values.T for values in found), strict=True):
            chance = {"shuffled": null.mean(), "shuffled_p": tail(correlate(x, y[None])[0], null)}
            tables.append(
                _stimuli(study).assign(
                    space=str(place), dispersion=x, deviation=y, norm=norm, **chance
                )
            )
        return pd.concat(tables, ignore_index=True)[list(HELD_OUT)]

    return keep(
        study, recipe_of(study, "held-out", places, centering=centering, shuffles=SHUFFLES), compare
    )


def held_out_fits(
    study: Study,
    spaces: Sequence[str],
    *,
    centering: str = "features",
    report: Progress | None = None,
) -> pd.DataFrame:
    """Relate, for each space held out, the others' dispersion to its deviation: a row per space.

    Columns space, those of `relate`, shuffled and shuffled_p as `held_out` has them, and partial,
    partial_low, partial_high: Pearson's r given the norm of the others' consensus, which both
    contain, with its 95 % interval.
    """
    points = held_out(study, spaces, centering=centering, report=report)
    rows = []
    for place in find_spaces(study, spaces):
        own = points[points["space"] == str(place)]
        x, y, norm = (own[name].to_numpy() for name in ("dispersion", "deviation", "norm"))
        given = partial_correlation(x, y, given=norm)
        partial = {"partial": given.value, "partial_low": given.low, "partial_high": given.high}
        chance = {name: float(own[name].iloc[0]) for name in ("shuffled", "shuffled_p")}
        rows.append({"space": str(place), **relate(x, y)._asdict(), **chance, **partial})
    return pd.DataFrame(rows)


def find_summary(by: str, spaces: Sequence[Layer]) -> str:
    """Return the column of `disperse` that stimuli are ranked by: a summary, or a space for its own
    residuals.
    """
    if by in SUMMARIES:
        return by
    known = [str(place) for place in spaces]
    if by in known:
        return by
    raise UnknownNameError("summary of dispersion", by, [*SUMMARIES, *known])


def _fitted(
    study: Study, places: Sequence[Layer], *, centering: str, weights: tuple[float, ...] | None
) -> pd.DataFrame:
    """Return index, a column of residuals per space, iterations, objective, and the consensus's
    axes: a row per stimulus.
    """

    def fit() -> pd.DataFrame:
        found = generalized_procrustes(_read(study, places), centering=centering, weights=weights)
        table = pd.DataFrame(residuals(found), columns=list(map(str, places)))
        table.insert(0, "index", _indices(study))
        axes = pd.DataFrame(
            found.joint, columns=[f"axis_{axis}" for axis in range(1, found.joint.shape[1] + 1)]
        )
        return pd.concat(
            [table.assign(iterations=len(found.objective), objective=found.objective[-1]), axes],
            axis=1,
        )

    return keep(
        study,
        recipe_of(
            study, "consensus", places, centering=centering, weights=weights and list(weights)
        ),
        fit,
    )


def recipe_of(study: Study, kind: str, places: Sequence[Layer], **choices: Any) -> Recipe:
    """Return all that an answer about these spaces depends on; `consensus` says what was done to
    them, rows are not normalized.
    """
    models = list(dict.fromkeys(place.model for place in places))
    steps = ["clamp", "center", "scale to norm 1", "turn in the room of those that define it"]
    return study.recipe(kind, models, spaces=list(map(str, places)), consensus=steps, **choices)


def _read(study: Study, places: Sequence[Layer]) -> list[Float32[np.ndarray, "n _"]]:
    """Read spaces; raises MetricError that names the one that is degenerate."""
    layers = {
        model: study.spaces(model) for model in dict.fromkeys(place.model for place in places)
    }
    for place in places:
        try:
            check_space(layers[place.model][place.layer])
        except MetricError as error:
            raise MetricError(f"{place}: {error}") from error
    return [layers[place.model][place.layer] for place in places]


def _indices(study: Study) -> Int64[np.ndarray, " n"]:
    return np.arange(study.size) if study.rows is None else study.rows


def _stimuli(study: Study) -> pd.DataFrame:
    indices = _indices(study)
    return pd.DataFrame(
        {
            "index": indices,
            "stimulus": study.store.stimuli(study.dataset.name)["stimulus"].to_numpy()[indices],
        }
    )
