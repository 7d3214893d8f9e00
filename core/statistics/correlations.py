"""How sure a correlation over models is, and what is left of it once their sizes are known."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Float64

from core.errors import InputError
from core.statistics.fits import (
    Clusters,
    clustered_p,
    competence_fit,
    relatives,
    too_few_clusters,
)
from core.statistics.level_trends import jackknife

LEVEL = 0.95
SURE = 0.05  # of p, below which a correlation counts as real
# models; of 5, draws with replacement put every sixth interval beyond 0 where nothing correlates
FEWEST = 6
UNDEFINED = 0.05  # share of draws without a correlation, from which on the others give no interval
ROUNDING = 1e-9
NO_SPREAD = "without one family there is no correlation, so there is no interval"


@dataclass(frozen=True)
class Correlation:
    """A correlation in [−1, 1] over n models, its interval and its two-sided p; what is not known
    is NaN, and `reason` says why.
    """

    value: float
    low: float
    high: float
    p: float
    n: int
    reason: str = ""

    @property
    def sure(self) -> bool:
        """Return whether it differs from 0 by its interval and by p: with few or tied models either
        alone is too often sure.
        """
        return bool(self.p < SURE and (self.low > 0 or self.high < 0))


def spearman_interval(
    x: Float[np.ndarray, " n"],
    y: Float[np.ndarray, " m"],
    clusters: Clusters = None,
    *,
    draws: int = 2000,
    seed: int = 0,
    level: float = LEVEL,
) -> Correlation:
    """Return Spearman's ρ with its percentile interval over draws of the models with replacement.

    A draw in which all x or all y are equal has no ρ and is left out; where more than 5 % have
    none, or where the interval does not hold ρ itself, it is NaN with the reason. It covers other
    models of the same kinds, not other kinds. clusters: of each model, as `competence_fit` reads
    them; where two models are relatives, the interval is the jackknife's over clusters, cut off at
    ±1. p: as `competence_fit` gives it. Points with a NaN are left out. NaN with the reason below 6
    models or 3 clusters, and where x or y is constant. Raises InputError for lengths and no draws.
    Source: Efron, Tibshirani 1993, chapters 11 and 13.
    """
    if draws < 1:
        raise InputError(f"an interval needs at least one draw of the models; got {draws}")
    sound, (x, y) = _sound(x, y)
    kin = relatives(clusters, sound)
    fit = competence_fit(x, y, kin, level=level)
    if fit.reason or fit.n < FEWEST:
        return _unknown(fit.n, fit.reason or _too_few(fit.n))
    if kin is not None:
        ranks = [_ranks(np.stack([x, y])[:, kin != one]) for one in np.unique(kin)]
        without = np.array([_pearson(one[:1], one[1:])[0] for one in ranks])
        low, high = _left_out(fit.spearman, without, level)
        why = NO_SPREAD if np.isnan(low) else ""
        return Correlation(fit.spearman, low, high, fit.p, fit.n, why)
    drawn = np.random.default_rng(seed).integers(fit.n, size=(draws, fit.n))
    resampled = _pearson(_ranks(x[drawn]), _ranks(y[drawn]))
    low, high, reason = _interval(resampled, fit.spearman, level)
    return Correlation(fit.spearman, low, high, fit.p, fit.n, reason)


def _interval(
    draws: Float64[np.ndarray, " draws"], value: float, level: float
) -> tuple[float, float, str]:
    """Return the percentile interval of a correlation over draws, or NaN and the reason."""
    if (without := float(np.isnan(draws).mean())) > UNDEFINED:
        return np.nan, np.nan, f"so many are equal that {100 * without:.0f} % of draws have no ρ"
    low, high = map(float, np.nanquantile(draws, [(1 - level) / 2, (1 + level) / 2]))
    if not low - ROUNDING <= value <= high + ROUNDING:
        return np.nan, np.nan, "the interval of the draws does not hold ρ itself"
    return low, high, ""


def _left_out(
    value: float, without: Float64[np.ndarray, " c"], level: float = LEVEL
) -> tuple[float, float]:
    low, high = jackknife(value, without, freedom=len(without) - 1, level=level)
    return float(np.clip(low, -1, 1)), float(np.clip(high, -1, 1))


def partial_correlation(
    x: Float[np.ndarray, " n"],
    y: Float[np.ndarray, " m"],
    clusters: Clusters = None,
    *,
    control: Float[np.ndarray, " l"],
) -> Correlation:
    """Return the correlation of what a line in `control` leaves of x and of y: (r_xy − r_xz r_yz) /
    √((1 − r_xz²)(1 − r_yz²)).

    control: z, such as the logarithm of the models' sizes. p: two-sided, of t = r √(ν / (1 − r²))
    with ν = n − 3 degrees of freedom; the interval by Fisher's transform, tanh(artanh r ± 1.96 /
    √(n − 4)). clusters: as for `spearman_interval`; where two models are relatives, what is left of
    y is exchanged for p, and the interval is the jackknife's. Points with a NaN are left out. NaN
    with the reason below 6 models or 3 clusters, for constant values, and where z determines all of
    x or of y. Raises InputError for lengths. Source: Fisher 1924; Freedman, Lane 1983.
    """
    sound, (x, y, z) = _sound(x, y, control)
    kin = relatives(clusters, sound)
    if len(x) < FEWEST or too_few_clusters(kin):
        return _unknown(len(x), _too_few(len(x)) if len(x) < FEWEST else too_few_clusters(kin))
    if names := [
        name for name, values in (("x", x), ("y", y), ("control", z)) if np.ptp(values) == 0
    ]:
        return _unknown(len(x), f"all {len(x)} models have the same {names[0]}")
    left = [_residuals(values, z) for values in (x, y)]
    if any(
        np.abs(rest).max() <= 1e-9 * np.ptp(values)
        for rest, values in zip(left, (x, y), strict=True)
    ):
        return _unknown(len(x), "the control determines x or y, so nothing is left to correlate")
    found = _tested(_partial(x, y, z), len(x))
    if kin is None or found.reason:
        return found
    without = [_partial(*(one[kin != out] for one in (x, y, z))) for out in np.unique(kin)]
    low, high = _left_out(found.value, np.array(without))
    return replace(
        found,
        low=low,
        high=high,
        p=clustered_p(left[0], left[1], kin, control=z),
        reason=NO_SPREAD if np.isnan(low) else "",
    )


def _partial(
    x: Float64[np.ndarray, " n"], y: Float64[np.ndarray, " n"], z: Float64[np.ndarray, " n"]
) -> float:
    left = (_residuals(values, z)[None] for values in (x, y))
    return float(_pearson(*left)[0])


def _tested(r: float, n: int) -> Correlation:
    from scipy import stats

    if abs(r) >= 1 - 1e-12:
        return Correlation(
            float(np.sign(r)),
            np.nan,
            np.nan,
            0.0,
            n,
            "what is left lies on a line, so there is no interval",
        )
    t = r * np.sqrt((n - 3) / (1 - r * r))
    half = stats.norm.ppf((1 + LEVEL) / 2) / np.sqrt(n - 4)
    low, high = np.tanh([np.arctanh(r) - half, np.arctanh(r) + half])
    return Correlation(r, float(low), float(high), float(2 * stats.t.sf(abs(t), n - 3)), n)


def _sound(
    *columns: np.ndarray,
) -> tuple[Bool[np.ndarray, " n"], list[Float64[np.ndarray, " kept"]]]:
    if len({len(column) for column in columns}) > 1:
        raise InputError(
            "expected one value of each for every model; got"
            f" {', '.join(str(len(column)) for column in columns)} values"
        )
    sound = np.all([np.isfinite(column) for column in columns], axis=0)
    return sound, [column[sound].astype(np.float64) for column in columns]


def _unknown(n: int, reason: str) -> Correlation:
    return Correlation(np.nan, np.nan, np.nan, np.nan, n, reason)


def _too_few(n: int) -> str:
    return f"at least {FEWEST} models with all values expected; there are {n}"


def _ranks(values: Float64[np.ndarray, "draws n"]) -> Float64[np.ndarray, "draws n"]:
    ranks: np.ndarray = pd.DataFrame(values).rank(axis=1).to_numpy()
    return ranks


def _pearson(
    x: Float64[np.ndarray, "draws n"], y: Float64[np.ndarray, "draws n"]
) -> Float64[np.ndarray, " draws"]:
    """Return the correlation of each row; NaN where one of both is constant."""
    x, y = (values - values.mean(axis=1, keepdims=True) for values in (x, y))
    lengths = (x * x).sum(axis=1) * (y * y).sum(axis=1)
    correlations: np.ndarray = (x * y).sum(axis=1) / np.sqrt(np.where(lengths > 0, lengths, np.nan))
    return correlations


def _residuals(
    values: Float64[np.ndarray, " n"], control: Float64[np.ndarray, " n"]
) -> Float64[np.ndarray, " n"]:
    values, control = values - values.mean(), control - control.mean()
    residuals: np.ndarray = values - control * (values @ control) / (control @ control or 1.0)
    return residuals
