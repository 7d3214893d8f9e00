"""Two spaces of more stimuli than a kernel of all pairs allows: one pass over chunks of both, then
products of features alone.

    sums = add_up(((x.chunk, y.chunk) …), folds=5)
    cka_of_sums(sums)                                   # each metric says what it makes of sums

Memory is that of a chunk and of (dx + dy)² numbers per fold, whatever the number of stimuli. Chunks
are clamped and normalized by the caller; their size changes results by rounding alone. Neighbors
need no such care: `core.spaces.neighbors` works in blocks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float64

from core.errors import MetricError
from core.spaces.inputs import SMALLEST

Blocks = tuple[
    Float64[np.ndarray, "dx dx"], Float64[np.ndarray, "dx dy"], Float64[np.ndarray, "dy dy"]
]


class Moments(NamedTuple):
    """Some stimuli in the joined features (x, y): how many, their mean, and the summed products of
    features around the mean.
    """

    n: int
    mean: Float64[np.ndarray, "d"]
    products: Float64[np.ndarray, "d d"]

    def around(self, center: Float64[np.ndarray, "d"]) -> Float64[np.ndarray, "d d"]:
        """Return the summed products around another center."""
        return self.products + self.n * np.outer(self.mean - center, self.mean - center)


@dataclass(frozen=True)
class Sums:
    """Two spaces over the same stimuli as moments of each fold, stimulus i in fold i mod the number
    of folds.

    width: of x; what is left are y's features. precision: the relative precision of the features.
    """

    folds: tuple[Moments, ...]
    width: int
    precision: float

    @property
    def total(self) -> Moments:
        """The moments of all stimuli."""
        return reduce(merge, self.folds)

    @property
    def blocks(self) -> Blocks:
        """XᵀX, XᵀY and YᵀY over all stimuli, X and Y centered."""
        return blocks(self.total.products, self.width)


def blocks(products: Float64[np.ndarray, "d d"], width: int) -> Blocks:
    """Cut summed products of the joined features (x, y) into those of x, of both, of y."""
    return products[:width, :width], products[:width, width:], products[width:, width:]


def add_up(
    chunks: Iterable[tuple[Float[np.ndarray, "_ dx"], Float[np.ndarray, "_ dy"]]], *, folds: int = 1
) -> Sums:
    """Add up the moments of two spaces over the same stimuli, given in order in chunks of any size.

    folds: 1 for CKA and Procrustes; 3 or more for predictivity. Raises MetricError for chunks over
    other stimuli, NaN, infinity, fewer than three stimuli, and a space of rank below two.
    """
    parts: list[Moments] = []
    start = width = 0
    precision = float(np.finfo(np.float64).eps)
    for x, y in chunks:
        joined, width = _joined(x, y, start), x.shape[1]
        precision = max(precision, *(float(np.finfo(each.dtype).eps) for each in (x, y)))
        mine = [_moments(joined[(fold - start) % folds :: folds]) for fold in range(folds)]
        parts = [merge(*both) for both in zip(parts, mine, strict=True)] if parts else mine
        start += len(joined)
    if start < SMALLEST:
        raise MetricError(f"at least {SMALLEST} stimuli expected; the chunks hold {start}")
    sums = Sums(tuple(parts), width, precision)
    _check_rank(sums, "x", slice(None, width))
    _check_rank(sums, "y", slice(width, None))
    return sums


def _joined(
    x: Float[np.ndarray, "m dx"], y: Float[np.ndarray, "my dy"], start: int
) -> Float64[np.ndarray, "m d"]:
    if len(x) != len(y):
        raise MetricError(
            f"chunks over the same stimuli expected; given {len(x)} and {len(y)} from stimulus"
            f" {start} on"
        )
    joined = np.concatenate([x, y], axis=1, dtype=np.float64)
    if not np.isfinite(joined).all():
        row = start + int(np.flatnonzero(~np.isfinite(joined).all(axis=1))[0])
        raise MetricError(
            f"a space must be finite; stimulus {row} has NaN or infinity: embed or import it again"
        )
    return joined


def _moments(stimuli: Float64[np.ndarray, "m d"]) -> Moments:
    mean = stimuli.sum(axis=0) / max(1, len(stimuli))  # a chunk may hold no stimulus of a fold
    around = stimuli - mean
    return Moments(len(stimuli), mean, around.T @ around)


def merge(a: Moments, b: Moments) -> Moments:
    """Return the moments of two groups of stimuli together (Chan, Golub, LeVeque 1983), which loses
    no digits to large means.
    """
    n = a.n + b.n
    mean = a.mean + (b.mean - a.mean) * (b.n / max(1, n))
    apart = b.mean - a.mean
    return Moments(
        n, mean, a.products + b.products + np.outer(apart, apart) * (a.n * b.n / max(1, n))
    )


def _check_rank(sums: Sums, name: str, features: slice) -> None:
    """Refuse a space of which rounding leaves fewer than two directions, by the rule of
    `core.spaces.bases`.
    """
    total = sums.total
    products = total.products[features, features]
    lengths = np.diagonal(products) + total.n * total.mean[features] ** 2
    noise = sums.precision**2 * lengths.sum()
    own = (
        len(products) * np.finfo(np.float64).eps * np.trace(products)
    )  # what squaring in float64 cannot tell from 0
    if np.count_nonzero(np.linalg.eigvalsh(products) > max(noise, own)) < 2:
        raise MetricError(
            f"a space of rank 2 or more expected; the stimuli of {name} lie on one line: choose"
            " another layer"
        )
