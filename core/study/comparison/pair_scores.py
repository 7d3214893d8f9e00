"""All layers of two models compared, and what a study holds of such comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float64

from core.pairs.prepared import Place, Scores
from core.study.layers import NOWHERE

MOST_HELD = 4096  # pairs of models whose scores are held


@dataclass(frozen=True)
class PairScores:
    """The scores of two models' layers, and why some have none.

    values: NaN where there is no score. alone: why each layer of x, and of y, cannot be compared,
    "" where it can. together: why two layers that each can be compared cannot be compared with each
    other. model: why one of the models has no layer that can be compared, "" where both have one.
    """

    values: Float64[np.ndarray, "Lx Ly"]
    alone: tuple[Sequence[str], Sequence[str]] = ((), ())
    together: Mapping[Place, str] = field(default_factory=dict)
    model: str = ""

    def reason(self, names: tuple[str, str], place: Place) -> str:
        """Return why two layers have no score, "" where they have one.

        place: NOWHERE where the best pair was sought and none has a score.
        """
        if self.model:
            return self.model
        if place == NOWHERE:
            return next((_pair_reason(*each) for each in self.together.items()), "")
        for name, layer, refusals in zip(names, place, self.alone, strict=True):
            if refusals[layer]:
                return f"layer {layer} of {name}: {refusals[layer]}"
        return _pair_reason(place, self.together[place]) if place in self.together else ""


def _pair_reason(place: Place, why: str) -> str:
    return f"layers {place[0]} and {place[1]}: {why}"


def scored(scores: Scores, refusals_x: Sequence[str], refusals_y: Sequence[str]) -> PairScores:
    """Return the scores of two models with the reasons of either's layers."""
    return PairScores(scores.values, (refusals_x, refusals_y), scores.refusals)


def unscored(layers_x: int, layers_y: int, why: str) -> PairScores:
    """Return the missing scores of two models of so many layers, one of which cannot be
    compared.
    """
    return PairScores(np.full((layers_x, layers_y), np.nan), model=why)


@dataclass(frozen=True)
class Noise:
    """What repeats say of one layer under a metric.

    halves: the mean score of two halves of the repeats. ceiling: of its alignment with a model
    without noise. reason: why the ceiling is NaN, else "".
    """

    halves: float
    ceiling: float
    reason: str = ""


class HeldScores:
    """What a study has compared already, by what it depends on: nothing is compared twice.

    pairs: by the metric's recipe and the digests of both models. models: why a model cannot be
    compared, by recipe and digest. traits: numbers of a model's layers that its chance depends on.
    noise: what its repeated measurements say of each layer, by recipe and digest. scorers: see
    `core.questions.dispersion.scorer`.
    """

    def __init__(self) -> None:
        self.pairs: dict[tuple[str, str, str], PairScores] = {}
        self.models: dict[tuple[str, str], str] = {}
        self.traits: dict[tuple[str, str, bool], list[float]] = {}
        self.noise: dict[tuple[str, str], list[Noise]] = {}
        self.scorers: dict[Any, Any] = {}

    def forget_oldest(self) -> None:
        """Let go of the pairs beyond MOST_HELD."""
        for oldest in list(self.pairs)[:-MOST_HELD]:
            self.pairs.pop(oldest, None)
