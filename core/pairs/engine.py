"""Engines compare all layers of two models: by kernels, row by row, or as sums over stimuli.

`PairRows` keeps the upper triangle of a symmetric kernel of length 1, entries off the diagonal
times √2, so that the inner product of two rows is that of the kernels. `streamed` engines need no
matrix of all pairs: memory is that of a chunk and of d² numbers per space and fold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from itertools import product
from typing import Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float, Float32, Float64, Int32, Integer

from core.errors import MetricError
from core.pairs.prepared import (
    Lists,
    Prepared,
    Preprocess,
    Scores,
    Space,
    check_same_stimuli,
    each_layer,
    stacked,
)
from core.progress import tell_each
from core.spaces.bases import Basis, basis_of
from core.spaces.preprocess import normalize_rows

P = TypeVar("P")
T = TypeVar("T")
F = TypeVar("F")
Order = Integer[np.ndarray, "n"]
Rows = Float32[np.ndarray, "_ _"]  # layers, pairs of stimuli
Blocks = tuple[
    Float64[np.ndarray, "dx dx"], Float64[np.ndarray, "dx dy"], Float64[np.ndarray, "dy dy"]
]

TILE = 4096  # pairs of stimuli that are multiplied at once
CHUNK = 4096  # stimuli that are multiplied at once
SQUARE = 2048  # stimuli whose pairs have their places kept


@runtime_checkable
class Engine(Protocol[P]):
    """One metric with its parameters, over all layer pairs of two models. P: layers as it holds
    them.
    """

    def prepare(
        self, layers: Sequence[Space], *, preprocess: Preprocess = normalize_rows
    ) -> Prepared[P]:
        """Preprocess each layer of a model and make it ready to be compared.

        layers: (n, d) each, clamped already; widths may differ. A layer that preprocessing or the
        metric refuses has no scores. Raises MetricError if every layer is refused, with the first
        reason.
        """

    def scores(self, x: Prepared[P], y: Prepared[P]) -> Scores:
        """Compare each layer of x with each layer of y. Threads and tiles change
        no more than the last bits of float64, and of counts nothing. Raises
        MetricError for other stimuli.
        """

    def permuted(self, prepared: Prepared[P], order: Order) -> Prepared[P]:
        """Give stimulus i all that order[i] has, as if rows had been reordered before `prepare`."""


@runtime_checkable
class ListEngine(Engine[P], Protocol[P]):
    """An engine to which the k nearest neighbors of each stimulus are all that counts."""

    @property
    def k(self) -> int: ...

    def take(self, lists: Prepared[Lists]) -> Prepared[P]:
        """Prepare lists of at least k neighbors that were found before, most similar first."""


@runtime_checkable
class PairEngine(Engine[P], Protocol[P]):
    """An engine on the CPU; it also defines the metric."""

    def score(self, x: Space, y: Space) -> float:
        """Compare two spaces as they are, in float64; raises MetricError."""


@dataclass(frozen=True)
class PairRows:
    """Layers as one value per pair of stimuli: those of i < j in order, then, if the metric needs
    them, those of i = j. of_matrix: the same from the dissimilarities of all stimuli, if they are
    all that the metric compares.
    """

    row: Callable[[Space], Float64[np.ndarray, " pairs"]]
    of_matrix: Callable[[Space], Float64[np.ndarray, " pairs"]] | None = None

    def score(self, x: Space, y: Space) -> float:
        return float(self.row(x) @ self.row(y))

    def prepare(
        self, layers: Sequence[Space], *, preprocess: Preprocess = normalize_rows
    ) -> Prepared[Rows]:
        def row(space: Space) -> Float32[np.ndarray, " pairs"]:
            return self.row(space).astype(np.float32)

        rows, refusals = each_layer(row, layers, preprocess)
        return Prepared(stacked(rows, missing=np.nan), refusals)

    def prepare_matrices(self, layers: Sequence[Space]) -> Prepared[Rows]:
        """Make dissimilarities ready, of a metric that has `of_matrix`."""
        assert self.of_matrix is not None
        rows, refusals = each_layer(self.of_matrix, layers, lambda matrix: matrix)
        stack = stacked(rows, missing=np.nan).astype(np.float32)
        return Prepared(stack, refusals)

    def scores(self, x: Prepared[Rows], y: Prepared[Rows]) -> Scores:
        """Multiply tile by tile in float64, where products of float32 values are exact."""
        pairs_x, pairs_y = x.layers.shape[1], y.layers.shape[1]
        if pairs_x != pairs_y:
            raise MetricError(
                f"expected rows over the same pairs of stimuli; got {pairs_x} and {pairs_y} pairs"
            )
        values = np.zeros((len(x.layers), len(y.layers)))
        for start in range(0, pairs_x, TILE):
            a, b = (side.layers[:, start : start + TILE].astype(np.float64) for side in (x, y))
            values += a @ b.T
        return Scores(values, {})

    def permuted(self, prepared: Prepared[Rows], order: Order) -> Prepared[Rows]:
        n = len(order)
        # for each pair i < j the place of the pair (order[i], order[j])
        if n <= SQUARE:
            square, above = _square(n)
            turned = np.take(np.take(square, order, axis=0), order, axis=1)
            places: np.ndarray = np.take(turned.ravel(), above)
        else:
            i, j = np.triu_indices(n, 1)
            low, high = (
                np.minimum(order[i], order[j]).astype(np.int64),
                np.maximum(order[i], order[j]),
            )
            places = low * (2 * n - low - 1) // 2 + high - low - 1
        if prepared.layers.shape[1] > len(places):  # the diagonal comes last
            places = np.concatenate([places, len(places) + order])
        return Prepared(np.take(prepared.layers, places, axis=1), prepared.refusals)


@lru_cache(maxsize=1)
def _square(n: int) -> tuple[Int32[np.ndarray, "n n"], Int32[np.ndarray, " pairs"]]:
    """Return the place in a row of every pair of n stimuli, and where i < j in the flat square."""
    above = np.flatnonzero(np.triu(np.ones((n, n), dtype=bool), 1)).astype(np.int32)
    square = np.zeros((n, n), dtype=np.int32)
    square.ravel()[above] = np.arange(len(above))
    return square + square.T, above


def triangle(
    kernel: Float64[np.ndarray, "n n"], *, diagonal: bool
) -> Float64[np.ndarray, " pairs"]:
    """Return a kernel's entries above the diagonal times √2, then its diagonal if requested."""
    above = kernel[np.triu_indices(len(kernel), 1)] * np.sqrt(2)
    return np.concatenate([above, np.diagonal(kernel)]) if diagonal else above


def reorder_rows(part: np.ndarray, order: Order) -> np.ndarray:
    reordered: np.ndarray = part[order]
    return reordered


def reorder_basis(basis: Basis, order: Order) -> Basis:
    return basis._replace(directions=basis.directions[order])


@dataclass(frozen=True)
class EachPair(Generic[T]):
    """Layers as what `part` makes of each, compared pair by pair; either may refuse."""

    part: Callable[[Space], T]
    compare: Callable[[T, T], float]
    reorder: Callable[[T, Order], T]

    def score(self, x: Space, y: Space) -> float:
        return self.compare(self.part(x), self.part(y))

    def prepare(
        self, layers: Sequence[Space], *, preprocess: Preprocess = normalize_rows
    ) -> Prepared[list[T | None]]:
        return Prepared(*each_layer(self.part, layers, preprocess), len(layers[0]))

    def scores(self, x: Prepared[list[T | None]], y: Prepared[list[T | None]]) -> Scores:
        """Keep the reason where `compare` raises MetricError."""
        check_same_stimuli(x.stimuli, y.stimuli)
        values, refusals = np.full((len(x.refusals), len(y.refusals)), np.nan), {}
        every = list(product(enumerate(x.layers), enumerate(y.layers)))
        for (a, one), (b, other) in tell_each(every, "pairs of layers"):
            if one is not None and other is not None:
                try:
                    values[a, b] = self.compare(one, other)
                except MetricError as error:
                    refusals[a, b] = str(error)
        return Scores(values, refusals)

    def permuted(
        self, prepared: Prepared[list[T | None]], order: Order
    ) -> Prepared[list[T | None]]:
        moved = [None if part is None else self.reorder(part, order) for part in prepared.layers]
        return replace(prepared, layers=moved)


Bases = list[Basis | None]


@dataclass(frozen=True, kw_only=True)
class Predictions(EachPair[Basis], Generic[F]):
    """Layers as bases, each predicting the others: `compare` is the mean of both directions.

    A layer is fitted once for all that it predicts, then forgotten: fits are large. fit: refuses a
    layer that nothing can be learned from. explained: how well a fit predicts another layer, given
    as its principal coordinates.
    """

    fit: Callable[[Basis], F]
    explained: Callable[[F, Float64[np.ndarray, "n _"]], float]

    def scores(self, x: Prepared[Bases], y: Prepared[Bases]) -> Scores:
        check_same_stimuli(x.stimuli, y.stimuli)
        forth, why_x = self._each_explained(x.layers, y.layers)
        back, why_y = self._each_explained(y.layers, x.layers)
        refusals = {
            (a, b): why_x[a] or why_y[b]
            for a, b in product(range(len(why_x)), range(len(why_y)))
            if (why_x[a] or why_y[b]) and not (x.refusals[a] or y.refusals[b])
        }
        return Scores((forth + back.T) / 2, refusals)

    def _each_explained(
        self, bases: Bases, others: Bases
    ) -> tuple[Float64[np.ndarray, "L others"], list[str]]:
        """Return R² of predicting each of the others from each basis, NaN if either is missing or
        nothing can be learned; and why nothing can be learned from a basis, else "".
        """
        values, reasons = np.full((len(bases), len(others)), np.nan), [""] * len(bases)
        for a, basis in tell_each(list(enumerate(bases)), "layers that predict others"):
            try:
                fit = None if basis is None else self.fit(basis)
            except MetricError as error:
                fit, reasons[a] = None, str(error)
            for b, other in enumerate(others):
                if fit is not None and other is not None:
                    values[a, b] = self.explained(fit, other.scores)
        return values, reasons


def predictions(
    fit: Callable[[Basis], F], explained: Callable[[F, Float64[np.ndarray, "n _"]], float]
) -> Predictions[F]:
    def both(a: Basis, b: Basis) -> float:
        return (explained(fit(a), b.scores) + explained(fit(b), a.scores)) / 2

    return Predictions(basis_of, both, reorder_basis, fit=fit, explained=explained)


class Moments(NamedTuple):
    """Some stimuli: how many, their mean, the summed products of features around it."""

    n: int
    mean: Float64[np.ndarray, "d"]
    products: Float64[np.ndarray, "d d"]

    def around(self, center: Float64[np.ndarray, "d"]) -> Float64[np.ndarray, "d d"]:
        apart = self.mean - center
        products: np.ndarray = self.products + self.n * np.outer(apart, apart)
        return products


class Streamed(NamedTuple):
    """A space with the moments of each fold, stimulus i in fold i mod the number of folds, and the
    squared distance of each stimulus from the mean of all.
    """

    space: Float[np.ndarray, "n d"]
    folds: tuple[Moments, ...]
    lengths: Float64[np.ndarray, "n"]

    @property
    def total(self) -> Moments:
        return reduce(merge, self.folds)


@dataclass(frozen=True)
class Sums:
    """Two spaces over the same stimuli as the moments of each fold in the joined features (x, y).

    width: of x; the rest are y's features. lengths: Σ kᵢᵢkᵢᵢ, Σ kᵢᵢlᵢᵢ and Σ lᵢᵢlᵢᵢ, with kᵢᵢ and
    lᵢᵢ the squared distances of stimulus i from the means of x and of y.
    """

    folds: tuple[Moments, ...]
    width: int
    lengths: tuple[float, float, float]

    @property
    def total(self) -> Moments:
        return reduce(merge, self.folds)

    @property
    def blocks(self) -> Blocks:
        """XᵀX, XᵀY and YᵀY over all stimuli, X and Y centered."""
        return blocks(self.total.products, self.width)


def stream(space: Float[np.ndarray, "n d"], *, folds: int = 1) -> Streamed:
    """Return a space with its moments, of at least one stimulus in each fold."""
    parts = []
    for fold in (space[start::folds] for start in range(folds)):
        mean = sum(chunk.sum(axis=0) for chunk in _chunks(fold)) / len(fold)
        parts.append(Moments(len(fold), mean, _products(fold, mean, fold, mean)))
    mean = reduce(merge, parts).mean
    lengths = [((chunk - mean) ** 2).sum(axis=1) for chunk in _chunks(space)]
    return Streamed(space, tuple(parts), np.concatenate(lengths))


def _chunks(space: Float[np.ndarray, "n d"]) -> Iterator[Float64[np.ndarray, "_ d"]]:
    for start in range(0, len(space), CHUNK):
        yield space[start : start + CHUNK].astype(np.float64)


def _products(
    x: Float[np.ndarray, "n dx"],
    mean_x: Float64[np.ndarray, "dx"],
    y: Float[np.ndarray, "n dy"],
    mean_y: Float64[np.ndarray, "dy"],
) -> Float64[np.ndarray, "dx dy"]:
    total = np.zeros((x.shape[1], y.shape[1]))
    for one, other in zip(_chunks(x), _chunks(y), strict=True):
        total += (one - mean_x).T @ (other - mean_y)
    return total


def join(x: Streamed, y: Streamed) -> Sums:
    check_same_stimuli(len(x.space), len(y.space))
    count, folds = len(x.folds), []
    for fold, (of_x, of_y) in enumerate(zip(x.folds, y.folds, strict=True)):
        crossed = _products(x.space[fold::count], of_x.mean, y.space[fold::count], of_y.mean)
        products = np.block([[of_x.products, crossed], [crossed.T, of_y.products]])
        folds.append(Moments(of_x.n, np.concatenate([of_x.mean, of_y.mean]), products))
    a, b = x.lengths, y.lengths
    return Sums(tuple(folds), x.space.shape[1], (float(a @ a), float(a @ b), float(b @ b)))


def streamed(
    score: Callable[[Sums], float], part: Callable[[Space], Streamed] = stream
) -> EachPair[Streamed]:
    """Return the engine of a metric that sums alone give. part: may refuse a space."""

    def reorder(part: Streamed, order: Order) -> Streamed:
        return stream(part.space[order], folds=len(part.folds))  # folds go by position

    return EachPair(part, lambda x, y: score(join(x, y)), reorder)


def merge(a: Moments, b: Moments) -> Moments:
    """Return the moments of two groups of stimuli together (Chan, Golub, LeVeque 1983)."""
    n, apart = a.n + b.n, b.mean - a.mean
    products = a.products + b.products + np.outer(apart, apart) * (a.n * b.n / n)
    return Moments(n, a.mean + apart * (b.n / n), products)


def blocks(products: Float64[np.ndarray, "d d"], width: int) -> Blocks:
    return products[:width, :width], products[:width, width:], products[width:, width:]


def noise(part: Streamed, axes: Float64[np.ndarray, "d m"]) -> Float64[np.ndarray, " m"]:
    """Return what rounding can leave of the products along each axis, as in `core.spaces.bases`."""
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


def stream_shape(space: Space) -> Streamed:
    """Return `stream` of a space of two directions or more; raises MetricError for others."""
    part = stream(space)
    check_rank(part)
    return part
