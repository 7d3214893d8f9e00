"""Which layers stand for two models when a metric has compared all of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float64

from core.errors import MetricError, quoted
from core.metrics.spec import MetricSpec
from core.statistics.nulls import Choice, best_pair, fixed_pair

NOWHERE = (-1, -1)  # no pair of layers has a score


@dataclass(frozen=True)
class LayerChoice:
    """The best-aligned pair, one relative depth of both models, or a fixed pair; exactly one of
    depth and pair may be given.

    depth: 0 is the first layer of each model, 1 the last. pair: layers counted from 0, or from −1,
    the last, backward; a model of one layer, as reality is, has no other to name. concatenated: all
    layers of a model side by side are one more candidate for the best pair.
    """

    depth: float | None = None
    pair: tuple[int, int] | None = None
    concatenated: bool = False

    def place(self, layers_x: int, layers_y: int) -> tuple[int, int] | None:
        """Return the pair that is compared in models of so many layers; None where the best is
        sought. Raises MetricError.
        """
        if self.depth is not None:
            return round(self.depth * (layers_x - 1)), round(self.depth * (layers_y - 1))
        if self.pair is None:
            return None
        for layer, count in zip(self.pair, (layers_x, layers_y), strict=True):
            if count > 1 and not -count <= layer < count:
                raise MetricError(
                    f"there is no layer {layer}, only 0 … {count - 1}, or -{count} … -1 from the"
                    " end"
                )
        return self.pair[0] % layers_x, self.pair[1] % layers_y


ALL = "all"  # every pair of layers, not one that stands for two models


def read_choice(text: str, *, concatenated: bool = False) -> LayerChoice:
    """Read `best`, `last`, `A:B` or a relative depth such as 0.5; raises MetricError for anything
    else, and for concatenated layers where the best is not looked for.
    """
    if concatenated and text != "best":
        raise MetricError(
            "as paper, all layers side by side are one more candidate for the best; got layers"
            f" {text!r}: choose best, or as released"
        )
    if text in ("best", "last"):
        return LayerChoice(depth=1.0 if text == "last" else None, concatenated=concatenated)
    if pair := re.fullmatch(r"(-?\d+):(-?\d+)", text):
        return LayerChoice(pair=(int(pair[1]), int(pair[2])))
    if re.fullmatch(r"0?\.\d+|[01](\.0*)?", text):
        return LayerChoice(depth=float(text))
    raise MetricError(
        "layers are chosen by best, last, a pair such as 3:5 or -1:-1, or a depth from 0 to 1; got"
        f" {quoted(text)}"
    )


def concatenate(layers: Sequence[Float[np.ndarray, "n _"]]) -> Float[np.ndarray, "n d"]:
    """Join a model's layers side by side as they are: only the whole gets rows of length 1, so a
    layer of large values weighs more.

    Source: Huh et al. 2024, appendix C.2 (features are normalized before they are compared).
    """
    return np.concatenate(layers, axis=1)


def pick(
    scores: Float64[np.ndarray, "Lx Ly"], choice: LayerChoice, *, spec: MetricSpec
) -> tuple[int, int]:
    """Return the chosen layers: of equally aligned pairs the lowest of x, then of y; NaN is never
    the best.

    NOWHERE where the best is sought and every pair is NaN. Raises MetricError for a pair that is
    not there.
    """
    place = choice.place(*scores.shape)
    if place is not None:
        return place
    if np.isnan(scores).all():
        return NOWHERE
    best = np.nanargmax(scores if spec.higher_is_more_aligned else -scores)
    row, column = np.unravel_index(best, scores.shape)
    return int(row), int(column)


def aggregate(choice: LayerChoice, *, spec: MetricSpec) -> Choice:
    """Return what makes one score of all layer pairs of two models, for every permutation of a
    null.
    """

    def chosen(scores: Float64[np.ndarray, "P Lx Ly"]) -> Float64[np.ndarray, "P"]:
        place = choice.place(*scores.shape[1:])
        one = best_pair(spec) if place is None else fixed_pair(*place)
        return one(scores)

    return chosen
