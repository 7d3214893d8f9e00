"""Two spaces of more stimuli than a kernel of all pairs allows: products of features alone.

    x, y = stream(space_x), stream(space_y)
    cka_of_sums(join(x, y))                             # each metric says what it makes of sums

Memory is that of a chunk and of d² numbers per space and fold, whatever the number of stimuli. A
chunk's size changes results by rounding alone. Neighbors need no such care: `core.spaces.neighbors`
works in blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float64

from core.errors import MetricError
from core.pairs.layers import Space
from core.pairs.parts import EachPair, Order

CHUNK = 4096  # stimuli that are multiplied at once

Blocks = tuple[
    Float64[np.ndarray, "dx dx"], Float64[np.ndarray, "dx dy"], Float64[np.ndarray, "dy dy"]
]


class Moments(NamedTuple):
    """Some stimuli in some features: how many, their mean, and the summed products of features
    around the mean.
    """

    n: int
    mean: Float64[np.ndarray, "d"]
    products: Float64[np.ndarray, "d d"]

    def around(self, center: Float64[np.ndarray, "d"]) -> Float64[np.ndarray, "d d"]:
        """Return the summed products around another center."""
        products: np.ndarray = self.products + self.n * np.outer(
            self.mean - center, self.mean - center
        )
        return products


class Streamed(NamedTuple):
    """A space with the moments of each fold, stimulus i in fold i mod the number of folds.

    lengths: squared distance of each stimulus from the mean of all.
    """

    space: Float[np.ndarray, "n d"]
    folds: tuple[Moments, ...]
    lengths: Float64[np.ndarray, "n"]

    @property
    def total(self) -> Moments:
        """The moments of all stimuli."""
        return reduce(merge, self.folds)


@dataclass(frozen=True)
class Sums:
    """Two spaces over the same stimuli as the moments of each fold in the joined features (x, y).

    width: of x; what is left are y's features. lengths: Σ kᵢᵢkᵢᵢ, Σ kᵢᵢlᵢᵢ and Σ lᵢᵢlᵢᵢ, with kᵢᵢ
    and lᵢᵢ the squared distances of stimulus i from the means of x and of y.
    """

    folds: tuple[Moments, ...]
    width: int
    lengths: tuple[float, float, float]

    @property
    def total(self) -> Moments:
        """The moments of all stimuli."""
        return reduce(merge, self.folds)

    @property
    def blocks(self) -> Blocks:
        """XᵀX, XᵀY and YᵀY over all stimuli, X and Y centered."""
        return blocks(self.total.products, self.width)


def streamed(score: Callable[[Sums], float], *, folds: int = 1) -> EachPair[Streamed]:
    """Return the engine of a metric that sums alone give, over spaces of any rank."""
    return streamed_from(lambda space: stream(space, folds=folds), score)


def streamed_from(
    part: Callable[[Space], Streamed], score: Callable[[Sums], float]
) -> EachPair[Streamed]:
    """Return the engine of a metric that sums alone give. part: may refuse a space."""
    return EachPair(part, lambda x, y: score(join(x, y)), _reorder)


def stream(space: Float[np.ndarray, "n d"], *, folds: int = 1) -> Streamed:
    """Return a space with its moments, of at least one stimulus in each fold."""
    parts = tuple(_moments(space[fold::folds]) for fold in range(folds))
    mean = reduce(merge, parts).mean
    lengths = [((chunk - mean) ** 2).sum(axis=1) for chunk in _chunks(space)]
    return Streamed(space, parts, np.concatenate(lengths))


def _reorder(part: Streamed, order: Order) -> Streamed:
    return stream(part.space[order], folds=len(part.folds))  # folds go by position


def _chunks(space: Float[np.ndarray, "n d"]) -> Iterator[Float64[np.ndarray, "_ d"]]:
    for start in range(0, len(space), CHUNK):
        yield space[start : start + CHUNK].astype(np.float64)


def _moments(space: Float[np.ndarray, "n d"]) -> Moments:
    mean = sum(chunk.sum(axis=0) for chunk in _chunks(space)) / len(space)
    return Moments(len(space), mean, _products(space, mean, space, mean))


def _products(
    x: Float[np.ndarray, "n dx"],
    mean_x: Float64[np.ndarray, "dx"],
    y: Float[np.ndarray, "n dy"],
    mean_y: Float64[np.ndarray, "dy"],
) -> Float64[np.ndarray, "dx dy"]:
    """Sum the products of two spaces' features, each around a center of its own."""
    total = np.zeros((x.shape[1], y.shape[1]))
    for one, other in zip(_chunks(x), _chunks(y), strict=True):
        total += (one - mean_x).T @ (other - mean_y)
    return total


def join(x: Streamed, y: Streamed) -> Sums:
    """Return the sums of two spaces; raises MetricError for other stimuli."""
    if len(x.space) != len(y.space):
        n, m = len(x.space), len(y.space)
        raise MetricError(f"expected layers over the same stimuli; got {n} and {m} stimuli")
    count = len(x.folds)
    folds = [
        _joined(x.space[fold::count], x.folds[fold], y.space[fold::count], y.folds[fold])
        for fold in range(count)
    ]
    a, b = x.lengths, y.lengths
    return Sums(tuple(folds), x.space.shape[1], (float(a @ a), float(a @ b), float(b @ b)))


def _joined(
    x: Float[np.ndarray, "m dx"], of_x: Moments, y: Float[np.ndarray, "m dy"], of_y: Moments
) -> Moments:
    crossed = _products(x, of_x.mean, y, of_y.mean)
    products = np.block([[of_x.products, crossed], [crossed.T, of_y.products]])
    return Moments(of_x.n, np.concatenate([of_x.mean, of_y.mean]), products)


def merge(a: Moments, b: Moments) -> Moments:
    """Return the moments of two groups of stimuli together (Chan, Golub, LeVeque 1983), which loses
    no digits to large means.
    """
    n, apart = a.n + b.n, b.mean - a.mean
    products = a.products + b.products + np.outer(apart, apart) * (a.n * b.n / n)
    return Moments(n, a.mean + apart * (b.n / n), products)


def blocks(products: Float64[np.ndarray, "d d"], width: int) -> Blocks:
    """Cut summed products of the joined features (x, y) into those of x, of both, of y."""
    return products[:width, :width], products[:width, width:], products[width:, width:]


def noise(part: Streamed, axes: Float64[np.ndarray, "d m"]) -> Float64[np.ndarray, " m"]:
    """Return what rounding alone can leave of the products along each axis, by the rule of
    `core.spaces.bases`.
    """
    total, eps = part.total, float(np.finfo(np.float64).eps)
    lengths = np.sqrt(np.diagonal(total.products) + total.n * total.mean**2)
    rounding = float(np.finfo(part.space.dtype).eps) * (np.abs(axes).T @ lengths)
    # what squaring in float64 cannot distinguish from 0
    own = len(total.products) * eps * np.trace(total.products)
    left: np.ndarray = np.maximum(rounding**2, own)
    return left


def check_rank(part: Streamed) -> None:
    """Refuse a space of which rounding leaves fewer than two directions."""
    total = part.total
    squares, axes = np.linalg.eigh(total.products)
    if np.count_nonzero(squares > noise(part, axes)) < 2:
        raise MetricError(
            f"a space of rank 2 or more expected; these {total.n} stimuli lie on one line: choose"
            " another layer"
        )
