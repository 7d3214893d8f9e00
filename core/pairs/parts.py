"""All layer pairs one by one, from what can be made ready of each layer alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64, Integer

from core.errors import MetricError
from core.pairs.layers import Preprocess, Space, each_layer
from core.spaces.bases import Basis, basis_of
from core.spaces.preprocess import normalize_rows


@dataclass(frozen=True)
class Parts:
    """What was made of each layer over so many stimuli; None for a layer that was refused."""

    layers: list[Any]
    stimuli: int


def check_same_stimuli(x: Parts, y: Parts) -> None:
    """Refuse models over other stimuli."""
    if x.stimuli != y.stimuli:
        raise MetricError(
            f"layers over the same stimuli expected; given {x.stimuli} and {y.stimuli} stimuli"
        )


def reorder_rows(part: np.ndarray, order: Integer[np.ndarray, "n"]) -> np.ndarray:
    """Give stimulus i the row of stimulus order[i]."""
    return part[order]


def reorder_basis(basis: Basis, order: Integer[np.ndarray, "n"]) -> Basis:
    """Reorder the stimuli of a basis; its loadings are over features and stay."""
    return basis._replace(directions=basis.directions[order])


def reorder_both(kernel: Any, order: Integer[np.ndarray, "n"]) -> Any:
    """Reorder the rows and the columns of a matrix, sparse or not."""
    return kernel[order][:, order]


def first_refusal(
    compare: Callable[[Any, Any], Any], x: Parts, y: Parts, scores: Float64[np.ndarray, "Lx Ly"]
) -> str:
    """Return why the first two sound layers without a score are refused; empty where all sound
    layers have one.
    """
    for a, b in np.argwhere(np.isnan(scores)):
        if x.layers[a] is not None and y.layers[b] is not None:
            try:
                compare(x.layers[a], y.layers[b])
            except MetricError as error:
                return f"layers {a} and {b}: {error}"
    return ""


@dataclass(frozen=True)
class EachPair:
    """Layers as whatever `part` makes of one, None where it refuses; a pair that `compare` refuses
    has the score NaN.
    """

    part: Callable[[Space], Any]
    compare: Callable[[Any, Any], float]
    reorder: Callable[[Any, np.ndarray], Any]

    def prepare(self, layers: Sequence[Space], *, preprocess: Preprocess = normalize_rows) -> Parts:
        return Parts(each_layer(self.part, layers, preprocess), len(layers[0]))

    def scores(self, x: Parts, y: Parts) -> Float64[np.ndarray, "Lx Ly"]:
        check_same_stimuli(x, y)
        return np.array([[self._score(a, b) for b in y.layers] for a in x.layers])

    def refusal(self, x: Parts, y: Parts, scores: Float64[np.ndarray, "Lx Ly"]) -> str:
        """Return why the first two sound layers without a score are refused, given the scores;
        empty where there are none.
        """
        return first_refusal(self.compare, x, y, scores)

    def _score(self, a: Any, b: Any) -> float:
        if a is None or b is None:
            return np.nan
        try:
            return self.compare(a, b)
        except MetricError:
            return np.nan

    def permuted(self, prepared: Parts, order: Integer[np.ndarray, "n"]) -> Parts:
        return Parts(
            [None if part is None else self.reorder(part, order) for part in prepared.layers],
            prepared.stimuli,
        )


@dataclass(frozen=True)
class Predictions:
    """Layers as bases, each predicting the others: the mean of both directions.

    A layer is fitted once for all that it predicts, then forgotten: fits are large. fit: refuses a
    layer that nothing can be learned from. explained: how well a fit predicts another layer, given
    as its principal coordinates.
    """

    fit: Callable[[Basis], Any]
    explained: Callable[[Any, Float64[np.ndarray, "n _"]], float]

    def prepare(self, layers: Sequence[Space], *, preprocess: Preprocess = normalize_rows) -> Parts:
        return Parts(each_layer(basis_of, layers, preprocess), len(layers[0]))

    def scores(self, x: Parts, y: Parts) -> Float64[np.ndarray, "Lx Ly"]:
        check_same_stimuli(x, y)
        forth = np.stack([self._explained(basis, y.layers) for basis in x.layers])
        back = np.stack([self._explained(basis, x.layers) for basis in y.layers])
        return (forth + back.T) / 2

    def refusal(self, x: Parts, y: Parts, scores: Float64[np.ndarray, "Lx Ly"]) -> str:
        """Return why the first two sound layers without a score are refused, given the scores;
        empty where there are none.
        """
        return first_refusal(lambda *pair: [self.fit(basis) for basis in pair], x, y, scores)

    def _explained(
        self, basis: Basis | None, others: Sequence[Basis | None]
    ) -> Float64[np.ndarray, "L"]:
        """Return R² of predicting each of the other layers from one; NaN where either is
        degenerate.
        """
        found = np.full(len(others), np.nan)
        with suppress(MetricError):
            fits = basis and self.fit(basis)
            for b, other in enumerate(others):
                if fits and other:
                    found[b] = self.explained(fits, other.scores)
        return found

    def permuted(self, prepared: Parts, order: Integer[np.ndarray, "n"]) -> Parts:
        return Parts(
            [basis and reorder_basis(basis, order) for basis in prepared.layers], prepared.stimuli
        )
