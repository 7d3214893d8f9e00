"""How many partners a random matching finds: the fixed points of random permutations, exactly."""

from __future__ import annotations

from functools import cache

import numpy as np
from jaxtyping import Float64

MOST = 40  # fixed points; more have a probability below 10⁻⁴⁷


@cache
def fixed_points(n: int) -> Float64[np.ndarray, " k"]:
    """Return the probabilities of 0, 1, 2 … fixed points of a random permutation of n: 1/k! Σ_j≤n−k
    (−1)ʲ/j!. Their mean is 1, so a random matching finds 1/n of the partners. Source: Montmort
    1708.
    """
    signs = (-1.0) ** np.arange(n + 1)
    inverse = 1 / np.cumprod([1.0, *range(1, min(n, MOST) + 1)])
    alternating = np.cumsum(signs[: len(inverse)] * inverse)
    most = min(n, MOST)
    rest = np.minimum(n - np.arange(most + 1), len(alternating) - 1)
    chances: np.ndarray = inverse[: most + 1] * alternating[rest]
    chances.flags.writeable = False
    return chances


def summed_points(n: int, draws: int) -> Float64[np.ndarray, " k"]:
    """Return the probabilities of so many fixed points in several random permutations together."""
    total = np.ones(1)
    for _ in range(draws):
        total = np.convolve(total, fixed_points(n))
    return total


def chance_interval(n: int, draws: int, *, level: float = 0.95) -> tuple[float, float]:
    """Return between which shares of partners random matchings find with this probability at
    least, over so many draws of n stimuli together.
    """
    chances = summed_points(n, draws)
    below = np.cumsum(chances)
    low = int(np.searchsorted(below, (1 - level) / 2))
    high = int(np.searchsorted(below, (1 + level) / 2 - 1e-12))
    return low / (n * draws), high / (n * draws)


def chance_of(found: int, n: int, draws: int) -> float:
    """Return how often random matchings find as many partners or more: an exact one-sided p."""
    return float(min(1.0, summed_points(n, draws)[found:].sum()))
