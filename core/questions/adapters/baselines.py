"""Ways to compare vectors of two encoders that train nothing by gradient: baselines of the
adapters.

Each is a function of the vectors of queries and of the candidates, and of the stimuli's parts:
it is fitted to the training pairs, chooses its strength (if it has one) by the validation pairs,
and returns both sides' test stimuli in one space.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np
from jaxtyping import Float, Float64, Int64

from core.metrics.predictivity import STRENGTHS
from core.questions.adapters.maps import Parts, canonical_maps, rank_own
from core.spaces.preprocess import check_pair, normalize_rows

Space = Float[np.ndarray, "_ _"]
Side = Float64[np.ndarray, "_ _"]
Rows = Int64[np.ndarray, "_"]
Compared = Callable[[Rows], tuple[Side, Side]]  # gives both sides of some stimuli in one space


def canonical(queries: Space, candidates: Space, parts: Parts) -> tuple[Side, Side]:
    """Compare canonical variates, each weighted by the fourth power of its correlation, of the
    leading principal directions: what adapters start from.

    Source: Hotelling 1936; weights after Gong, Ke, Isard, Lazebnik 2014.
    """
    (x, left), (y, right) = canonical_maps([queries, candidates], parts)
    return x.of(queries[parts.test]) @ left, y.of(candidates[parts.test]) @ right


def procrustes(queries: Space, candidates: Space, parts: Parts) -> tuple[Side, Side]:
    """Turn centered queries onto the candidates by the orthogonal map that fits best: W = UVᵀ of
    QᵀF = USVᵀ.

    Of two widths the wider side keeps the directions that the narrower one fits. Source: Schönemann
    1966.
    """
    x, y = (_centered(space, parts.train) for space in (queries, candidates))
    left, _, right = np.linalg.svd(x[parts.train].T @ y[parts.train], full_matrices=False)
    return x[parts.test] @ left, y[parts.test] @ right.T


def ridge(queries: Space, candidates: Space, parts: Parts) -> tuple[Side, Side]:
    """Predict candidates from queries by ridge regression on centered vectors, its penalty
    chosen in STRENGTHS.

    The penalty is in units of the queries' summed variance. Source: Hoerl, Kennard 1970.
    """
    check_pair(queries, candidates)
    x, y = (_centered(space, parts.train) for space in (queries, candidates))
    left, sizes, axes = np.linalg.svd(x[parts.train], full_matrices=False)
    products = left.T @ y[parts.train]

    def penalize(strength: float) -> Compared:
        weights = axes.T * (sizes / (sizes**2 + strength * (sizes**2).sum())) @ products
        return lambda rows: (x[rows] @ weights, y[rows])

    return _choose((penalize(strength) for strength in STRENGTHS), parts)


def relative(queries: Space, candidates: Space, parts: Parts) -> tuple[Side, Side]:
    """Describe each stimulus by its cosines with the training stimuli of its own encoder, all
    centered.

    Source: Moschella et al. 2023 (relative representations; the training pairs are the anchors).
    """
    sides = (normalize_rows(_centered(space, parts.train)) for space in (queries, candidates))
    x, y = (side[parts.test] @ side[parts.train].T for side in sides)
    return x, y


def raw(queries: Space, candidates: Space, parts: Parts) -> tuple[Side, Side]:
    """Compare the vectors as they are; only encoders of one width can be."""
    x, y = (space[parts.test].astype(np.float64) for space in (queries, candidates))
    return x, y


METHODS: Mapping[str, Callable[[Space, Space, Parts], tuple[Side, Side]]] = {
    "CCA": canonical,
    "Procrustes": procrustes,
    "ridge": ridge,
    "relative": relative,
    "raw": raw,
}


def _choose(ways: Iterable[Compared], parts: Parts) -> tuple[Side, Side]:
    """Return the test stimuli by the way that ranks the validation stimuli's own highest, on
    average; the first of equals.
    """

    def mean_rank(way: Compared) -> float:
        return float(rank_own(*way(parts.validation)).places.mean())

    return min(ways, key=mean_rank)(parts.test)


def _centered(space: Space, train: Rows) -> Side:
    centered: np.ndarray = space.astype(np.float64) - space[train].mean(axis=0, dtype=np.float64)
    return centered
