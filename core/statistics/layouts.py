"""Items in a plane by their distances, and how far to trust the picture. Every layout starts from
classical scaling improved by stress majorization, so nothing random decides which group lies where.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

import numpy as np
from jaxtyping import Float, Float64
from scipy.spatial.distance import pdist

from core.errors import InputError, UnknownNameError
from core.machine.compiling import load_umap

LEAST = 4  # items whose neighborhoods can differ: three distances fit into a plane as they are
# UMAP's own spread of 1 and distance of 0.1 let marks of one group cover each other
NEIGHBORS, SPREAD, DISTANCE, EPOCHS = 15, 2.0, 1.0, 200
SEEDS = 2**32  # of numpy's older generators, which UMAP takes
TRUSTED = 5  # nearest items that trustworthiness compares

# UMAP's compiled loops run on numba's threads, which not every platform lets two callers share
DRAWING = Lock()

Matrix = Float64[np.ndarray, "m m"]
Points = Float64[np.ndarray, "m 2"]


@dataclass(frozen=True)
class Layout:
    """Points, and what they lose: `stress`, and the `trustworthiness` of so many nearest items (NaN
    below three).
    """

    points: Points
    stress: float
    trustworthiness: float
    neighbors: int


def lay_out(distances: Matrix, *, layout: str, seed: int = 0) -> Layout:
    """Place items in a plane: `mds` keeps all distances as well as it can, `umap` neighborhoods.

    distances: symmetric, 0 on the diagonal. seed: of UMAP. Permuting the items rotates or mirrors
    those of `mds` at most; for `umap` give them in an order of their own.
    """
    check_layout(layout, models=len(distances), seed=seed)
    if not distances.any():
        raise InputError("all models are at distance 0 from each other; choose others")
    points, trusted = LAYOUTS[layout](distances, seed), min(TRUSTED, (len(distances) - 1) // 2)
    trust = trustworthiness(distances, points, neighbors=trusted)
    return Layout(points, stress(distances, points), trust, trusted)


def check_layout(layout: str, *, models: int, seed: int) -> None:
    """Refuse an unknown layout, fewer than 2 models (`umap`: 4) and a seed of 2³² or more."""
    if layout not in LAYOUTS:
        raise UnknownNameError("layout", layout, LAYOUTS)
    if not 0 <= seed < SEEDS:
        raise InputError(f"a seed of {layout} lies in 0 … {SEEDS - 1}; got {seed}")
    least = 2 if layout == "mds" else LEAST
    if models < least:
        why = (
            ""
            if layout == "mds"
            else ": of fewer, each is every other's neighbor; mds draws the distances themselves"
        )
        raise InputError(f"{layout} places at least {least} models, and there are {models}{why}")


def stress(distances: Matrix, points: Points) -> float:
    """Return Kruskal's stress-1 at the best scale: √(1 − (Σ δd)² / (Σ δ² · Σ d²)), with δ the
    distances and d those between the points.

    In [0, 1], lower is better; NaN if all points fall together. Source: Kruskal 1964; Smelser,
    Miller, Kobourov 2024 (the scale).
    """
    original, drawn = distances[np.triu_indices(len(distances), k=1)], pdist(points)
    lengths = (original @ original) * (drawn @ drawn)
    return float(np.sqrt(max(0.0, 1 - (original @ drawn) ** 2 / lengths))) if lengths else np.nan


def trustworthiness(distances: Matrix, points: Points, *, neighbors: int) -> float:
    """Return how far near points are near items: 1 − 2/(mk(2m − 3k − 1)) · Σᵢ Σⱼ max(0, r(i, j) −
    k) over the k nearest points j, with r(i, j) the rank of j among the items nearest to i.

    In [0, 1], higher is better; about 0.5 for points at random. neighbors: k, below m/2; NaN for 0.
    Source: Venna, Kaski 2001.
    """
    from sklearn import manifold  # seconds that no other analysis must pay

    if not neighbors:
        return np.nan
    return float(
        manifold.trustworthiness(distances, points, n_neighbors=neighbors, metric="precomputed")
    )


def classical(distances: Matrix, *, dims: int = 2) -> Float64[np.ndarray, "m _"]:
    """Return the classical scaling: the `dims` largest principal components of −½ · the doubly
    centered squared distances (Torgerson 1952).
    """
    squares = distances**2
    centered = (
        -(squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()) / 2
    )
    values, vectors = np.linalg.eigh(centered)
    largest = np.sqrt(np.maximum(values[::-1][:dims], 0.0))
    points: np.ndarray = vectors[:, ::-1][:, :dims] * largest
    return points


def _mds(distances: Matrix, _: int) -> Points:
    from sklearn.manifold import smacof

    points, _ = smacof(
        distances,
        init=classical(distances),
        n_init=1,
        normalized_stress=False,
        max_iter=2000,
        eps=1e-9,
    )
    return np.asarray(points, dtype=np.float64)


def _umap(distances: Matrix, seed: int) -> Points:
    umap_ = load_umap().umap_
    with DRAWING:
        start, random = _start(distances, seed), np.random.RandomState(seed)
        count = min(NEIGHBORS, len(distances) - 1)
        near = np.argsort(distances, axis=1, kind="stable")[:, :count]
        lengths = np.take_along_axis(distances, near, axis=1)
        graph, _, _ = umap_.fuzzy_simplicial_set(
            distances,
            count,
            random,
            "precomputed",
            knn_indices=near.astype(np.int32),
            knn_dists=lengths.astype(np.float32),
        )
        a, b = umap_.find_ab_params(spread=SPREAD, min_dist=DISTANCE)
        points, _ = umap_.simplicial_set_embedding(
            distances,
            graph,
            n_components=2,
            initial_alpha=1.0,
            a=a,
            b=b,
            gamma=1.0,
            negative_sample_rate=5,
            n_epochs=EPOCHS,
            init=start,
            random_state=random,
            metric="precomputed",
            metric_kwds={},
            densmap=False,
            densmap_kwds={},
            output_dens=False,
        )
    return np.asarray(points, dtype=np.float64)


def _start(distances: Matrix, seed: int) -> Float[np.ndarray, "m 2"]:
    """Return where UMAP starts, with noise: points in a line would never leave it."""
    points = _mds(distances, seed)
    noise = np.random.default_rng(seed).normal(scale=1e-4 * points.std(), size=points.shape)
    return (points + noise).astype(np.float32)


LAYOUTS: dict[str, Callable[[Matrix, int], Points]] = {"umap": _umap, "mds": _mds}
