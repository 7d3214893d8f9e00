"""Checks of a space, and what is done to its values before spaces are compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from core.errors import FeatureError, MetricError
from core.spaces.choices import EXACT, Clamp

# with two stimuli each is the other's only neighbor and every centered kernel has rank one
SMALLEST = 3
ULPS = 4  # multiples of one vector, normalized, differ in their last bits


def check_space(space: Float[np.ndarray, "n d"]) -> None:
    """Refuse a space of fewer than three stimuli, with NaN or infinity, or whose stimuli differ by
    no more than rounding.
    """
    n, dims = space.shape
    if n < SMALLEST or dims < 1:
        raise MetricError(
            f"expected a space of at least {SMALLEST} stimuli and 1 dimension; got {n} × {dims}"
        )
    if not np.isfinite(space).all():
        row = int(np.flatnonzero(~np.isfinite(space).all(axis=1))[0])
        raise MetricError(
            f"a space must be finite; stimulus {row} has NaN or infinity: embed or import it again"
        )
    least, greatest = space.min(axis=0).astype(np.float64), space.max(axis=0).astype(np.float64)
    if (greatest <= least + ULPS * np.finfo(space.dtype).eps * np.maximum(greatest, -least)).all():
        raise MetricError(
            f"all {n} stimuli have the same vector, so this space has no neighbors; choose another"
            " layer"
        )


def check_pair(x: Float[np.ndarray, "n dx"], y: Float[np.ndarray, "m dy"]) -> None:
    if len(x) != len(y):
        raise MetricError(
            f"expected two spaces over the same stimuli; got {len(x)} and {len(y)} stimuli"
        )
    check_space(x)
    check_space(y)


def check_k(k: int, n: int) -> None:
    if n < SMALLEST:
        raise MetricError(f"neighbors need at least {SMALLEST} stimuli; got {n}")
    if not 1 <= k <= n - 1:
        raise MetricError(f"k must lie in 1 … {n - 1} for {n} stimuli; got {k}")


def clamp_outliers(
    layers: Sequence[Float[np.ndarray, "n _"]], *, q: float, clamp: Clamp = EXACT
) -> list[Float[np.ndarray, "n _"]]:
    """Clamp every value of a layer to ± its threshold, since a few huge dimensions otherwise decide
    all inner products.

    q: in (0, 1]; 1 clamps nothing. clamp: see `thresholds`. Raises MetricError as `threshold`.
    """
    if q == 1:
        return list(layers)
    bounds = thresholds(layers, q=q, clamp=clamp)
    return [np.clip(layer, -bound, bound) for layer, bound in zip(layers, bounds, strict=True)]


def thresholds(
    layers: Sequence[Float[np.ndarray, "n _"]], *, q: float, clamp: Clamp
) -> list[np.floating]:
    """Return where the values of each layer of a model are clamped.

    clamp: "exact", the `threshold` of all layers together; "average", their `average_threshold`;
    "layers", each layer's own `threshold` if their widths differ, else as "exact". Source: released
    code of Huh et al. 2024: its option exact for an array of layers (`Alignment.score` always sets
    it), its default for an array, and exact for a list; its default for a list is not here.
    """
    if clamp == "layers" and len({layer.shape[1] for layer in layers}) > 1:
        return [threshold([layer], q=q) for layer in layers]
    find = average_threshold if clamp == "average" else threshold
    return [find(layers, q=q)] * len(layers)


def threshold(layers: Sequence[Float[np.ndarray, "n _"]], *, q: float) -> np.floating:
    """Return the entry at index int(q · m) of the m sorted absolute values of all layers together
    (their widths may differ). Raises MetricError for q outside (0, 1] and for a threshold of 0:
    sparse features would be wiped out.
    """
    check_q(q)
    sizes = np.concatenate([layer.ravel() for layer in layers])
    np.abs(sizes, out=sizes)
    index = min(int(q * sizes.size), sizes.size - 1)
    sizes.partition(index)
    bound: np.floating = sizes[index]
    _check_bound(bound, sizes, q)
    return bound


def average_threshold(layers: Sequence[Float[np.ndarray, "n _"]], *, q: float) -> np.floating:
    """Return the mean over stimuli of the q quantile of a stimulus's absolute values in all layers,
    interpolated linearly. Raises MetricError as `threshold`.
    """
    check_q(q)
    sizes = np.abs(np.concatenate(layers, axis=1))
    quantiles = np.quantile(sizes, q, axis=1)
    bound: np.floating = sizes.dtype.type(quantiles.mean(dtype=np.float64))
    _check_bound(bound, sizes, q)
    return bound


def _check_bound(bound: np.floating, sizes: Float[np.ndarray, "*_"], q: float) -> None:
    if bound == 0 and sizes.any():
        raise MetricError(
            f"clamping at q = {q} would set every value to 0, since so many are 0 already"
        )


def check_q(q: float) -> None:
    if not 0 < q <= 1:
        raise MetricError(f"q, the share of values kept as they are, must lie in (0, 1]; got {q}")


def normalize_rows(space: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
    """Scale every stimulus's vector to length 1, so that inner products are cosines.

    Raises FeatureError for a vector of zeros: it has no direction, and an epsilon would invent one.
    """
    lengths = np.linalg.norm(space.astype(np.float64), axis=1, keepdims=True)
    if not lengths.all():
        row = int(np.flatnonzero(lengths == 0)[0])
        raise FeatureError(
            f"vectors with a direction expected; stimulus {row} has only zeros: leave this"
            " layer out"
        )
    unit: np.ndarray = (space / lengths).astype(space.dtype)
    return unit
