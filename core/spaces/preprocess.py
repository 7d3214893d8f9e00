"""Preprocessing of a model's layers, explicit and ordered: clamp outliers, then normalize rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from core.errors import FeatureError, MetricError


def clamp_outliers(
    layers: Sequence[Float[np.ndarray, "n _"]], *, q: float | None
) -> list[Float[np.ndarray, "n _"]]:
    """Clamp every value of a model to ± its `threshold`, since a few huge dimensions otherwise
    decide all inner products.

    q: in (0, 1]; None or 1 clamps nothing, and the layers come back as they are. Raises MetricError
    as `threshold` does.
    """
    if q is None or q == 1:
        return list(layers)
    bound = threshold(layers, q=q)
    return [np.clip(layer, -bound, bound) for layer in layers]


def threshold(layers: Sequence[Float[np.ndarray, "n _"]], *, q: float) -> np.floating:
    """Return the entry at index int(q · m) of the m sorted absolute values of all layers together
    (their widths may differ).

    q: in (0, 1]; of 1 the largest. Raises MetricError for all else, and for a threshold of 0:
    sparse features would be wiped out. Source: released code of Huh et al. 2024 (one threshold for
    a model's whole array, not one per layer).
    """
    check_q(q)
    sizes = np.concatenate([layer.ravel() for layer in layers])
    np.abs(sizes, out=sizes)
    index = min(int(q * sizes.size), sizes.size - 1)
    sizes.partition(index)
    if sizes[index] == 0 and sizes.any():
        raise MetricError(
            f"clamping at q = {q} would set every value to 0, since so many are 0 already; use"
            " q = 1"
        )
    bound: np.floating = sizes[index]
    return bound


def check_q(q: float | None) -> None:
    """Refuse a share of values outside (0, 1], NaN included."""
    if q is not None and not 0 < q <= 1:
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
