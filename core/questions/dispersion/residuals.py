"""Which stimuli models agree on: each stimulus's distance to the consensus, in one model and over
models.

Source: the single-stimulus dispersion method (Generalized Procrustes), equations 1 and 2, and its
supplements.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float32, Float64, Int64

from core.errors import MetricError
from core.pairs.prepared import one_core_each
from core.progress import Progress
from core.spaces.kernels import ROUNDING
from core.spaces.preprocess import check_space
from core.statistics.correlations import partial_correlation
from core.statistics.nulls import draw_orders
from core.statistics.procrustes import Consensus, Space, generalized_procrustes, turn
from core.study.spaces import Layer
from core.study.study import Study, studied_stimuli

SUMMARIES = ("mean", "pc1", "median", "trimmed")
TRIMMED = 0.25  # of the models, at each end
SHUFFLES = 199  # of a space left out: p is 0.005 or more

Residuals = Float64[np.ndarray, "n M"]
PerStimulus = Float64[np.ndarray, " n"]


class Summary(NamedTuple):
    """A stimulus's dispersion over models, four ways, and the share of the residuals' variance that
    lies along the first axis.
    """

    mean: PerStimulus
    pc1: PerStimulus
    median: PerStimulus
    trimmed: PerStimulus
    explained: float


class HeldOut(NamedTuple):
    """Each space next to the consensus of the others, a column per space left out; see
    `leave_one_out`.
    """

    dispersion: Residuals
    deviation: Residuals
    norm: Residuals
    shuffled: Float64[np.ndarray, "shuffles M"]


class Relation(NamedTuple):
    """How two values of the same stimuli go together: correlations, and the line of least
    squares.
    """

    n: int
    pearson: float
    pearson_low: float
    pearson_high: float
    spearman: float
    slope: float
    intercept: float


def residuals(consensus: Consensus) -> Residuals:
    """Return the distance of every stimulus to the consensus in each space: rᵢⱼ = ‖(NᵢTᵢ)ⱼ − Cⱼ‖.

    Spaces have Frobenius norm 1, so √n times a residual is in units of a typical stimulus's
    distance from the mean. Lower is more agreement; copies of one stimulus have equal residuals.
    """
    return np.stack(
        [np.linalg.norm(turned - consensus.joint, axis=1) for turned in consensus.turned], axis=1
    )


def leave_one_out(
    spaces: Sequence[Space],
    *,
    centering: str = "features",
    shuffles: int = SHUFFLES,
    seed: int = 0,
    report: Progress | None = None,
) -> HeldOut:
    """Compare each space with the consensus of the others alone.

    Returns a column per space left out. dispersion: the mean residual of the others in their own
    consensus. deviation: the residual of the space left out once it is turned onto that consensus;
    it has no part in the former. norm: the consensus's distance from the mean, which both contain,
    so that they go together even where the spaces have nothing in common. shuffled: what Pearson's
    r of both is by that alone, with the stimuli of the space left out in a random order and turned
    again; NaN where one is constant. Raises MetricError for fewer than three spaces, and as
    `generalized_procrustes`.
    """
    if len(spaces) < 3:
        raise MetricError(
            f"a consensus of the others needs at least three spaces; got {len(spaces)}: add a model"
        )
    orders = draw_orders(len(spaces[0]), count=shuffles, seed=seed)
    each = []
    for left_out in range(len(spaces)):
        weights = np.ones(len(spaces))
        weights[left_out] = 0
        others = generalized_procrustes(spaces, centering=centering, weights=weights.tolist())
        apart = residuals(others)
        dispersion = np.delete(apart, left_out, axis=1).mean(axis=1)
        shuffled = _shuffled(dispersion, others.turned[left_out], others.joint, orders)
        each.append(
            (dispersion, apart[:, left_out], np.linalg.norm(others.joint, axis=1), shuffled)
        )
        if report:
            report(left_out + 1, len(spaces), "spaces left out of the consensus")
    return HeldOut(*(np.stack(columns, axis=1) for columns in zip(*each, strict=True)))


def _shuffled(
    dispersion: PerStimulus,
    space: Float64[np.ndarray, "n room"],
    joint: Float64[np.ndarray, "n room"],
    orders: Int64[np.ndarray, "shuffles n"],
) -> Float64[np.ndarray, " shuffles"]:
    with one_core_each() as pool:
        deviations = list(pool.map(partial(_deviation, space, joint), orders))
    return correlate(dispersion, np.stack(deviations))


def _deviation(
    space: Float64[np.ndarray, "n room"], joint: Float64[np.ndarray, "n room"], order: np.ndarray
) -> PerStimulus:
    deviation: np.ndarray = np.linalg.norm(turn(space[order], onto=joint) - joint, axis=1)
    return deviation


def correlate(x: PerStimulus, y: Float64[np.ndarray, "rows n"]) -> Float64[np.ndarray, " rows"]:
    """Return Pearson's correlation of x with each row of y, NaN where one of both is constant."""
    x, y = x - x.mean(), y - y.mean(axis=1, keepdims=True)
    lengths = (x @ x) * (y * y).sum(axis=1)
    correlations: np.ndarray = y @ x / np.sqrt(np.where(lengths > 0, lengths, np.nan))
    return correlations


def tail(value: float, null: Float64[np.ndarray, " draws"]) -> float:
    """Return the one-sided p-value of a value among draws, (1 + #{as large}) / (draws + 1); NaN
    where one is not known.
    """
    if np.isnan(value) or np.isnan(null).any():
        return np.nan
    return float((1 + np.count_nonzero(null >= value)) / (len(null) + 1))


def summarize(residuals: Residuals) -> Summary:
    """Summarize each stimulus's residuals over models.

    mean: sensitive to one odd model. pc1: the score on the first principal axis of the residuals
    around each model's own mean, its sign such that it grows with the mean; it passes over an odd
    model only where that one's residuals vary less than what the others share, and else follows it.
    median; trimmed: the mean without the lowest and highest quarter of the models, rounded down, so
    that it is the mean of two or three models and the median of four. explained: the first axis's
    share of the variance. pc1 and explained are NaN where all spaces are one space turned, so that
    residuals are rounding.
    """
    from scipy.stats import trim_mean

    mean = residuals.mean(axis=1)
    pc1, explained = _first_axis(residuals, mean)
    return Summary(
        mean, pc1, np.median(residuals, axis=1), trim_mean(residuals, TRIMMED, axis=1), explained
    )


def _first_axis(residuals: Residuals, mean: PerStimulus) -> tuple[PerStimulus, float]:
    if np.linalg.norm(residuals) <= np.sqrt(residuals.shape[1]) * ROUNDING:  # spaces have norm 1
        return np.full(len(residuals), np.nan), np.nan
    left, sizes, _ = np.linalg.svd(residuals - residuals.mean(axis=0), full_matrices=False)
    if sizes[0] == 0:  # every stimulus is as dispersed as the next
        return np.full(len(residuals), np.nan), np.nan
    scores = left[:, 0] * sizes[0]
    return scores * (1 if scores @ (mean - mean.mean()) >= 0 else -1), float(
        sizes[0] ** 2 / (sizes**2).sum()
    )


def relate(x: PerStimulus, y: PerStimulus) -> Relation:
    """Correlate two values of the same stimuli, and fit y = slope · x + intercept.

    The interval of Pearson's r is Fisher's, at 95%: it takes stimuli as independent, which a
    common consensus makes them only nearly. There is no p-value against 0, since of what
    `leave_one_out` gives 0 is not chance. Raises MetricError for fewer than four stimuli and where
    either value is the same everywhere.
    """
    from scipy.stats import linregress, pearsonr, spearmanr

    if len(x) < 4 or np.ptp(x) == 0 or np.ptp(y) == 0:
        raise MetricError(
            f"a correlation needs at least four stimuli whose values differ; got {len(x)} stimuli"
        )
    linear, ranked, line = pearsonr(x, y), spearmanr(x, y), linregress(x, y)
    low, high = linear.confidence_interval(0.95)
    figures = linear.statistic, low, high, ranked.statistic, line.slope, line.intercept
    return Relation(len(x), *map(float, figures))


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
    contain, with its 95% interval.
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
