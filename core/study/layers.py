"""Scores of all pairs of layers of two models, and which of them are the models' alignment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Float64

from core.errors import MetricError, UnknownNameError, quoted
from core.metrics.spec import MetricSpec
from core.pairs.prepared import Place, Scores
from core.statistics.nulls import Choice, best_pair, fixed_pair

NOWHERE = (-1, -1)  # no pair of layers has a score


@dataclass(frozen=True)
class LayerChoice:
    """The best-aligned pair, one relative depth of both models, or a fixed pair.

    depth: 0 is the first layer of each model, 1 the last. pair: layers from 0, or from −1 backward;
    ignored by a model of one layer. concatenated: all layers of a model side by side are one more
    candidate for the best.
    """

    depth: float | None = None
    pair: tuple[int, int] | None = None
    concatenated: bool = False

    def place(self, layers_x: int, layers_y: int) -> tuple[int, int] | None:
        """Return the pair that is compared, None for the best; raise MetricError."""
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


ALL = "all"  # every pair of layers


def read_choice(text: str, *, concatenated: bool = False) -> LayerChoice:
    """Read `best`, `last`, `A:B` or a relative depth such as 0.5; raise MetricError."""
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
    """Join a model's layers side by side without normalizing each. Source: Huh et al. 2024,
    appendix C.2.
    """
    return np.concatenate(layers, axis=1)


def pick(
    scores: Float64[np.ndarray, "Lx Ly"], choice: LayerChoice, *, spec: MetricSpec
) -> tuple[int, int]:
    """Return the chosen layers: of ties the lowest of x, then of y; NOWHERE if every pair is NaN.
    Raise MetricError for a pair that is not there.
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
    """Return the function from scores of all layer pairs to one, per permutation of a null."""

    def chosen(scores: Float64[np.ndarray, "P Lx Ly"]) -> Float64[np.ndarray, " P"]:
        place = choice.place(*scores.shape[1:])
        return (best_pair(spec) if place is None else fixed_pair(*place))(scores)

    return chosen


MOST_HELD = 4096  # pairs of models whose scores are held


@dataclass(frozen=True)
class PairScores:
    """The scores of two models' layers, and why some have none: a layer of x or y `alone`, two
    layers `together`, or all layers of a `model`; "" for no reason.
    """

    values: Float64[np.ndarray, "Lx Ly"]
    alone: tuple[Sequence[str], Sequence[str]] = ((), ())
    together: Mapping[Place, str] = field(default_factory=dict)
    model: str = ""

    @classmethod
    def of(cls, scores: Scores, refusals_x: Sequence[str], refusals_y: Sequence[str]) -> PairScores:
        return cls(scores.values, (refusals_x, refusals_y), scores.refusals)

    def reason(self, names: tuple[str, str], place: Place) -> str:
        """Return why two layers have no score, "" if they have one."""
        if self.model:
            return self.model
        if place == NOWHERE:
            place = next(iter(self.together), NOWHERE)
        else:
            for name, layer, refusals in zip(names, place, self.alone, strict=True):
                if refusals[layer]:
                    return f"layer {layer} of {name}: {refusals[layer]}"
        why = self.together.get(place)
        return f"layers {place[0]} and {place[1]}: {why}" if why else ""

    def row(self, names: tuple[str, str], place: Place) -> tuple[str, str, int, int, float, str]:
        score = float(self.values[place])
        return *names, *place, score, self.reason(names, place) if np.isnan(score) else ""


@dataclass(frozen=True)
class Noise:
    """Noise of one layer. halves: the mean score of two halves of its repeats. ceiling: of its
    alignment with a model without noise. reason: why the ceiling is NaN.
    """

    halves: float
    ceiling: float
    reason: str = ""


@dataclass
class HeldScores:
    """What a study has compared already, by digests of recipe and models.

    models: why a model cannot be compared. traits: of each layer, for its chance. noise: of each
    layer. scorers: see `core.questions.dispersion.effect`.
    """

    pairs: dict[tuple[str, str, str], PairScores] = field(default_factory=dict)
    models: dict[tuple[str, str], str] = field(default_factory=dict)
    traits: dict[tuple[str, str, bool], list[float]] = field(default_factory=dict)
    noise: dict[tuple[str, str], list[Noise]] = field(default_factory=dict)
    scorers: dict[Any, Any] = field(default_factory=dict)


COLUMNS = ("model_x", "model_y", "layer_x", "layer_y", "score", "reason")

Pair = tuple[str, str]


def align(
    pairs: Mapping[Pair, PairScores], *, choice: LayerChoice, spec: MetricSpec
) -> pd.DataFrame:
    """Return a row for each pair of models: COLUMNS; layers from 0, -1 if no pair has a score.
    Raise MetricError for layers that are not there.
    """
    places = [pick(scores.values, choice, spec=spec) for scores in pairs.values()]
    rows = [one.row(names, at) for (names, one), at in zip(pairs.items(), places, strict=True)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def align_all_layers(pairs: Mapping[Pair, PairScores]) -> pd.DataFrame:
    """Return a row for each pair of layers of each pair of models; columns as of `align`."""
    rows = [
        scores.row(names, (x, y))
        for names, scores in pairs.items()
        for x, y in np.ndindex(scores.values.shape)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def layer_matrix(table: pd.DataFrame, values: str = "score") -> pd.DataFrame:
    return table.pivot(index="layer_x", columns="layer_y", values=values)


def align_among(
    names: Sequence[str],
    pairs: Mapping[Pair, PairScores],
    *,
    choice: LayerChoice,
    spec: MetricSpec,
) -> pd.DataFrame:
    """Return a row for every two of the models in the order of `names`, with the columns of
    `align`; score NaN and layers -1 for a pair without scores.
    """
    aligned = align(pairs, choice=choice, spec=spec)
    every = pd.DataFrame(list(combinations(names, 2)), columns=list(COLUMNS[:2]))
    table = every.merge(aligned, how="left", on=list(COLUMNS[:2]))
    types = {"layer_x": int, "layer_y": int, "score": float, "reason": str}
    return table.fillna({"layer_x": -1, "layer_y": -1, "reason": ""}).astype(types)


def score_matrix(pairs: pd.DataFrame, names: Sequence[str]) -> Float64[np.ndarray, "m m"]:
    """Return the symmetric matrix of these models' scores, NaN on the diagonal. pairs: model_x,
    model_y, score, each pair once. Raise UnknownNameError for a model without a pair.
    """
    compared = set(pairs["model_x"]) | set(pairs["model_y"])
    if unknown := [name for name in names if name not in compared]:
        raise UnknownNameError("compared model", unknown[0], compared)
    place = {name: number for number, name in enumerate(names)}
    kept = pairs[pairs["model_x"].isin(place) & pairs["model_y"].isin(place)]
    x, y = (kept[side].map(place).to_numpy(int) for side in ("model_x", "model_y"))
    matrix = np.full((len(names), len(names)), np.nan)
    matrix[x, y] = matrix[y, x] = kept["score"].to_numpy(float)
    return matrix
