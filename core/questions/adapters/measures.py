"""What linear adapters do on test stimuli: alignment with a reference, and retrieval across
encoders.

The proposal's inequality: m(K_repr, K_ref) > mean over encoders of m(K_encoder, K_ref), where
K_repr is the kernel of the vectors in the common space. The gain is its left side minus its right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float, Float32, Float64

from core.errors import InputError
from core.metrics import METRICS
from core.progress import tell_each
from core.questions.adapters.baselines import METHODS
from core.questions.adapters.maps import (
    DEPTHS,
    Adapters,
    Parts,
    Products,
    compared,
    joined,
    median_rank,
    rank_own,
    recall,
)
from core.statistics.intervals import TAILS, draw_halves
from core.study.parts import Measure

FEWEST_DRAWS = 40  # of which one lies beyond each end of a 95% interval, on average
ENCODERS, REFERENCE, PAIRS = "encoders", "reference", "pairs"
FIGURES = ("seed", "value", "low", "high", "reason")
COLUMNS = ("measure", "method", "what", *FIGURES)
ALIGNMENT, GAIN, OWN, RECALL, RANK = "alignment", "gain", "own_gain", "recall", "median_rank"
BEFORE, CENTERED, ADAPTERS, CHANCE = "before", "centered", "adapters", "chance"
AVERAGE, MEAN = "average", "mean"
UNTRAINED = "untrained"  # 1 if the first weights stayed the best
ALL = -1  # in place of a seed: over all of them

Row = dict[str, Any]
Space = Float[np.ndarray, "_ _"]  # some of the stimuli
Views = Mapping[str, Space]


def row(
    measure: str,
    method: str,
    what: str,
    value: float,
    *,
    seed: int = ALL,
    interval: tuple[float, float] = (np.nan, np.nan),
    reason: str = "",
) -> Row:
    """Return one row with COLUMNS; interval: its low and high."""
    cells = (measure, method, what, seed, value, *interval, reason)
    return dict(zip(COLUMNS, cells, strict=True))


def views_before(
    spaces: Views, parts: Parts, *, centered: bool, products: Products = "cosine"
) -> dict[str, Space]:
    """Return each encoder's test stimuli as they are compared; centered: less the mean of the
    training stimuli, since adapters center, too.
    """
    return {
        name: compared(
            space[parts.test] - (space[parts.train].mean(axis=0) if centered else 0), products
        )
        for name, space in spaces.items()
    }


def views_after(
    adapters: Adapters, spaces: Views, parts: Parts
) -> dict[str, Float32[np.ndarray, "_ width"]]:
    """Return the test stimuli in the common space by each encoder, and as the MEAN of all."""
    adapted = adapters.apply({name: space[parts.test] for name, space in spaces.items()})
    return {**adapted, MEAN: joined(adapted, adapters.products)}


def score_views(views: Views, reference: Space, measure: Measure) -> dict[str, float]:
    """Return the alignment of each view with the reference over the same stimuli."""
    score, parameters = METRICS[measure.metric], measure.changed
    return {name: score(view, reference, **parameters) for name, view in views.items()}


def alignment_rows(
    spaces: Views,
    reference: Space,
    parts: Parts,
    measure: Measure,
    products: Products = "cosine",
) -> list[Row]:
    """Measure the encoders and their average as they are and centered, next to the metric's chance
    if a formula gives it. reference: over all stimuli, as the spaces are.
    """
    truth = compared(reference[parts.test], products)
    chance = METRICS[measure.metric].chance_level(len(truth), measure.changed)
    unknown = "" if np.isfinite(chance) else "no formula is known for this metric's chance"
    rows = [row(ALIGNMENT, CHANCE, AVERAGE, chance, reason=unknown)]
    for method in (BEFORE, CENTERED):
        views = views_before(spaces, parts, centered=method == CENTERED, products=products)
        scores = score_views(views, truth, measure)
        scores[AVERAGE] = float(np.mean(list(scores.values())))
        rows += [row(ALIGNMENT, method, what, score) for what, score in scores.items()]
    return rows


class Scores(NamedTuple):
    """Alignment of some views with the reference, by name: over all test stimuli, and over each of
    some random halves.
    """

    whole: dict[str, float]
    halves: Float64[np.ndarray, "draws views"]


def score_halves(views: Views, truth: Space, measure: Measure, *, draws: int, seed: int) -> Scores:
    """Score views, and score them on `draws` random halves of the same stimuli, k being no more
    than a fourth of a half. With one seed the halves are the same, so scores are paired.
    """
    whole = score_views(views, truth, measure)  # first: its mistakes are those of the question
    k = measure.settings.get("k")
    halved = measure if k is None else replace(measure, k=max(1, min(k, len(truth) // 8)))
    drawn = draw_halves(len(truth), count=draws, seed=seed)
    halves = [
        score_views({name: view[rows] for name, view in views.items()}, truth[rows], halved)
        for rows in tell_each(drawn, "halves of the test stimuli")
    ]
    return Scores(whole, np.array([list(scores.values()) for scores in halves]))


def gain_rows(before: Scores, after: Sequence[Scores], measure: Measure, *, seed: int) -> list[Row]:
    """Return alignment and gains by each encoder's adapter and by the mean of all, per seed, and
    the mean gains with 95% intervals over test stimuli and seeds.

    GAIN is over the average encoder before, the proposal's inequality. OWN is over the encoder
    itself; for the mean of all, over the encoder that is best alone. before: of `views_before`;
    after: of `views_after`, one per seed. The interval is paired: both sides are measured on each
    half, and the difference's deviations from its mean (averaged over seeds) are added to the gain,
    as in `half_interval`. Each half also gets the deviation of the mean gain over one seed fewer,
    drawn with replacement. In simulations with a true gain of 0, it misses 0 in 0.5 to 3% by mutual
    k-NN (k = 10, 48 to 256 test stimuli, 1 and 5 seeds), by CKA in 3 to 5%. Source: Politis, Romano
    1994 (subsampling); Rao, Wu 1988 (one draw fewer).
    """
    toward = 1 if measure.spec.higher_is_more_aligned else -1
    alone = np.array(list(before.whole.values()))
    own = [*range(len(alone)), int(np.argmax(toward * alone))]
    whats = list(after[0].whole)
    reached = np.array([list(scores.whole.values()) for scores in after])
    rows = [
        row(ALIGNMENT, ADAPTERS, what, float(value), seed=number)
        for number, values in enumerate(reached)
        for what, value in zip(whats, values, strict=True)
    ]
    halves = np.mean([scores.halves for scores in after], axis=0)
    averages = alone.mean(), before.halves.mean(axis=1, keepdims=True)
    drawn = max(1, len(after) - 1)
    weights = (
        np.random.default_rng(seed).multinomial(
            drawn, np.full(len(after), 1 / len(after)), size=len(halves)
        )
        / drawn
    )
    for kind, (base, base_halves) in (
        (GAIN, averages),
        (OWN, (alone[own], before.halves[:, own])),
    ):
        gains = toward * (reached - base)
        means = toward * (halves - base_halves) + weights @ gains
        ends = gains.mean(axis=0) + np.quantile(means - means.mean(axis=0), TAILS, axis=0)
        for what, each, low, high in zip(whats, gains.T, *ends, strict=True):
            rows += [
                row(kind, ADAPTERS, what, float(gain), seed=number)
                for number, gain in enumerate(each)
            ]
            interval = (float(low), float(high))
            rows.append(row(kind, ADAPTERS, what, float(each.mean()), interval=interval))
    return rows


def retrieval_rows(spaces: Views, after: Views, parts: Parts, *, seed: int) -> list[Row]:
    """Measure retrieval of the test stimuli from each encoder to each other one, by the adapters
    and by METHODS, next to chance: recall at 1, 5 and 10 and the median rank, NaN with the reason
    if a method does not apply.
    """
    rows, n = [], len(parts.test)
    for query, candidates in permutations(spaces, 2):
        what = f"{query} → {candidates}"
        sides = {ADAPTERS: lambda *_, q=query, c=candidates: (after[q], after[c]), **METHODS}
        for method, compare in sides.items():
            values, reason = dict.fromkeys((*(f"{RECALL}_{k}" for k in DEPTHS), RANK), np.nan), ""
            try:
                ranks = rank_own(*compare(spaces[query], spaces[candidates], parts))
            except (InputError, np.linalg.LinAlgError) as error:
                reason = str(error)
            else:
                values = {f"{RECALL}_{k}": recall(ranks, k) for k in DEPTHS}
                values[RANK] = median_rank(ranks)
            rows += [
                row(name, method, what, value, seed=seed, reason=reason)
                for name, value in values.items()
            ]
        rows += [row(f"{RECALL}_{k}", CHANCE, what, min(k / n, 1.0), seed=seed) for k in DEPTHS]
        rows.append(row(RANK, CHANCE, what, (n + 1) / 2, seed=seed))
    return rows


def summarize(rows: pd.DataFrame) -> pd.DataFrame:
    """Return means over seeds: value, sd, seeds (how many), low, high, holds, reason.

    holds: of a gain by its interval, whether the proposal's inequality holds: "yes", "no" or
    "undecided" (0 lies within).
    """
    keys = [name for name in rows if name not in FIGURES]
    overall = rows[rows["seed"] == ALL].set_index(keys)[["low", "high"]]
    single = rows[(rows["seed"] != ALL) | ~rows.duplicated(keys, keep=False)]
    table = (
        single.groupby(keys, sort=False)
        .agg(
            value=("value", "mean"),
            sd=("value", "std"),
            seeds=("seed", "size"),
            reason=("reason", "first"),
        )
        .join(overall)
        .reset_index()
    )
    decided = np.select(
        [table["low"] > 0, table["high"] < 0, table["low"].notna()], ["yes", "no", "undecided"], ""
    )
    return table.assign(holds=decided)[
        [*keys, "value", "sd", "seeds", "low", "high", "holds", "reason"]
    ]
