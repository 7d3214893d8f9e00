"""What engines take and give: layers made ready, and the scores of two models' layers. What was
refused is there too, with its reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from jaxtyping import Float64, Int32

P = TypeVar("P")

Lists = Int32[np.ndarray, "_ _ _"]  # layers, stimuli, neighbors
Place = tuple[int, int]  # a layer of x and a layer of y, counted from 0


@dataclass(frozen=True)
class Prepared(Generic[P]):
    """The layers of a model, ready to be compared.

    layers: as the engine holds them. refusals: why each layer cannot be compared, "" where it can.
    """

    layers: P
    refusals: tuple[str, ...]


@dataclass(frozen=True)
class Scores:
    """Every layer of x with every layer of y.

    values: NaN for a refused pair. refusals: why two layers cannot be compared together although
    each was sound alone.
    """

    values: Float64[np.ndarray, "Lx Ly"]
    refusals: Mapping[Place, str]

    @property
    def flipped(self) -> Scores:
        """Return the scores with x and y exchanged."""
        return Scores(self.values.T, {(a, b): why for (b, a), why in self.refusals.items()})


def mean_of_both(forth: Scores, back: Scores) -> Scores:
    """Return the mean of the scores of both directions; a pair that either refuses has none.

    back: flipped already, so that x stands for x.
    """
    return Scores((forth.values + back.values) / 2, {**back.refusals, **forth.refusals})


def split_rows(scores: Scores, ends: Sequence[int]) -> list[Scores]:
    """Cut the scores of several models' layers, stacked as x, into those of each model.

    ends: where each model but the last ends. Only single layers may have been refused.
    """
    return [Scores(values, {}) for values in np.split(scores.values, ends)]
