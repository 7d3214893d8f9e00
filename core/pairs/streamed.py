"""Two spaces of more stimuli than a kernel of all pairs allows: one pass over chunks of both, then
products of features alone.

    sums = add_up(((x.chunk, y.chunk) …), folds=5)
    cka(sums), procrustes(sums), linear_predictivity(sums)

Memory is that of a chunk and of (dx + dy)² numbers per fold, whatever the number of stimuli. Chunks
are clamped and normalized by the caller; their size changes results by rounding alone. Neighbors
need no such care: `core.spaces.neighbors` works in blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float64

from core.errors import MetricError
from core.metrics.predictivity import STRENGTHS
from core.spaces.inputs import SMALLEST


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
        return reduce(merge, self.folds)


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


def cka(sums: Sums) -> float:
    """Return linear CKA from products of features: ‖XᵀY‖² / (‖XᵀX‖ ‖YᵀY‖), X and Y centered,
    Frobenius norms.

    Range [0, 1], higher is more aligned. Source: Kornblith et al. 2019, equation 4.
    """
    xx, xy, yy = _blocks(sums.total.products, sums.width)
    return float(
        (np.linalg.norm(xy) / np.linalg.norm(xx)) * (np.linalg.norm(xy) / np.linalg.norm(yy))
    )


def procrustes(sums: Sums) -> float:
    """Return the orthogonal Procrustes similarity: ‖XᵀY‖⁎ / (‖X‖ ‖Y‖), X and Y centered.

    Range [0, 1], higher is more aligned. Source: Schönemann 1966; Ding, Denain, Steinhardt 2021.
    """
    xx, xy, yy = _blocks(sums.total.products, sums.width)
    overlap = np.linalg.svd(xy, compute_uv=False).sum() / (
        np.sqrt(np.trace(xx)) * np.sqrt(np.trace(yy))
    )
    return min(1.0, float(overlap))  # rounding alone lifts a cosine above 1


def linear_predictivity(sums: Sums) -> float:
    """Return the mean R² of predicting y from x and x from y by cross-validated ridge regression.

    Folds and penalties are those of `core.metrics.predictivity`. Range (−∞, 1], higher is more
    aligned. Raises MetricError for fewer than three folds or two stimuli in a fold.
    """
    folds = len(sums.folds)
    if folds < 3:
        raise MetricError(
            "at least 3 folds expected: one to predict, one to choose the penalty by, one to fit;"
            f" given {folds}"
        )
    if sums.total.n < 2 * folds:
        raise MetricError(
            f"{folds} folds need at least {2 * folds} stimuli; given {sums.total.n}: use fewer"
            " folds"
        )
    swapped = np.r_[sums.width : len(sums.total.mean), : sums.width]
    turned = [
        Moments(fold.n, fold.mean[swapped], fold.products[np.ix_(swapped, swapped)])
        for fold in sums.folds
    ]
    return (_explained(sums.folds, sums.width) + _explained(turned, len(swapped) - sums.width)) / 2


def _explained(folds: Sequence[Moments], width: int) -> float:
    """Return R² of predicting the features from `width` on by those before, over every stimulus
    when held out.
    """
    missed = total = 0.0
    for held_out in folds:
        others = [fold for fold in folds if fold is not held_out]
        inner = [
            (reduce(merge, [fold for fold in others if fold is not validation]), validation)
            for validation in others
        ]
        chosen = np.argmin(
            sum(_errors(fitted, validation, width)[0] for fitted, validation in inner)
        )
        errors, spread = _errors(reduce(merge, others), held_out, width)
        missed, total = missed + errors[chosen], total + spread
    return float(1 - missed / total)


def _errors(
    fitted: Moments, held_out: Moments, width: int
) -> tuple[Float64[np.ndarray, "strengths"], float]:
    """Return the summed squared error on held-out stimuli for each strength of the penalty, and
    that of predicting the mean.
    """
    xx, xy, _ = _blocks(fitted.products, width)
    squares, axes = np.linalg.eigh(xx)
    seen, crossed, spread = _blocks(held_out.around(fitted.mean), width)
    along, targets, turned = axes.T @ xy, axes.T @ crossed, axes.T @ seen @ axes
    maps = (along / (squares + strength * squares.sum())[:, None] for strength in STRENGTHS)
    scale = np.trace(spread)
    return np.array(
        [scale - 2 * (each * targets).sum() + (each * (turned @ each)).sum() for each in maps]
    ), float(scale)


def _blocks(
    products: Float64[np.ndarray, "d d"], width: int
) -> tuple[
    Float64[np.ndarray, "dx dx"], Float64[np.ndarray, "dx dy"], Float64[np.ndarray, "dy dy"]
]:
    return products[:width, :width], products[:width, width:], products[width:, width:]
