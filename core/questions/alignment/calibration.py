"""How far alignments lie above chance, how sure they are, and how far they could come: nulls and
intervals for each row, the ceilings of two seeds and of noise."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int64

from core.errors import MetricError
from core.metrics import METRICS, find_metric
from core.metrics.spec import MetricSpec
from core.pairs.lists import shuffled_scores
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
from core.study.layers import ALL, aggregate
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
    if calibration.bootstrap and find_metric(question.comparison.metric).share is None:
        check_draws(calibration.bootstrap)


def _calibrated(question: Alignment, study: Study, report: Progress | None) -> pd.DataFrame:
    """Calibrate every pair of models that can be compared; the others have no row."""
    comparison, calibration = question.comparison, question.calibration
    choice, models = comparison.read_layers(), (*question.x, *question.y)
    engine = choose_engine(study, comparison, models, concatenated=choice.concatenated)
    ready, _ = prepare_each(study, engine, models, concatenated=choice.concatenated)
    x, y = (
        [name for name in dict.fromkeys(names) if name in ready]
        for names in (question.x, question.y)
    )
    shuffled = shuffled_scores(engine, [ready[name] for name in x], [ready[name] for name in y])
    layers_x, layers_y = (
        [len(study.entry(name).dims) + choice.concatenated for name in names] for names in (x, y)
    )
    score_all = partial(
        null_scores,
        choice=aggregate(choice, spec=comparison.spec),
        layers_x=layers_x,
        layers_y=layers_y,
    )
    done = 0

    def score(orders: Int64[np.ndarray, "P n"]) -> Float64[np.ndarray, "P Lx Ly"]:
        nonlocal done
        batches = list[np.ndarray]()
        for part in np.array_split(orders, max(1, len(orders) // AT_ONCE)):
            batches.append(shuffled(part))
            done += len(part)
            if report:
                report(done, calibration.null, "permutations")
        return np.concatenate(batches)

    observed = score_all(shuffled, np.arange(study.size)[None])
    null = score_all(score, draw_orders(study.size, count=calibration.null, seed=calibration.seed))
    pairs = pd.DataFrame([(one, other) for one in x for other in y], columns=PAIR)
    return pairs.join(calibrate(observed[0], null, spec=comparison.spec))


def _intervals(
    table: pd.DataFrame, question: Alignment, study: Study, report: Progress | None
) -> tuple[list[float], list[float], list[str]]:
    """Return low, high and why they are NaN, for each row; a row without a score has its own
    reason. The interval is that of common neighbors if the metric is a share of them, else that of
    random halves.
    """
    comparison, k = question.comparison, question.comparison.settings.get("k", 0)
    near = METRICS[comparison.metric].share is not None
    # then lists in a half have no next neighbor, to move up where one is left out
    if near and halved(k) >= study.size // 2 - 1:
        nowhere = [math.nan] * len(table)
        few = f"no interval: {study.size} stimuli are too few for k = {k}; choose a smaller k"
        return nowhere, nowhere, ["" if math.isnan(score) else few for score in table["score"]]
    depth = depth_for_halves(k, study.size) if near else 0
    chosen = _chosen(study, table[table["score"].notna()], comparison, depth=depth)
    intervals = []
    for row in table.to_dict("records"):
        low, high, why = math.nan, math.nan, ""
        if not math.isnan(row["score"]):
            x, y = (chosen[row[f"model_{side}"], row[f"layer_{side}"]] for side in ("x", "y"))
            interval = _of_neighbors if near else _of_halves
            try:
                low, high = map(float, interval(x, y, row["score"], question))
                if math.isnan(low):
                    why = "no interval: some half of the stimuli has no score"
            except MetricError as error:
                why = f"no interval: {error}"
        intervals.append((low, high, why))
        if report:
            report(len(intervals), len(table), "intervals")
    lows, highs, reasons = map(list, zip(*intervals, strict=True))
    return lows, highs, reasons


def _chosen(
    study: Study, table: pd.DataFrame, comparison: Comparison, *, depth: int
) -> dict[tuple[str, int], np.ndarray]:
    """Read the layers that a table's scores are of, each model once: so many neighbors, or if depth
    is 0 the vectors.
    """
    concatenated = comparison.read_layers().concatenated
    places = {
        (row[f"model_{side}"], row[f"layer_{side}"])
        for row in table.to_dict("records")
        for side in ("x", "y")
    }
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
    assert share is not None
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
    metric, settings = METRICS[comparison.metric], comparison.settings
    if metric.streamed is not None and not fits(len(x), layers=2):
        engine = metric.streamed(**settings)
        scores = np.array(
            [
                engine.scores(engine.prepare([x[half]]), engine.prepare([y[half]])).values.item()
                for half in tell_each(halves, HALVES)
            ]
        )
    elif metric.halves is not None:
        scores = metric.halves(x, y, halves)
    else:
        settings = {
            name: halved(value) if name == "k" else value for name, value in settings.items()
        }
        scores = np.array(
            [metric(x[half], y[half], **settings) for half in tell_each(halves, HALVES)]
        )
    return half_interval(score, scores, spec=comparison.spec)


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

    NaN if one of these is, and if the ceiling is not beyond chance.
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
    an otherwise perfect pair reaches; see `core.study.noise`. reason also says why it is NaN.
    """
    names = {*table["model_x"], *table["model_y"]}
    noisy = {
        name: held_noise(study, name, question.comparison)
        for name in sorted(names)
        if study.entry(name).card.over
    }
    if not noisy:
        return table
    ceilings, reasons = [], []
    for row in table.to_dict("records"):
        sides = [
            (noisy[row[f"model_{side}"]], row[f"layer_{side}"])
            for side in ("x", "y")
            if row[f"model_{side}"] in noisy
        ]
        noises = [layers[layer] for layers, layer in sides if 0 <= layer < len(layers)]
        ceiling = math.nan
        if not sides:
            why = ONCE
        elif len(noises) < len(sides):
            why = "" if min(layer for _, layer in sides) < 0 else CONCATENATED
        else:
            why = next((noise.reason for noise in noises if noise.reason), "")
            ceiling = pair_ceiling(noises, question.comparison)
        ceilings.append(ceiling)
        reasons.append(why)
    reason = table["reason"].where(table["reason"] != "", reasons)
    return table.assign(**{NOISE: ceilings}, reason=reason)
