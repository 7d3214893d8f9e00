"""All layer pairs one by one, from what can be made ready of each layer alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Generic, TypeVar

import numpy as np
from jaxtyping import Float64, Integer

from core.errors import MetricError
from core.pairs.layers import Preprocess, Space, each_layer
from core.pairs.prepared import Prepared, Scores
from core.progress import tell_each
from core.spaces.bases import Basis, basis_of
from core.spaces.preprocess import normalize_rows

T = TypeVar("T")
F = TypeVar("F")

Order = Integer[np.ndarray, "n"]


@dataclass(frozen=True)
class Parts(Generic[T]):
    """What was made of each layer over so many stimuli; None for a layer that was refused."""

    layers: list[T | None]
    stimuli: int


def check_same_stimuli(x: Parts[T], y: Parts[T]) -> None:
    """Refuse models over other stimuli."""
    if x.stimuli != y.stimuli:
        raise MetricError(
            f"expected layers over the same stimuli; got {x.stimuli} and {y.stimuli} stimuli"
        )


def make_parts(
    part: Callable[[Space], T], layers: Sequence[Space], preprocess: Preprocess
) -> Prepared[Parts[T]]:
    """Preprocess each layer and make a part of it; raises as `each_layer`."""
    parts, refusals = each_layer(part, layers, preprocess)
    return Prepared(Parts(parts, len(layers[0])), refusals)


def reorder_parts(
    prepared: Prepared[Parts[T]], order: Order, reorder: Callable[[T, Order], T]
) -> Prepared[Parts[T]]:
    """Reorder the stimuli of every part."""
    parts = prepared.layers
    moved = [None if part is None else reorder(part, order) for part in parts.layers]
    return Prepared(Parts(moved, parts.stimuli), prepared.refusals)


def reorder_rows(part: np.ndarray, order: Order) -> np.ndarray:
    """Give stimulus i the row of stimulus order[i]."""
    reordered: np.ndarray = part[order]
    return reordered


def reorder_basis(basis: Basis, order: Order) -> Basis:
    """Reorder the stimuli of a basis; its loadings are over features and stay."""
    return basis._replace(directions=basis.directions[order])


def reorder_both(kernel: Any, order: Order) -> Any:
    """Reorder the rows and the columns of a matrix, sparse or not."""
    return kernel[order][:, order]


def compare_each(x: Parts[T], y: Parts[T], compare: Callable[[T, T], float]) -> Scores:
    """Compare every two parts; keep the reason where `compare` raises MetricError."""
    check_same_stimuli(x, y)
    values, refusals = np.full((len(x.layers), len(y.layers)), np.nan), {}
    every = list(product(enumerate(x.layers), enumerate(y.layers)))
    for (a, one), (b, other) in tell_each(every, "pairs of layers"):
        if one is not None and other is not None:
            try:
                values[a, b] = compare(one, other)
            except MetricError as error:
                refusals[a, b] = str(error)
    return Scores(values, refusals)


@dataclass(frozen=True)
class EachPair(Generic[T]):
    """Layers as whatever `part` makes of one, compared pair by pair; either may refuse."""

    part: Callable[[Space], T]
    compare: Callable[[T, T], float]
    reorder: Callable[[T, Order], T]

    @property
    def from_neighbors(self) -> None:
        return None

    def prepare(
        self, layers: Sequence[Space], *, preprocess: Preprocess = normalize_rows
    ) -> Prepared[Parts[T]]:
        return make_parts(self.part, layers, preprocess)

    def scores(self, x: Prepared[Parts[T]], y: Prepared[Parts[T]]) -> Scores:
        return compare_each(x.layers, y.layers, self.compare)

    def permuted(self, prepared: Prepared[Parts[T]], order: Order) -> Prepared[Parts[T]]:
        return reorder_parts(prepared, order, self.reorder)


@dataclass(frozen=True)
class Predictions(Generic[F]):
    """Layers as bases, each predicting the others: the mean of both directions.

    A layer is fitted once for all that it predicts, then forgotten: fits are large. fit: refuses a
    layer that nothing can be learned from. explained: how well a fit predicts another layer, given
    as its principal coordinates.
    """

    fit: Callable[[Basis], F]
    explained: Callable[[F, Float64[np.ndarray, "n _"]], float]

    @property
    def from_neighbors(self) -> None:
        return None

    def prepare(
        self, layers: Sequence[Space], *, preprocess: Preprocess = normalize_rows
    ) -> Prepared[Parts[Basis]]:
        return make_parts(basis_of, layers, preprocess)

    def scores(self, x: Prepared[Parts[Basis]], y: Prepared[Parts[Basis]]) -> Scores:
        check_same_stimuli(x.layers, y.layers)
        forth, why_x = self._each_explained(x.layers.layers, y.layers.layers)
        back, why_y = self._each_explained(y.layers.layers, x.layers.layers)
        refusals = {
            (a, b): why_x[a] or why_y[b]
            for a, b in product(range(len(why_x)), range(len(why_y)))
            if (why_x[a] or why_y[b]) and not (x.refusals[a] or y.refusals[b])
        }
        return Scores((forth + back.T) / 2, refusals)

    def _each_explained(
        self, bases: Sequence[Basis | None], others: Sequence[Basis | None]
    ) -> tuple[Float64[np.ndarray, "L others"], list[str]]:
        """Return R² of predicting each of the others from each basis, NaN where either is missing
        or nothing can be learned; and why nothing can be learned from a basis, else "".
        """
        values, reasons = np.full((len(bases), len(others)), np.nan), []
        for a, basis in tell_each(list(enumerate(bases)), "layers that predict others"):
            try:
                fit = None if basis is None else self.fit(basis)
                reasons.append("")
            except MetricError as error:
                fit = None
                reasons.append(str(error))
            for b, other in enumerate(others):
                if fit is not None and other is not None:
                    values[a, b] = self.explained(fit, other.scores)
        return values, reasons

    def permuted(self, prepared: Prepared[Parts[Basis]], order: Order) -> Prepared[Parts[Basis]]:
        return reorder_parts(prepared, order, reorder_basis)
