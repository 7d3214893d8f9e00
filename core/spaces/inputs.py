"""What every metric demands of the spaces it is given: nothing degenerate passes, so that no
plausible number comes of it.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from core.errors import MetricError

SMALLEST = (
    3  # with two stimuli each is the other's only neighbor and every centered kernel has rank one
)
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
    """Refuse two spaces that are not over the same stimuli, and either one that is degenerate."""
    if len(x) != len(y):
        raise MetricError(
            f"expected two spaces over the same stimuli; got {len(x)} and {len(y)} stimuli"
        )
    check_space(x)
    check_space(y)


def check_k(k: int, n: int) -> None:
    """Refuse fewer than three stimuli and a number of neighbors outside 1 … n − 1."""
    if n < SMALLEST:
        raise MetricError(f"neighbors need at least {SMALLEST} stimuli; got {n}")
    if not 1 <= k <= n - 1:
        raise MetricError(f"k must lie in 1 … {n - 1} for {n} stimuli; got {k}")
