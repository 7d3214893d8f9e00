"""Stimuli on a plane: the two directions in which a space varies most, or a layout that keeps
neighbors near each other.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float64

from core.errors import FeatureError, MetricError
from core.machine.compiling import load_umap
from core.statistics.layouts import DRAWING

LEAST = 3  # stimuli: two lie on a line
NEAR = 15  # neighbors that UMAP keeps near, its authors' default


def principal_plane(
    space: Float[np.ndarray, "n d"],
) -> tuple[Float64[np.ndarray, "n 2"], Float64[np.ndarray, "2"]]:
    """Return the scores of the stimuli on the first two principal components, and the share of the
    variance of each, 0 … 1.

    Raises MetricError for fewer than three stimuli, fewer than two dimensions and a space whose
    rows are all equal; FeatureError for NaN or infinity.
    """
    from sklearn.decomposition import PCA

    _check(space)
    fitted = PCA(2, svd_solver="full")
    scores = fitted.fit_transform(space.astype(np.float64))
    return scores, fitted.explained_variance_ratio_


def neighbor_plane(space: Float[np.ndarray, "n d"], *, seed: int = 0) -> Float64[np.ndarray, "n 2"]:
    """Lay stimuli out by UMAP, Euclidean: who is near in the space is near on the plane; far
    distances and axes mean nothing.

    Each stimulus is tied to its 15 nearest, or to all where there are fewer. Starts from the
    principal plane, which keeps the coarse order; with one seed and one version of the library the
    layout is the same. Raises as `principal_plane`. Source: McInnes, Healy, Melville 2018; start:
    Kobak, Linderman 2021.
    """
    _check(space)
    with DRAWING:
        reducer = load_umap().UMAP(
            n_neighbors=min(NEAR, len(space) - 1), init="pca", random_state=seed, n_jobs=1
        )
        plane: np.ndarray = reducer.fit_transform(space).astype(np.float64)
        return plane


def _check(space: Float[np.ndarray, "n d"]) -> None:
    n, d = space.shape
    if not np.isfinite(space).all():
        raise FeatureError(
            "a space that is drawn holds finite numbers only; this one has NaN or infinity: embed"
            " the model again"
        )
    if n < LEAST or d < 2:
        raise MetricError(
            f"a plane needs at least {LEAST} stimuli and 2 dimensions; got {n} and {d}: take a"
            " larger dataset"
        )
    if (space == space[0]).all():
        raise MetricError(
            "all stimuli are one point in this space, so there is nothing to lay out; choose"
            " another layer"
        )
