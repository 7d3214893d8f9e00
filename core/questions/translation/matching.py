"""Match two kernels over the same stimuli, in unknown orders, with no pairs given.

The matching is the permutation p that maximizes ⟨A, B[p, p]⟩ / (‖A‖ ‖B‖), linear CKA of the spaces
so paired: a quadratic assignment problem (Koopmans, Beckmann 1957), of which no method is sure to
find the best solution. Chance is exact: the fixed points of random permutations.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Float, Float64, Int64

from core.progress import tell_each
from core.spaces.kernels import centered, linear
from core.spaces.preprocess import normalize_rows

MOST = 40  # fixed points; more have a probability below 10⁻⁴⁷
STARTS = "starts of one matching"

Kernel = Float64[np.ndarray, "n n"]
Permutation = Int64[np.ndarray, " n"]


def kernel_of(space: Float[np.ndarray, "n d"]) -> Kernel:
    """Return the centered kernel of cosines, its squared entries 1 on average; raises as
    `normalize_rows` and `centered`.
    """
    return len(space) * centered(linear(normalize_rows(space.astype(np.float64))))


def agreement(a: Kernel, b: Kernel, matched: Permutation) -> float:
    """Return the linear CKA of two spaces so paired, in [−1, 1]; matched: of each row of a its row
    of b.
    """
    return float((a * b[np.ix_(matched, matched)]).mean())


def match(a: Kernel, b: Kernel, *, starts: int, seed: int) -> Permutation:
    """Return for each row of a its row of b: the best of several solutions by Frank–Wolfe, from
    matched profiles, the mean of all permutations and random starts.

    The rows of b are shuffled first, so that their order tells nothing. Source: Vogelstein et al.
    2015 (FAQ).
    """
    from scipy.optimize import quadratic_assignment

    rng = np.random.default_rng(seed)
    order = rng.permutation(len(b))
    shuffled = b[np.ix_(order, order)]
    first = np.eye(len(a))[match_profiles(a, shuffled)]
    best, most = np.arange(len(a)), -np.inf
    for start in tell_each((first, "barycenter", *["randomized"] * starts), STARTS):
        options: Any = {"maximize": True, "P0": start, "rng": rng}
        solved = quadratic_assignment(a, shuffled, method="faq", options=options)
        if solved.fun > most:
            best, most = np.asarray(solved.col_ind, dtype=np.int64), solved.fun
    matched: Permutation = order[best]
    return matched


def match_profiles(a: Kernel, b: Kernel) -> Permutation:
    """Match stimuli by the sorted rows of both kernels. Source: Mémoli 2011, third lower bound."""
    from scipy.optimize import linear_sum_assignment

    rows_a, rows_b = np.sort(a, axis=1), np.sort(b, axis=1)
    costs = (rows_a**2).sum(1)[:, None] + (rows_b**2).sum(1) - 2 * rows_a @ rows_b.T
    return np.asarray(linear_sum_assignment(costs)[1], dtype=np.int64)


def partner_rank(a: Kernel, b: Kernel, matched: Permutation, truth: Permutation) -> float:
    """Return the mean rank of the true partner among all candidates: 1 is first, 0.5 chance.

    Stimulus i of a and j of b are Σₖ (Aᵢₖ − B_p(k)j)² apart; ties count half.
    """
    profiles = b[matched]
    apart = (profiles**2).sum(0) - 2 * a @ profiles
    own = apart[np.arange(len(a)), truth][:, None]
    beyond = (apart > own).sum(1) + ((apart == own).sum(1) - 1) / 2
    return float(beyond.mean() / (len(a) - 1))


@cache
def fixed_points(n: int) -> Float64[np.ndarray, " k"]:
    """Return the probabilities of 0, 1, 2 … fixed points of a random permutation of n: 1/k! Σ_j≤n−k
    (−1)ʲ/j!. Source: Montmort 1708.
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
    total = np.ones(1)
    for _ in range(draws):
        total = np.convolve(total, fixed_points(n))
    return total


def chance_interval(n: int, draws: int, *, level: float = 0.95) -> tuple[float, float]:
    """Return the interval of the share of partners that random matchings find, over so many draws
    of n stimuli.
    """
    chances = summed_points(n, draws)
    below = np.cumsum(chances)
    low = int(np.searchsorted(below, (1 - level) / 2))
    high = int(np.searchsorted(below, (1 + level) / 2 - 1e-12))
    return low / (n * draws), high / (n * draws)


def chance_of(found: int, n: int, draws: int) -> float:
    """Return how often random matchings find as many partners or more: an exact one-sided p."""
    return float(min(1.0, summed_points(n, draws)[found:].sum()))
