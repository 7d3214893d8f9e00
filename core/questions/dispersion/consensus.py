"""The consensus of a study's spaces: each stimulus's distance to it, and each space beside the
consensus of the others.

A space is named `model:layer`, the layer by its number or its name; a model alone means its
penultimate block.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float32

from core.errors import MetricError, UnknownNameError
from core.progress import Progress
from core.questions.dispersion.residuals import (
    SUMMARIES,
    correlate,
    leave_one_out,
    relate,
    residuals,
    summarize,
    tail,
)
from core.spaces.preprocess import check_space
from core.statistics.correlations import partial_correlation
from core.statistics.procrustes import generalized_procrustes
from core.study.spaces import Layer
from core.study.study import Study, studied_stimuli

POINTS = (
    "space",
    "index",
    "stimulus",
    "dispersion",
    "deviation",
    "norm",
    "shuffled",
    "shuffled_p",
)


def check_summary(by: str, spaces: Sequence[str]) -> None:
    """Raise UnknownNameError where stimuli cannot be ranked by this: a summary, or a space for its
    own residuals.
    """
    if by not in SUMMARIES and by not in spaces:
        raise UnknownNameError("summary of dispersion", by, [*SUMMARIES, *spaces])


def fit_consensus(
    study: Study, places: Sequence[Layer], *, centering: str, weights: Sequence[float] | None
) -> pd.DataFrame:
    """Return a row per stimulus: index, stimulus, its residual in each space, iterations, objective
    and its place in the consensus's principal axes, axis_1 … largest first.

    Raises as `generalized_procrustes`, and MetricError that names a degenerate space.
    """
    consensus = generalized_procrustes(read(study, places), centering=centering, weights=weights)
    apart = pd.DataFrame(residuals(consensus), columns=list(map(str, places)))
    rounds = apart.assign(iterations=len(consensus.objective), objective=consensus.objective[-1])
    names = [f"axis_{axis}" for axis in range(1, consensus.joint.shape[1] + 1)]
    axes = pd.DataFrame(consensus.joint, columns=names)
    return pd.concat([studied_stimuli(study), rounds, axes], axis=1)


def summarize_residuals(fitted: pd.DataFrame, spaces: Sequence[str]) -> pd.DataFrame:
    """Return a row per stimulus: index, stimulus, mean, pc1, median, trimmed (see `summarize`), a
    column of residuals per space, iterations, objective, explained (the share of variance along
    pc1).

    fitted: as `fit_consensus` gives it.
    """
    names = list(spaces)
    summary = summarize(fitted[names].to_numpy())
    summaries = pd.DataFrame({name: getattr(summary, name) for name in SUMMARIES})
    rest = fitted[[*names, "iterations", "objective"]].assign(explained=summary.explained)
    return pd.concat([fitted[["index", "stimulus"]], summaries, rest], axis=1)


def hold_out(
    study: Study, places: Sequence[Layer], *, centering: str, report: Progress | None
) -> pd.DataFrame:
    """Compare each space in turn with the consensus of the others: a row per space and stimulus.

    Columns space, index, stimulus, dispersion (of the others in their own consensus), deviation (of
    the space from it), norm (of that consensus), and the same in all rows of a space: shuffled (the
    mean of Pearson's r where the space's stimuli are shuffled) and shuffled_p (one-sided: how often
    r is as high then). See `leave_one_out`, and for what it raises.
    """
    held = leave_one_out(read(study, places), centering=centering, report=report)
    stimuli, tables = studied_stimuli(study), []
    for place, x, y, norm, null in zip(places, *(values.T for values in held), strict=True):
        chance = {"shuffled": null.mean(), "shuffled_p": tail(correlate(x, y[None])[0], null)}
        values = {"space": str(place), "dispersion": x, "deviation": y, "norm": norm}
        tables.append(stimuli.assign(**values, **chance))
    return pd.concat(tables, ignore_index=True)[list(POINTS)]


def apart_from_others(points: pd.DataFrame, spaces: Sequence[str]) -> pd.DataFrame:
    """Return each space's residuals to the consensus of the others, as `fit_consensus` has them;
    iterations and objective are NaN: there is no consensus of all.

    points: as `hold_out` gives them.
    """
    apart = points.pivot(index=["index", "stimulus"], columns="space", values="deviation")
    return apart[list(spaces)].reset_index().assign(iterations=np.nan, objective=np.nan)


def relate_held_out(points: pd.DataFrame, spaces: Sequence[str]) -> pd.DataFrame:
    """Relate, for each space held out, the others' dispersion to its deviation: a row per space.

    Columns space, those of `relate`, shuffled and shuffled_p as `hold_out` has them, and partial,
    partial_low, partial_high: Pearson's r given the norm of the others' consensus, which both
    contain, with its 95 % interval.
    """
    rows = []
    for space in spaces:
        own = points[points["space"] == space]
        x, y, norm = (own[name].to_numpy() for name in ("dispersion", "deviation", "norm"))
        rest = partial_correlation(x, y, control=norm)
        partial = {"partial": rest.value, "partial_low": rest.low, "partial_high": rest.high}
        chance = {name: float(own[name].iloc[0]) for name in ("shuffled", "shuffled_p")}
        rows.append({"space": space, **relate(x, y)._asdict(), **chance, **partial})
    return pd.DataFrame(rows)


def read(study: Study, places: Sequence[Layer]) -> list[Float32[np.ndarray, "n _"]]:
    """Read spaces, not normalized; raises MetricError that names the one that is degenerate."""
    layers = {
        model: study.spaces(model) for model in dict.fromkeys(place.model for place in places)
    }
    for place in places:
        try:
            check_space(layers[place.model][place.layer])
        except MetricError as error:
            raise MetricError(f"{place}: {error}") from error
    return [layers[place.model][place.layer] for place in places]
