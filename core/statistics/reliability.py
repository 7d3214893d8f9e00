"""How reliable repeated measurements are: halves of the repeats compared, and what that says of all
of them.

    rᵣ = f r / (1 + (f − 1) r)     the reliability of f times as many repeats (Spearman–Brown)
    ρ ≤ √rᵣ                        the correlation of what was measured with anything without noise

Sources: Spearman 1904 (attenuation); Spearman 1910 and Brown 1910 (the formula); Yamins et al. 2014
and Schrimpf et al. 2018 (split halves of repeats as the ceiling of models of the brain).
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
from jaxtyping import Bool, Float, Float64

SPLITS = 20  # of the repeats into halves, at most


def draw_splits(
    repeats: int, *, count: int = SPLITS, seed: int = 0
) -> list[tuple[Bool[np.ndarray, "r"], Bool[np.ndarray, "r"]]]:
    """Return splits of at least two repeats into halves of equal size, as masks: all there are, or
    `count` of them drawn with the seed where there are more. Of an odd number each leaves one out.
    """
    half, places = repeats // 2, range(repeats)
    every = comb(repeats, half) * comb(repeats - half, half) // 2
    if every <= count:
        pairs = [
            (first, second)
            for first in combinations(places, half)
            for second in combinations(sorted({*places} - {*first}), half)
            if first < second
        ]
    else:
        rng = np.random.default_rng(seed)
        orders = [rng.permutation(repeats).tolist() for _ in range(count)]
        pairs = [(order[:half], order[half : 2 * half]) for order in map(tuple, orders)]
    return [(_mask(first, repeats), _mask(second, repeats)) for first, second in pairs]


def _mask(chosen: tuple[int, ...], repeats: int) -> Bool[np.ndarray, "r"]:
    return np.isin(np.arange(repeats), chosen)


def spearman_brown(
    reliability: Float[np.ndarray, "*units"] | float, factor: float
) -> Float64[np.ndarray, "*units"]:
    """Return the reliability of `factor` times as many repeats: f r / (1 + (f − 1) r).

    At most 1; of halves that do not agree, 0 or less, it is 0: they tell nothing, and nor do more.
    """
    r = np.maximum(np.asarray(reliability, dtype=np.float64), 0.0)
    return np.asarray(factor * r / (1 + (factor - 1) * r))


def grow(repeats: int) -> float:
    """Return how many times as many all repeats are as those of one half."""
    return repeats / (repeats // 2)


def unit_reliability(repeats: Float[np.ndarray, "r n d"]) -> Float64[np.ndarray, "d"]:
    """Return the reliability of each unit's mean over all repeats: the correlation over stimuli of
    the means of two halves, averaged over splits, Spearman–Brown corrected.

    repeats: at least two measurements of n stimuli in d units. In 0 … 1, higher is more reliable:
    the share of the variance over stimuli that is no noise. NaN for a unit that is constant in a
    half. Source: Yamins et al. 2014.
    """
    halves = [
        _correlate(repeats[first].mean(axis=0), repeats[second].mean(axis=0))
        for first, second in draw_splits(len(repeats))
    ]
    return spearman_brown(np.mean(halves, axis=0), grow(len(repeats)))


def _correlate(
    x: Float[np.ndarray, "n d"], y: Float[np.ndarray, "n d"]
) -> Float64[np.ndarray, "d"]:
    """Return Pearson's correlation of each column, NaN for a constant one."""
    around = [each.astype(np.float64) - each.mean(axis=0, dtype=np.float64) for each in (x, y)]
    lengths = [np.linalg.norm(each, axis=0) for each in around]
    with np.errstate(invalid="ignore", divide="ignore"):
        values: np.ndarray = (around[0] * around[1]).sum(axis=0) / (lengths[0] * lengths[1])
    return values
