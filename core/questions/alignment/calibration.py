"""Nulls, intervals and ceilings of alignments, row by row."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int64

from core.errors import MetricError, UnknownNameError
from core.metrics import METRICS, find_metric
from core.metrics.spec import MetricSpec
from core.pairs.lists import shuffled_scores
from core.progress import tell, tell_each
from core.questions.alignment.axes import NOISE
from core.questions.asking import ask
from core.questions.convergence.question import Replicates
from core.spaces.preprocess import normalize_rows
from core.statistics.controls import check_groups, draw_orders_within, group
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


def add_nulls(table: pd.DataFrame, question: Alignment, study: Study) -> pd.DataFrame:
    """Add null_mean, null_sd, threshold, p, calibrated and p_adjusted to a table of alignments. All
    layers and models share the permutations of y's stimuli.
    """
    if table.empty:
        return table
    calibrated = _calibrated(question, study).drop(columns="score")
    table = table.merge(calibrated.rename(columns={"reason": "why"}), on=PAIR, how="left")
    reason = table["reason"].where(table["reason"] != "", table.pop("why").fillna(""))
    return table.assign(reason=reason, p_adjusted=adjust(table["p"].to_numpy()))


def add_intervals(table: pd.DataFrame, question: Alignment, study: Study) -> pd.DataFrame:
    """Add low and high, the 95% interval of the score of the chosen layers, to a table of
    alignments: that of common neighbors if the metric is a share of them, else of random halves.
    """
    if table.empty:
        return table
    comparison, k = question.comparison, question.comparison.settings.get("k", 0)
    near = METRICS[comparison.metric].share is not None
    few = ""
    # then lists in a half have no next neighbor, to move up where one is left out
    if near and halved(k) >= study.size // 2 - 1:
        few = f"no interval: {study.size} stimuli are too few for k = {k}; choose a smaller k"
    depth = depth_for_halves(k, study.size) if near else 0
    scored = table[table["score"].notna()]
    chosen = {} if few else _chosen(study, scored, comparison, depth=depth)
    interval = _of_neighbors if near else _of_halves

    def measure(row: Mapping[Hashable, Any]) -> tuple[float, float, str]:
        if math.isnan(row["score"]) or few:
            return math.nan, math.nan, "" if math.isnan(row["score"]) else few
        x, y = (chosen[row[f"model_{side}"], row[f"layer_{side}"]] for side in ("x", "y"))
        try:
            low, high = map(float, interval(x, y, row["score"], question))
        except MetricError as error:
            return math.nan, math.nan, f"no interval: {error}"
        none = "no interval: some half of the stimuli has no score"
        return low, high, none if math.isnan(low) else ""

    rows = []
    for row in tell_each(table.to_dict("records"), "intervals"):
        low, high, why = measure(row)
        rows.append((low, high, "; ".join(filter(None, (row["reason"], why)))))
    named = pd.DataFrame(rows, columns=["low", "high", "reason"], index=table.index)
    return table.assign(**named)


def check_resampling(question: Alignment) -> None:
    """Refuse fewer permutations or halves than a threshold or an interval needs."""
    calibration = question.calibration
    if calibration.within and not calibration.null:
        raise MetricError("--within only affects --null; add --null or remove --within")
    if calibration.null:
        check_count(calibration.null)
    if calibration.bootstrap and find_metric(question.comparison.metric).share is None:
        check_draws(calibration.bootstrap)


def _calibrated(question: Alignment, study: Study) -> pd.DataFrame:
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
            tell(done, calibration.null, "permutations")
        return np.concatenate(batches)

    observed = score_all(shuffled, np.arange(study.size)[None])
    draws = {"count": calibration.null, "seed": calibration.seed}
    if calibration.within:
        groups = find_groups(study, calibration.within, (*x, *y), seed=calibration.seed)
        null = score_all(score, draw_orders_within(groups, **draws))
    else:
        null = score_all(score, draw_orders(study.size, **draws))
    pairs = pd.DataFrame([(one, other) for one in x for other in y], columns=PAIR)
    return pairs.join(calibrate(observed[0], null, spec=comparison.spec))


def factor_groups(study: Study, factor: str) -> Int64[np.ndarray, " n"]:
    """Return the category of each stimulus by a factor, a missing value being one of its own, or by
    several with a comma between them; raises UnknownNameError.
    """
    stimuli = study.store.stimuli(study.dataset.name).drop(columns="stimulus")
    rows = stimuli if study.rows is None else stimuli.iloc[study.rows]
    names = [factor] if factor in stimuli else [name.strip() for name in factor.split(",")]
    for name in names:
        if name not in stimuli:
            raise UnknownNameError("factor", name, stimuli)
    numbers = [group(rows[name]) for name in names]
    return group(pd.Series([*zip(*numbers, strict=True)]))


def find_groups(
    study: Study, within: str, models: Sequence[str], *, seed: int
) -> Int64[np.ndarray, " n"]:
    """Return the category of each stimulus: its value of a factor or, if `within` is a number, its
    cluster among so many of the models' last layers side by side.

    Raises UnknownNameError for a factor that the dataset lacks, MetricError for categories that
    hold too few stimuli to exchange.
    """
    if within.isdecimal():
        from sklearn.cluster import KMeans  # a second

        if not 2 <= int(within) <= study.size // 2:
            raise MetricError(f"expected 2 to {study.size // 2} clusters; got {within}")
        layers = [normalize_rows(study.spaces(name)[-1]) for name in models]
        found = KMeans(int(within), n_init=4, random_state=seed).fit(np.hstack(layers))
        groups = found.labels_.astype(np.int64)
    else:
        groups = factor_groups(study, within)
    check_groups(groups, within)
    return groups


def _chosen(
    study: Study, table: pd.DataFrame, comparison: Comparison, *, depth: int
) -> dict[tuple[str, int], np.ndarray]:
    """Read the layers that a table's scores are of: so many neighbors, or the vectors if depth is
    0.
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


def add_shares(table: pd.DataFrame, question: Alignment, study: Study) -> pd.DataFrame:
    """Add ceiling, the alignment of two seeds of one recipe, and share to a table of alignments, if
    any pair has a ceiling; not for pairs of layers, of which a ceiling has no sides.
    """
    comparison = question.comparison
    if table.empty or comparison.layers == ALL or comparison.read_layers().pair is not None:
        return table
    seeds = ask(Replicates(question.scope, (), comparison), study)
    modality = study.models().set_index("model")["modality"]
    kinds = list(zip(table["model_x"].map(modality), table["model_y"].map(modality), strict=True))
    levels = {kind: ceiling_between(seeds, *kind) for kind in set(kinds)}
    if np.isnan(list(levels.values())).all():
        return table
    return shares(table.assign(ceiling=[levels[kind] for kind in kinds]), comparison.spec)


def shares(table: pd.DataFrame, spec: MetricSpec) -> pd.DataFrame:
    """Add share = (score − chance) / (ceiling − chance), NaN for a ceiling not beyond chance."""
    way = table["ceiling"] - table["chance"]
    above = way > 0 if spec.higher_is_more_aligned else way < 0
    share = ((table["score"] - table["chance"]) / way).where(above)
    why = np.select([table["ceiling"].isna(), way.notna() & ~above], [UNKNOWN, BELOW], "")
    reason = table["reason"].where(table["reason"] != "", why)
    return table.assign(share=share, reason=reason)


ONCE = "no noise ceiling: neither was measured several times"
CONCATENATED = "no noise ceiling of all layers side by side"


def add_noise(table: pd.DataFrame, question: Alignment, study: Study) -> pd.DataFrame:
    """Add noise_ceiling to a table of alignments, if any model was measured several times."""
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
