"""How well a linear map predicts one space from another on held-out stimuli.

Stimulus i is in fold i mod `folds`. Each fold is predicted by ridge regression fitted to the
others; the penalty is chosen among `STRENGTHS` inside those others, each of them held out in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float64, Int64

from core.errors import MetricError
from core.metrics.spec import SPECS, Metric
from core.pairs.engine import (
    Moments,
    Streamed,
    Sums,
    blocks,
    check_rank,
    merge,
    noise,
    predictions,
    stream,
    streamed,
)
from core.spaces.bases import Basis

# of the penalty, in units of the fitted features' summed variance
STRENGTHS = 10.0 ** np.arange(-6, 2)


class Part(NamedTuple):
    """A space fitted without some folds: all stimuli along the fitted ones' principal axes, and the
    summed squares of each axis.
    """

    fitted: Bool[np.ndarray, "n"]
    scores: Float64[np.ndarray, "n r"]
    squares: Float64[np.ndarray, "r"]


Parts = dict[frozenset[int], Part]


def assign_folds(n: int, *, folds: int) -> Int64[np.ndarray, "n"]:
    """Return each stimulus's fold, so that a sorted dataset is spread over all."""
    if folds < 3:
        raise MetricError(
            "at least 3 folds expected: one to predict, one to choose the penalty by, one to fit;"
            f" got {folds}"
        )
    if n < 2 * folds:
        raise MetricError(
            f"{folds} folds need at least {2 * folds} stimuli; got {n}: use fewer folds"
        )
    return np.arange(n) % folds


def fit_parts(space: Basis, *, folds: int) -> Parts:
    fold = assign_folds(len(space.directions), folds=folds)
    return {
        frozenset(out): _part(space, ~np.isin(fold, out))
        for out in combinations_with_replacement(range(folds), 2)
    }


def _part(space: Basis, fitted: Bool[np.ndarray, "n"]) -> Part:
    values = space.scores - space.scores[fitted].mean(axis=0)
    squares, axes = np.linalg.eigh(values[fitted].T @ values[fitted])
    _check_varies(float(squares[-1]), float(np.abs(axes[:, -1]) @ space.noise) ** 2)
    return Part(fitted, values @ axes, squares)


def _check_varies(largest: float, least: float) -> None:
    if largest <= least:
        raise MetricError(
            "a space that varies in every part of the stimuli expected; here few stand out from all"
            " others, so a fold without them has nothing to learn from: choose another layer"
        )


def _errors(
    part: Part, truth: Float64[np.ndarray, "n d"], held_out: Bool[np.ndarray, "n"]
) -> Float64[np.ndarray, "strengths"]:
    off = truth - truth[part.fitted].mean(axis=0)
    products = part.scores[part.fitted].T @ off[part.fitted]
    penalties = STRENGTHS * part.squares.sum()
    predicted = (
        (part.scores[held_out] / (part.squares + penalty)) @ products for penalty in penalties
    )
    return np.array([((off[held_out] - guess) ** 2).sum() for guess in predicted])


def explained(parts: Parts, truth: Float64[np.ndarray, "n d"], *, folds: int) -> float:
    """Return R² of predicting one space from another's parts: 1 − Σ ‖y − ŷ‖² / Σ ‖y − ȳ‖², over
    every stimulus when held out, with ȳ the mean of the stimuli fitted.
    """
    fold = assign_folds(len(truth), folds=folds)
    missed = total = 0.0
    for held_out in range(folds):
        others = [other for other in range(folds) if other != held_out]
        inner = (parts[frozenset({held_out, other})] for other in others)
        errors = [
            _errors(one, truth, fold == other) for one, other in zip(inner, others, strict=True)
        ]
        chosen = np.argmin(sum(errors))
        missed += _errors(parts[frozenset({held_out})], truth, fold == held_out)[chosen]
        total += ((truth[fold == held_out] - truth[fold != held_out].mean(axis=0)) ** 2).sum()
    return float(1 - missed / total)


def stream_folds(space: Float[np.ndarray, "n d"], *, folds: int) -> Streamed:
    """Return a space with the moments of its folds; refuses what `fit_parts` refuses."""
    assign_folds(len(space), folds=folds)
    part = stream(space, folds=folds)
    check_rank(part)
    for out in combinations_with_replacement(range(folds), 2):
        fitted = reduce(merge, [part.folds[fold] for fold in range(folds) if fold not in out])
        squares, axes = np.linalg.eigh(fitted.products)
        _check_varies(float(squares[-1]), float(noise(part, axes[:, -1:])[0]))
    return part


def predictivity_of_sums(sums: Sums) -> float:
    """Return the mean R² of predicting y from x and x from y by cross-validated ridge regression,
    of sums of three folds or more.
    """
    swapped = np.r_[sums.width : len(sums.total.mean), : sums.width]
    turned = [
        Moments(fold.n, fold.mean[swapped], fold.products[np.ix_(swapped, swapped)])
        for fold in sums.folds
    ]
    forth = _explained_by_sums(sums.folds, sums.width)
    return (forth + _explained_by_sums(turned, len(swapped) - sums.width)) / 2


def _explained_by_sums(folds: Sequence[Moments], width: int) -> float:
    missed = total = 0.0
    for held_out in folds:
        others = [fold for fold in folds if fold is not held_out]
        by_choice = []
        for validation in others:
            fitted = reduce(merge, [fold for fold in others if fold is not validation])
            by_choice.append(_errors_of_sums(fitted, validation, width)[0])
        chosen = np.argmin(sum(by_choice))
        errors, spread = _errors_of_sums(reduce(merge, others), held_out, width)
        missed, total = missed + errors[chosen], total + spread
    return float(1 - missed / total)


def _errors_of_sums(
    fitted: Moments, held_out: Moments, width: int
) -> tuple[Float64[np.ndarray, "strengths"], float]:
    """Return the squared error on held-out stimuli for each penalty, and that of the mean."""
    xx, xy, _ = blocks(fitted.products, width)
    squares, axes = np.linalg.eigh(xx)
    seen, crossed, spread = blocks(held_out.around(fitted.mean), width)
    along, targets, turned = axes.T @ xy, axes.T @ crossed, axes.T @ seen @ axes
    maps = (along / (squares + strength * squares.sum())[:, None] for strength in STRENGTHS)
    scale = float(np.trace(spread))
    gained = [2 * (each * targets).sum() - (each * (turned @ each)).sum() for each in maps]
    return scale - np.array(gained), scale


LINEAR_PREDICTIVITY = Metric(
    SPECS["linear_predictivity"],
    engine=lambda *, folds: predictions(
        partial(fit_parts, folds=folds), partial(explained, folds=folds)
    ),
    streamed=lambda *, folds: streamed(predictivity_of_sums, partial(stream_folds, folds=folds)),
    version=2,
)
