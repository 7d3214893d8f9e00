"""Preprocessing of a model's layers, explicit and ordered: clamp outliers, then normalize rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from core.errors import FeatureError, MetricError
from core.spaces.choices import EXACT, Clamp


def clamp_outliers(
    layers: Sequence[Float[np.ndarray, "n _"]], *, q: float, clamp: Clamp = EXACT
) -> list[Float[np.ndarray, "n _"]]:
    """Clamp every value of a layer to ± its threshold, since a few huge dimensions otherwise decide
    all inner products.

    q: in (0, 1]; 1 clamps nothing, and the layers come back as they are. clamp: see
    `thresholds`. Raises MetricError as `threshold` does.
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
    "layers", each layer's own `threshold` where their widths differ, else as "exact". Source:
    released code of Huh et al. 2024: the first is its option exact for an array of layers, the
    second what it does without for an array, the third its option exact for an array or a list,
    which only layers of several widths need; what it does without for a list, each layer's own
    average, is not here. Its `Alignment.score` always sets exact. Raises MetricError as `threshold`
    does.
    """
    if clamp == "layers" and len({layer.shape[1] for layer in layers}) > 1:
        return [threshold([layer], q=q) for layer in layers]
    find = average_threshold if clamp == "average" else threshold
    return [find(layers, q=q)] * len(layers)


def threshold(layers: Sequence[Float[np.ndarray, "n _"]], *, q: float) -> np.floating:
    """Return the entry at index int(q · m) of the m sorted absolute values of all layers together
    (their widths may differ).

    q: in (0, 1]; of 1 the largest. Raises MetricError for all else, and for a threshold of 0:
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
    interpolated linearly.

    Raises MetricError as `threshold` does.
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
    """Refuse a share of values outside (0, 1], NaN included."""
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
