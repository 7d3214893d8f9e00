"""How far alignments lie above chance, how sure they are, and how far they could come: nulls and
intervals for each row, the ceilings of two seeds and of noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int64

from core.errors import MetricError
from core.metrics import METRICS, find_metric
from core.metrics.spec import AnyEngine, MetricSpec
from core.pairs.lists import Scoring, shuffled_scores
from core.progress import Progress, tell_each
from core.questions.alignment.points import NOISE
from core.questions.asking import ask
from core.questions.convergence.question import Replicates
from core.spaces.preprocess import normalize_rows
from core.statistics.intervals import (
    check_draws,
    depth_for_halves,
    draw_halves,
    half_interval,
    halved,
    neighbor_interval,
)
from core.statistics.nulls import adjust, calibrate, check_count, draw_orders, null_scores
from core.study.comparing import choose_engine, fits, prepare_each
from core.study.layers import ALL, Noise, aggregate
from core.study.noise import ceiling_between, held_noise, pair_ceiling
from core.study.parts import Comparison
from core.study.study import Study

if TYPE_CHECKING:
    from core.questions.alignment.question import Alignment

HALVES = "halves of the stimuli"
PAIR = ["model_x", "model_y"]
AT_ONCE = 10  # permutations, about, between two reports


def add_nulls(
    table: pd.DataFrame, question: Alignment, study: Study, report: Progress | None
) -> pd.DataFrame:
    """Add null_mean, null_sd, threshold, p, calibrated and p_adjusted to a table of alignments.

    The permutations of y's stimuli are shared by all layers and models. Raises MetricError for too
    few of them.
    """
    if table.empty:
        return table
    calibrated = _calibrated(question, study, report).drop(columns="score")
    table = table.merge(calibrated.rename(columns={"reason": "why"}), on=PAIR, how="left")
    reason = table["reason"].where(table["reason"] != "", table.pop("why").fillna(""))
    return table.assign(reason=reason, p_adjusted=adjust(table["p"].to_numpy()))


def add_intervals(
    table: pd.DataFrame, question: Alignment, study: Study, report: Progress | None
) -> pd.DataFrame:
    """Add low and high, the 95% interval of the score of the chosen layers, to a table of
    alignments.
    """
    if table.empty:
        return table
    low, high, why = _intervals(table, question, study, report)
    reasons = zip(table["reason"], why, strict=True)
    joined = ["; ".join(filter(None, reason)) for reason in reasons]
    return table.assign(low=low, high=high, reason=joined)


def check_resampling(question: Alignment) -> None:
    """Refuse fewer permutations or halves than a threshold or an interval needs."""
    calibration = question.calibration
    if calibration.null:
        check_count(calibration.null)
    if calibration.bootstrap and not by_neighbors(question.comparison):
        check_draws(calibration.bootstrap)


def by_neighbors(comparison: Comparison) -> bool:
    """Return whether a metric's interval is that of common neighbors, else that of halves."""
    return find_metric(comparison.metric).share is not None


def _calibrated(question: Alignment, study: Study, report: Progress | None) -> pd.DataFrame:
    """Calibrate every pair of models that can be compared; the others have no row."""
    comparison, calibration = question.comparison, question.calibration
    choice = comparison.read_layers()
    shuffling = _prepare(question, study)
    layers_x, layers_y = (
        [len(study.entry(name).dims) + choice.concatenated for name in names]
        for names in (shuffling.x, shuffling.y)
    )
    score_all = partial(
        null_scores,
        choice=aggregate(choice, spec=comparison.spec),
        layers_x=layers_x,
        layers_y=layers_y,
    )
    observed = score_all(shuffling.score, np.arange(study.size)[None])
    orders = draw_orders(study.size, count=calibration.null, seed=calibration.seed)
    score = _reporting(shuffling.score, count=calibration.null, report=report)
    null = score_all(score, orders)
    pairs = pd.DataFrame([(a, b) for a in shuffling.x for b in shuffling.y], columns=PAIR)
    return pairs.join(calibrate(observed[0], null, spec=comparison.spec))


@dataclass(frozen=True)
class _Shuffling:
    """What scores permutations, and the models of both sides that can be compared."""

    score: Scoring
    x: Sequence[str]
    y: Sequence[str]


def _prepare(question: Alignment, study: Study) -> _Shuffling:
    """Make the models of a complete question ready to be compared under permutations."""
    comparison, models = question.comparison, (*question.x, *question.y)
    concatenated = comparison.read_layers().concatenated
    engine = choose_engine(study, comparison, models, concatenated=concatenated)
    ready, _ = prepare_each(study, engine, models, concatenated=concatenated)
    x, y = (
        [name for name in dict.fromkeys(names) if name in ready]
        for names in (question.x, question.y)
    )
    sides = ([ready[name] for name in names] for names in (x, y))
    return _Shuffling(shuffled_scores(engine, *sides), x, y)


def _reporting(score: Scoring, *, count: int, report: Progress | None) -> Scoring:
    """Return what scores a few permutations at a time; count: of those that are reported."""
    done = 0

    def scores(orders: Int64[np.ndarray, "P n"]) -> Float64[np.ndarray, "P Lx Ly"]:
        nonlocal done
        batches = list[np.ndarray]()
        for part in np.array_split(orders, max(1, len(orders) // AT_ONCE)):
            batches.append(score(part))
            done += len(part)
            if report:
                report(done, count, "permutations")
        return np.concatenate(batches)

    return scores


def _intervals(
    table: pd.DataFrame, question: Alignment, study: Study, report: Progress | None
) -> tuple[list[float], list[float], list[str]]:
    """Return low, high and why they are NaN, for each row; a row without a score has its own
    reason.
    """
    k = question.comparison.settings.get("k", 0)
    near = by_neighbors(question.comparison)
    # then lists in a half have no next neighbor, to move up where one is left out
    if near and halved(k) >= study.size // 2 - 1:
        nowhere = [math.nan] * len(table)
        few = f"no interval: {study.size} stimuli are too few for k = {k}; choose a smaller k"
        return nowhere, nowhere, ["" if math.isnan(score) else few for score in table["score"]]
    scored = table[table["score"].notna()]
    depth = depth_for_halves(k, study.size) if near else 0
    chosen = _chosen(study, scored, question.comparison, depth=depth)
    intervals = []
    for row in table.to_dict("records"):
        if math.isnan(row["score"]):
            intervals.append((math.nan, math.nan, ""))
        else:
            x, y = (chosen[row[f"model_{side}"], row[f"layer_{side}"]] for side in ("x", "y"))
            way = _of_neighbors if near else _of_halves
            intervals.append(_interval(way, x, y, row["score"], question))
        if report:
            report(len(intervals), len(table), "intervals")
    low, high, why = map(list, zip(*intervals, strict=True))
    return low, high, why


def _interval(way: Callable[..., np.ndarray], *arguments: Any) -> tuple[float, float, str]:
    try:
        low, high = map(float, way(*arguments))
    except MetricError as error:
        return math.nan, math.nan, f"no interval: {error}"
    missing = "no interval: some half of the stimuli has no score" if math.isnan(low) else ""
    return low, high, missing


def _chosen(
    study: Study, table: pd.DataFrame, comparison: Comparison, *, depth: int
) -> dict[tuple[str, int], np.ndarray]:
    """Read the layers that a table's scores are of, each model once: so many neighbors, or where
    depth is 0 the vectors.
    """
    concatenated = comparison.read_layers().concatenated
    rows = table.to_dict("records")
    places = {(row[f"model_{side}"], row[f"layer_{side}"]) for row in rows for side in ("x", "y")}
    chosen: dict[tuple[str, int], np.ndarray] = {}
    for model in sorted({model for model, _ in places}):
        layers = [layer for name, layer in places if name == model]
        if depth:
            lists = study.neighbors(model, k=depth, concatenated=concatenated)
            chosen |= {(model, layer): lists[layer, :, :depth].copy() for layer in layers}
        else:
            spaces = study.spaces(model, concatenated=concatenated)
            chosen |= {(model, layer): normalize_rows(spaces[layer]) for layer in layers}
    return chosen


def _of_neighbors(
    x: np.ndarray, y: np.ndarray, _: float, question: Alignment
) -> Float64[np.ndarray, "2"]:
    comparison, calibration = question.comparison, question.calibration
    share = METRICS[comparison.metric].share
    assert share is not None  # else the interval is that of halves
    interval = neighbor_interval(
        x,
        y,
        k=comparison.settings["k"],
        share=share,
        count=calibration.bootstrap,
        seed=calibration.seed,
    )
    clipped: np.ndarray = np.clip(interval, *comparison.spec.range)
    return clipped


def _of_halves(
    x: np.ndarray, y: np.ndarray, score: float, question: Alignment
) -> Float64[np.ndarray, "2"]:
    comparison, calibration = question.comparison, question.calibration
    halves = draw_halves(len(x), count=calibration.bootstrap, seed=calibration.seed)
    return half_interval(score, _score_halves(x, y, halves, comparison), spec=comparison.spec)


def _score_halves(
    x: np.ndarray, y: np.ndarray, halves: np.ndarray, comparison: Comparison
) -> Float64[np.ndarray, " count"]:
    metric = METRICS[comparison.metric]
    if metric.streamed is not None and not fits(len(x), layers=2):
        engine = metric.streamed(**comparison.settings)
        each = tell_each(halves, HALVES)
        return np.array([_score_half(engine, x[half], y[half]) for half in each])
    if metric.halves is not None:
        return metric.halves(x, y, halves)
    settings = {
        name: halved(value) if name == "k" else value for name, value in comparison.settings.items()
    }
    return np.array([metric(x[half], y[half], **settings) for half in tell_each(halves, HALVES)])


def _score_half(engine: AnyEngine, x: np.ndarray, y: np.ndarray) -> float:
    score: float = engine.scores(engine.prepare([x]), engine.prepare([y])).values.item()
    return score


UNKNOWN = "no ceiling: of one of the two, no recipe of its modality was trained with several seeds"
BELOW = "no share: the ceiling is not above chance"


def replicates_of(question: Alignment) -> Replicates | None:
    """Return the question whose answer gives the ceiling; None for single pairs of layers, which
    name one layer of either side: among models of one set there are no sides.
    """
    comparison = question.comparison
    if comparison.layers == ALL or comparison.read_layers().pair is not None:
        return None
    return Replicates(question.scope, (), comparison)


def add_shares(table: pd.DataFrame, question: Alignment, study: Study) -> pd.DataFrame:
    """Add ceiling and share to a table of alignments, where any pair has a ceiling; see `shares`.

    The ceiling is the mean alignment of two seeds of one recipe, across modalities the geometric
    mean of both. reason also says why either is NaN.
    """
    replicates = replicates_of(question)
    if replicates is None or table.empty:
        return table
    seeds, modality = ask(replicates, study), study.models().set_index("model")["modality"]
    kinds = list(zip(table["model_x"].map(modality), table["model_y"].map(modality), strict=True))
    levels = {kind: ceiling_between(seeds, *kind) for kind in set(kinds)}
    if np.isnan(list(levels.values())).all():
        return table
    return shares(table.assign(ceiling=[levels[kind] for kind in kinds]), question.comparison.spec)


def shares(table: pd.DataFrame, spec: MetricSpec) -> pd.DataFrame:
    """Add share = (score − chance) / (ceiling − chance): 0 is chance, 1 the ceiling.

    table: score, chance, ceiling, reason. NaN where one of these is, and where the ceiling is not
    beyond chance.
    """
    way = table["ceiling"] - table["chance"]
    above = way > 0 if spec.higher_is_more_aligned else way < 0
    share = ((table["score"] - table["chance"]) / way).where(above)
    why = np.select([table["ceiling"].isna(), way.notna() & ~above], [UNKNOWN, BELOW], "")
    reason = table["reason"].where(table["reason"] != "", why)
    return table.assign(share=share, reason=reason)


ONCE = "no noise ceiling: neither was measured several times"
CONCATENATED = "no noise ceiling of all layers side by side"


def add_noise(table: pd.DataFrame, question: Alignment, study: Study) -> pd.DataFrame:
    """Add noise_ceiling to a table of alignments, where any model was measured several times: what
    an otherwise perfect pair reaches; see `core.study.noise`.

    table: model_x, model_y, layer_x, layer_y, reason, which also says why a ceiling is NaN.
    """
    names = {*table["model_x"], *table["model_y"]}
    noisy = {
        name: held_noise(study, name, question.comparison)
        for name in sorted(names)
        if study.entry(name).card.over
    }
    if not noisy:
        return table
    bounds = [_ceiling(row, noisy, question) for row in table.to_dict("records")]
    ceilings, reasons = zip(*bounds, strict=True)
    reason = table["reason"].where(table["reason"] != "", list(reasons))
    return table.assign(**{NOISE: ceilings}, reason=reason)


def _ceiling(
    row: Mapping[Hashable, Any], noisy: Mapping[str, list[Noise]], question: Alignment
) -> tuple[float, str]:
    """Return the ceiling of one pair of layers, and why it is NaN, else ""."""
    noises = list[Noise]()
    for side in ("x", "y"):
        layers, layer = noisy.get(row[f"model_{side}"]), row[f"layer_{side}"]
        if layers is None:
            continue
        if not 0 <= layer < len(layers):
            return float("nan"), "" if layer < 0 else CONCATENATED
        noises.append(layers[layer])
    if not noises:
        return float("nan"), ONCE
    reason = next((noise.reason for noise in noises if noise.reason), "")
    return pair_ceiling(noises, question.comparison), reason
