"""Two kernels over the same stimuli, in unknown orders, matched with no pairs given.

Sought is the one-to-one matching under which two centered kernels agree most: the permutation p
that makes ⟨A, B[p, p]⟩ / (‖A‖ ‖B‖) largest, the linear CKA of the two spaces so paired. That is the
quadratic assignment problem; no method is sure to find its best solution.

Sources: Koopmans, Beckmann 1957 (the problem); Vogelstein et al. 2015 (FAQ); Mémoli 2011
(Gromov–Wasserstein, and its third lower bound); Peyré, Cuturi, Solomon 2016 (entropic).
Chance is exact: the fixed points of random permutations.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from jaxtyping import Float, Float64, Int64

from core.errors import InputError
from core.progress import tell_each
from core.spaces.kernels import centered, linear
from core.spaces.preprocess import normalize_rows

MOST = 40  # fixed points; more have a probability below 10⁻⁴⁷
COOLING = (1.0, 0.3, 0.1, 0.03)  # of the entropy, where squared kernel entries have mean 1
SWEEPS, SCALINGS = 12, 20  # of a problem at each entropy; more starts are worth more than these
STARTS = "starts of one matching"
BACKENDS = ("PYTORCH", "JAX", "CUPY", "TENSORFLOW")

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


def match(a: Kernel, b: Kernel, method: str, *, starts: int, seed: int) -> Permutation:
    """Return for each row of a its row of b, by a method of METHODS.

    starts: random ones, besides that from matched profiles. The rows of b are shuffled first, so
    that their order tells nothing.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(b))
    partners = METHODS[method](a, b[np.ix_(order, order)], starts, rng)
    matched: Permutation = order[partners]
    return matched


def match_profiles(a: Kernel, b: Kernel) -> Permutation:
    """Match stimuli by how similar they are to others, whichever these are: the sorted rows of both
    kernels, by least squares. It is where both methods start. Source: Mémoli 2011 (third lower
    bound).
    """
    from scipy.optimize import linear_sum_assignment

    rows_a, rows_b = np.sort(a, axis=1), np.sort(b, axis=1)
    costs = (rows_a**2).sum(1)[:, None] + (rows_b**2).sum(1) - 2 * rows_a @ rows_b.T
    return np.asarray(linear_sum_assignment(costs)[1], dtype=np.int64)


def match_by_assignment(a: Kernel, b: Kernel, starts: int, rng: np.random.Generator) -> Permutation:
    """Return the best of several solutions of the quadratic assignment: from matched profiles, from
    the mean of all permutations and from random starts, each by Frank–Wolfe (scipy's FAQ).
    """
    from scipy.optimize import quadratic_assignment

    first = np.eye(len(a))[match_profiles(a, b)]
    best, most = np.arange(len(a)), -np.inf
    for start in tell_each((first, "barycenter", *["randomized"] * starts), STARTS):
        options: Any = {"maximize": True, "P0": start, "rng": rng}
        solved = quadratic_assignment(a, b, method="faq", options=options)
        if solved.fun > most:
            best, most = np.asarray(solved.col_ind, dtype=np.int64), solved.fun
    return best


def match_by_transport(a: Kernel, b: Kernel, starts: int, rng: np.random.Generator) -> Permutation:
    """Return the best of several matchings, each the nearest to a Gromov–Wasserstein transport
    between two kernels whose entropy is cooled down step by step (POT): from matched profiles, and
    less warm from the mean of these and a random matching, so many times.
    """
    profiles = np.eye(len(a))[match_profiles(a, b)] / len(a)
    mixed = [
        (profiles + np.eye(len(a))[rng.permutation(len(a))] / len(a)) / 2 for _ in range(starts)
    ]
    matchings = [
        _cool(a, b, profiles, COOLING),
        *(_cool(a, b, one, COOLING[1:]) for one in tell_each(mixed, STARTS)),
    ]
    return max(matchings, key=lambda matched: agreement(a, b, matched))


def _cool(a: Kernel, b: Kernel, plan: Kernel, entropies: Sequence[float]) -> Permutation:
    """Return the permutation nearest to a transport that begins at `plan` and is cooled down."""
    from scipy.optimize import linear_sum_assignment

    gromov, even = import_transport(), np.full(len(a), 1 / len(a))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a step that has not converged: the next goes on
        for entropy in entropies:
            cooled = gromov.entropic_gromov_wasserstein(
                a,
                b,
                even,
                even,
                "square_loss",
                epsilon=entropy,
                symmetric=True,
                G0=plan,
                max_iter=SWEEPS,
                tol=1e-6,
                numItermax=SCALINGS,
            )
            if np.isfinite(cooled).all() and cooled.sum() > 0:
                plan = cooled
    return np.asarray(linear_sum_assignment(-plan)[1], dtype=np.int64)


def has_transport() -> bool:
    """Return whether POT is installed."""
    return find_spec("ot") is not None


def import_transport() -> Any:
    """Return POT's module of Gromov–Wasserstein; raises InputError where POT is not installed."""
    for backend in BACKENDS:  # it would import each for seconds, and needs none
        os.environ.setdefault(f"POT_BACKEND_DISABLE_{backend}", "1")
    try:
        from ot import gromov
    except ImportError as error:
        raise InputError(
            "Gromov–Wasserstein needs POT, which is not installed; pip install"
            " 'platoscope[translation]', or ask with --method qap"
        ) from error
    return gromov


Solver = Callable[[Kernel, Kernel, int, np.random.Generator], Permutation]
METHODS: Mapping[str, Solver] = {"gw": match_by_transport, "qap": match_by_assignment}


def partner_rank(a: Kernel, b: Kernel, matched: Permutation, truth: Permutation) -> float:
    """Return how high the true partner stands among all candidates, in the mean over stimuli: 1 is
    first, 0.5 chance.

    Stimulus i of a and j of b are as far apart as their similarities to all matched pairs, Σₖ (Aᵢₖ
    − B_p(k)j)². The rank is the share of the other candidates that are farther; ties count half.
    """
    profiles = b[matched]
    apart = (profiles**2).sum(0) - 2 * a @ profiles
    own = apart[np.arange(len(a)), truth][:, None]
    beyond = (apart > own).sum(1) + ((apart == own).sum(1) - 1) / 2
    return float(beyond.mean() / (len(a) - 1))


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
