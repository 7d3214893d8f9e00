"""Models of a study compared: engines, null, intervals, pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

import numpy as np
import pandas as pd
from jaxtyping import Float64

from core.errors import FeatureError, MetricError
from core.machine.memory import size_text
from core.metrics import METRICS, find_metric
from core.metrics.catalog import make_engine
from core.metrics.spec import AnyEngine
from core.pairs.engine import Engine, ListEngine, PairRows
from core.pairs.lists import HELD, scores_among
from core.pairs.prepared import Prepared
from core.progress import tell, tell_each
from core.recipe import Recipe
from core.spaces.preprocess import check_k, normalize_rows
from core.study.layers import (
    ALL,
    MOST_HELD,
    LayerChoice,
    PairScores,
    align,
    align_all_layers,
    align_among,
)
from core.study.parts import Comparison, Measure
from core.study.study import Study

BUDGET = 8 * 10**9  # bytes that the kernels of one comparison may take together


def kernel_bytes(n: int, *, layers: int) -> int:
    """Return the memory of kernels: half a float32 matrix per layer and two float64 at once."""
    return (2 * layers + 16) * n**2


def fits(n: int, *, layers: int) -> bool:
    return kernel_bytes(n, layers=layers) <= BUDGET


def choose_engine(
    study: Study, measure: Measure, models: Sequence[str] = (), *, concatenated: bool = False
) -> AnyEngine:
    """Return the engine that compares these models on the study's device; see `engine_over`.
    models: held at once; with none, only the measure and the number of stimuli are checked.
    """
    study.store.note({f"metric:{measure.metric}": str(find_metric(measure.metric).version)})
    layers = sum(len(study.entry(name).dims) + concatenated for name in dict.fromkeys(models))
    return engine_over(study.size, measure, layers=layers, device=study.device)


def engine_over(n: int, measure: Measure, *, layers: int, device: str = "cpu") -> AnyEngine:
    """Return the engine that compares so many layers of n stimuli, held at once; a streamed one if
    their kernels exceed BUDGET.

    Raise UnknownNameError for the metric, MetricError for its parameters or if it needs more
    memory, DeviceError.
    """
    metric, settings = find_metric(measure.metric), measure.settings
    if "k" in settings:
        check_k(settings["k"], n)
    held = layers if metric.every_pair else 0  # of n² numbers
    if not (metric.every_pair or metric.streamed) or fits(n, layers=held):
        return make_engine(measure.metric, device=device, **settings)
    too_large = (
        f"{metric.spec.title} of {held} layers compares all pairs of {n:,} stimuli at once, which"
        f" takes {size_text(kernel_bytes(n, layers=held))} of memory; at most {size_text(BUDGET)}"
        " expected"
    )
    if metric.streamed is None:
        names = [one.spec.id for one in METRICS.values() if one.streamed or not one.every_pair]
        raise MetricError(
            f"{too_large}: use {', '.join(names[:-1])} or {names[-1]}, compare fewer models, or"
            " study fewer stimuli"
        )
    if device not in ("cpu", "auto"):
        raise MetricError(
            f"{too_large}, so it is summed on the CPU; got device {device}: use cpu or auto"
        )
    return metric.streamed(**settings)


USUAL = Comparison()

P = TypeVar("P")
Pair = tuple[str, str]


def align_models(
    study: Study, x: Sequence[str], y: Sequence[str], comparison: Comparison = USUAL
) -> pd.DataFrame:
    """Align every model of x with every model of y.

    Return model_x, model_y, layer_x, layer_y (from 0; concatenated layers come last; -1 if no pair
    has a score), score, chance (of one pair of layers, NaN without a formula), n, the metric's
    parameters and reason: why a score is NaN. With `all` as layers, a row per pair of layers. Raise
    UnknownNameError for the metric or a model, MetricError if no model of a side can be compared.
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
    """Return the scores of all layers of x (rows) and y (columns), by pair of models; NaN if a
    layer has none. Raise as `align_models`.
    """
    pairs = compare_models(study, x, y, measure, concatenated=concatenated)
    return {pair: scores.values for pair, scores in pairs.items()}


def prepare_each(
    study: Study, engine: Engine[P], models: Sequence[str], *, concatenated: bool = False
) -> tuple[dict[str, Prepared[P]], dict[str, str]]:
    """Return the models ready to be compared, and why others are refused."""

    def prepare(model: str) -> Prepared[P]:
        if isinstance(engine, ListEngine):
            lists = study.neighbor_lists(model, k=engine.k, concatenated=concatenated)
            return cast("Prepared[P]", engine.take(lists))
        alone = study.entry(model).card.geometry == "dissimilarities" and not concatenated
        if alone and isinstance(engine, PairRows) and engine.of_matrix:
            return engine.prepare_matrices(study.matrices(model))
        return engine.prepare(study.spaces(model, concatenated=concatenated))

    ready, refused = {}, {}
    for name in dict.fromkeys(models):
        try:
            ready[name] = prepare(name)
        except MetricError as error:
            refused[name] = str(error)
    return ready, refused


def compare_models(
    study: Study,
    x: Sequence[str],
    y: Sequence[str],
    measure: Measure = USUAL,
    *,
    concatenated: bool = False,
) -> dict[Pair, PairScores]:
    """Compare every layer of each x with every layer of each y; raises as `align_models`."""
    engine = choose_engine(study, measure, (*x, *y), concatenated=concatenated)
    choices = {"metric": measure.metric, "concatenated": concatenated, **measure.settings}
    recipe, held = Recipe.of("scores", **choices).digest, study.held_scores
    entries = {name: study.entry(name) for name in (*x, *y)}
    keys = {(a, b): (recipe, entries[a].digest, entries[b].digest) for a in x for b in y}
    pairs = {pair: held.pairs[key] for pair, key in keys.items() if key in held.pairs}
    missing = [pair for pair in keys if pair not in pairs]
    names = [name for pair in missing for name in pair]
    ready, refused = prepare_each(study, engine, names, concatenated=concatenated)
    held.models.update({(recipe, entries[name].digest): why for name, why in refused.items()})
    whys = {name: held.models.get((recipe, one.digest), "") for name, one in entries.items()}
    for side in (x, y):
        if side and all(whys[name] for name in side):
            raise MetricError(whys[side[0]])
    for a, b in tell_each(missing, "pairs of models"):
        if why := whys[a] or whys[b]:
            layers = [len(entries[name].dims) + concatenated for name in (a, b)]
            scores = PairScores(np.full(layers, np.nan), model=why)
        else:
            found = engine.scores(ready[a], ready[b])
            scores = PairScores.of(found, ready[a].refusals, ready[b].refusals)
        pairs[a, b] = held.pairs[keys[a, b]] = scores
    for oldest in list(held.pairs)[:-MOST_HELD]:
        held.pairs.pop(oldest, None)
    return {pair: pairs[pair] for pair in keys}


def _chances(
    study: Study, table: pd.DataFrame, comparison: Comparison, *, concatenated: bool
) -> float | list[float]:
    metric = find_metric(comparison.metric)
    formula, held = metric.pair_chance, study.held_scores.traits
    if formula is None:
        return metric.chance_level(study.size, comparison.settings)

    def trait(model: str, layer: int) -> float:
        key = metric.spec.id, study.entry(model).digest, concatenated
        if key not in held:
            held[key] = []
            for space in study.spaces(model, concatenated=concatenated):
                try:
                    held[key].append(formula.trait(normalize_rows(space)))
                except (FeatureError, MetricError):
                    held[key].append(np.nan)
        return held[key][layer]

    rows = table[["model_x", "layer_x", "model_y", "layer_y", "score"]].itertuples(index=False)
    return [
        np.nan if np.isnan(score) else formula.level(trait(x, a), trait(y, b), n=study.size)
        for x, a, y, b, score in rows
    ]


def check_pairing(study: Study, comparison: Comparison) -> None:
    """Raise MetricError for a comparison that `pair_models` cannot make: a wrong parameter, or a
    fixed pair of layers, as models of one set have no sides.
    """
    if comparison.read_layers().pair is not None:
        raise MetricError(
            "models of one set are compared by best, last or a depth from 0 to 1; got"
            f" {comparison.layers!r}"
        )
    choose_engine(study, comparison)


def pair_models(study: Study, names: Sequence[str], comparison: Comparison) -> pd.DataFrame:
    """Align every two of the models, with the mean of both directions of an asymmetric metric.

    Return a row for each pair in the order of `names`: model_x, model_y, layer_x, layer_y, score,
    reason. Raise UnknownNameError for a model, MetricError if none can be compared, and as
    `check_pairing`.
    """
    check_pairing(study, comparison)
    choice, spec = comparison.read_layers(), comparison.spec
    # those with the most layers, as many as are ready at once
    held = sorted(names, key=lambda name: -len(study.entry(name).dims))[: HELD + 1]
    engine = choose_engine(study, comparison, held, concatenated=choice.concatenated)
    alone, refused = dict[str, tuple[str, ...]](), dict[str, str]()

    def prepare(few: Sequence[str]) -> Mapping[str, Prepared[Any]]:
        ready, whys = prepare_each(study, engine, few, concatenated=choice.concatenated)
        alone.update({name: model.refusals for name, model in ready.items()})
        refused.update(whys)
        return ready

    pairs, total = dict[Pair, PairScores](), len(names) * (len(names) - 1) // 2
    for x, y, found in scores_among(engine, names, prepare, symmetric=spec.symmetric):
        pairs[x, y] = PairScores.of(found, alone[x], alone[y])
        if len(pairs) % len(names) == 0 or len(pairs) == total:
            tell(len(pairs), total, "pairs of models compared")
    table = align_among(names, pairs, choice=choice, spec=spec)
    rows = zip(table["model_x"], table["model_y"], table["reason"], strict=True)
    return table.assign(reason=[refused.get(x) or refused.get(y) or why for x, y, why in rows])
