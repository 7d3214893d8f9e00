"""The models of a study compared by a metric: the scores of all their layers, and tables of those
that were chosen.

What was compared once is held by the study.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pandas as pd
from jaxtyping import Float32, Float64

from core.errors import FeatureError, MetricError
from core.metrics import find_metric
from core.metrics.spec import PairChance
from core.pairs.engine import Engine
from core.pairs.prepared import Prepared
from core.pairs.rows import PairRows
from core.progress import tell_each
from core.recipe import Recipe
from core.spaces.preprocess import normalize_rows
from core.study.comparison.aligning import align, align_all_layers
from core.study.comparison.engines import choose_engine
from core.study.comparison.pair_scores import PairScores, scored, unscored
from core.study.layers import ALL, LayerChoice
from core.study.parts import Comparison, Measure
from core.study.study import Study

USUAL = Comparison()

P = TypeVar("P")
Pair = tuple[str, str]


def align_models(
    study: Study, x: Sequence[str], y: Sequence[str], comparison: Comparison = USUAL
) -> pd.DataFrame:
    """Align every model of x with every model of y.

    Returns model_x, model_y, layer_x, layer_y (counted from 0; the concatenated layers come after
    the last), score, chance (of one pair of layers; NaN where no formula gives it), n, the metric's
    parameters and reason: why a score is NaN, else empty. With `all` as layers, a row per pair of
    layers; where the best is sought and no pair of layers has a score, the layers are -1. Raises
    UnknownNameError for the metric or a model, MetricError where no model of a side can be
    compared, and for the rest.
    """
    every = comparison.layers == ALL
    choice = (
        LayerChoice(concatenated=comparison.concatenated) if every else comparison.read_layers()
    )
    pairs = compare_models(study, x, y, comparison, concatenated=choice.concatenated)
    table = align_all_layers(pairs) if every else align(pairs, choice=choice, spec=comparison.spec)
    chance = _chances(study, table, comparison, concatenated=choice.concatenated)
    reason = table.pop("reason")
    return table.assign(chance=chance, n=study.size, **comparison.settings, reason=reason)


def layer_scores(
    study: Study,
    x: Sequence[str],
    y: Sequence[str],
    measure: Measure = USUAL,
    *,
    concatenated: bool = False,
) -> dict[Pair, Float64[np.ndarray, "_ _"]]:
    """Compare every layer of each model of x (rows) with every layer of each model of y (columns),
    by pair of models.

    NaN where a layer has no score. concatenated: as for `Study.spaces`. Raises as `align_models`.
    """
    pairs = compare_models(study, x, y, measure, concatenated=concatenated)
    return {pair: scores.values for pair, scores in pairs.items()}


def prepare_each(
    study: Study, engine: Engine[P], models: Sequence[str], *, concatenated: bool = False
) -> tuple[dict[str, Prepared[P]], dict[str, str]]:
    """Make models ready to be compared; neighbor metrics take the neighbors that are kept.

    concatenated: as for `Study.spaces`. Returns those that are ready, and why the others are
    refused.
    """
    ready, refused = {}, {}
    for name in dict.fromkeys(models):
        try:
            ready[name] = _prepare(study, engine, name, concatenated=concatenated)
        except MetricError as error:
            refused[name] = str(error)
    return ready, refused


def _prepare(study: Study, engine: Engine[P], model: str, *, concatenated: bool) -> Prepared[P]:
    source = engine.from_neighbors
    if source is not None:
        return source.take(study.neighbor_lists(model, k=source.k, concatenated=concatenated))
    alone = study.entry(model).card.geometry == "dissimilarities" and not concatenated
    if alone and isinstance(engine, PairRows) and engine.of_matrix:
        return engine.prepare_matrices(study.matrices(model))
    return engine.prepare(study.spaces(model, concatenated=concatenated))


def compare_models(
    study: Study,
    x: Sequence[str],
    y: Sequence[str],
    measure: Measure = USUAL,
    *,
    concatenated: bool = False,
) -> dict[Pair, PairScores]:
    """Compare every layer of each model of x with every layer of each model of y; raises as
    `align_models`.
    """
    engine = choose_engine(study, measure, (*x, *y), concatenated=concatenated)
    choices = {"metric": measure.metric, "concatenated": concatenated, **measure.settings}
    comparing = _Comparing(study, Recipe.of("scores", **choices).digest, concatenated)
    return comparing.all_pairs(engine, x, y)


@dataclass(frozen=True)
class _Comparing:
    """Models of a study under one recipe of comparison, with what is held of it."""

    study: Study
    recipe: str
    concatenated: bool

    def all_pairs(
        self, engine: Engine[P], x: Sequence[str], y: Sequence[str]
    ) -> dict[Pair, PairScores]:
        held = self.study.held_scores
        keys = {(a, b): (self.recipe, self._digest(a), self._digest(b)) for a in x for b in y}
        pairs = {pair: held.pairs[key] for pair, key in keys.items() if key in held.pairs}
        for pair, scores in self._compare(
            engine, [pair for pair in keys if pair not in pairs], x, y
        ):
            pairs[pair] = held.pairs[keys[pair]] = scores
        held.forget_oldest()
        return {pair: pairs[pair] for pair in keys}

    def _compare(
        self, engine: Engine[P], missing: Sequence[Pair], x: Sequence[str], y: Sequence[str]
    ) -> Iterator[tuple[Pair, PairScores]]:
        names = [name for pair in missing for name in pair]
        ready, refused = prepare_each(self.study, engine, names, concatenated=self.concatenated)
        whys = self._refusals({*x, *y}, refused)
        for side in (x, y):
            if side and all(whys[name] for name in side):
                raise MetricError(whys[side[0]])
        for a, b in tell_each(missing, "pairs of models"):
            why = whys[a] or whys[b]
            yield (
                (a, b),
                (
                    unscored(self._layers(a), self._layers(b), why)
                    if why
                    else _scored(engine, ready[a], ready[b])
                ),
            )

    def _refusals(self, names: set[str], refused: Mapping[str, str]) -> dict[str, str]:
        """Return why each model cannot be compared, "" where it can; also what was refused
        before.
        """
        held = self.study.held_scores.models
        for name, why in refused.items():
            held[self.recipe, self._digest(name)] = why
        return {name: held.get((self.recipe, self._digest(name)), "") for name in names}

    def _digest(self, model: str) -> str:
        return self.study.entry(model).digest

    def _layers(self, model: str) -> int:
        return len(self.study.entry(model).dims) + self.concatenated


def _scored(engine: Engine[P], x: Prepared[P], y: Prepared[P]) -> PairScores:
    return scored(engine.scores(x, y), x.refusals, y.refusals)


def _chances(
    study: Study, table: pd.DataFrame, comparison: Comparison, *, concatenated: bool
) -> float | list[float]:
    """Return the chance level of each row's layers, or one for all."""
    metric = find_metric(comparison.metric)
    formula = metric.pair_chance
    if formula is None:
        return metric.chance_level(study.size, comparison.settings)
    chances = []
    for row in table.to_dict("records"):
        if np.isnan(row["score"]):
            chances.append(np.nan)
            continue
        x, y = (
            _traits(study, row[f"model_{side}"], metric.spec.id, formula, concatenated)[
                row[f"layer_{side}"]
            ]
            for side in ("x", "y")
        )
        chances.append(formula.level(x, y, n=study.size))
    return chances


def _traits(
    study: Study, model: str, metric: str, formula: PairChance, concatenated: bool
) -> list[float]:
    """Return what chance depends on, of each layer of a model; NaN for one that has none."""
    held, key = study.held_scores.traits, (metric, study.entry(model).digest, concatenated)
    if key not in held:
        spaces = study.spaces(model, concatenated=concatenated)
        held[key] = [_trait(space, formula) for space in spaces]
    return held[key]


def _trait(space: Float32[np.ndarray, "n _"], formula: PairChance) -> float:
    try:
        return formula.trait(normalize_rows(space))
    except (FeatureError, MetricError):
        return np.nan
