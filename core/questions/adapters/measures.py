"""What linear adapters do on stimuli that taught them nothing: alignment with a reference, and
retrieval across encoders.

The proposal's inequality: m(K_repr, K_ref) > mean over encoders of m(K_encoder, K_ref), where
K_repr is the kernel of the vectors in the common space. Its left side minus its right is called the
gain, positive where adapters bring nearer to the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float, Float32, Float64

from core.errors import InputError, MetricError
from core.metrics import METRICS
from core.progress import tell_each
from core.questions.adapters.baselines import METHODS
from core.questions.adapters.maps.model import Adapters, Parts, compared, joined
from core.questions.adapters.parts import FEWEST_DRAWS, Products
from core.questions.adapters.retrieval import DEPTHS, median_rank, rank_own, recall
from core.statistics.intervals import LEVEL, draw_halves
from core.study.parts import Measure

ENCODERS, REFERENCE, PAIRS = (
    "encoders",
    "reference",
    "pairs",
)  # of what a table is; pairs of stimuli trained
FIGURES = ("seed", "value", "low", "high", "reason")
COLUMNS = ("measure", "method", "what", *FIGURES)
ALIGNMENT, GAIN, OWN, RECALL, RANK = "alignment", "gain", "own_gain", "recall", "median_rank"
BEFORE, CENTERED, ADAPTERS, CHANCE = "before", "centered", "adapters", "chance"
AVERAGE, MEAN = "average", "mean"
UNTRAINED = "untrained"  # 1 where the first weights stayed the best
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
    """Return one row with COLUMNS: what was measured, by what method, of what, and its interval
    from low to high where it has one.
    """
    cells = (measure, method, what, seed, value, *interval, reason)
    return dict(zip(COLUMNS, cells, strict=True))


def views_before(
    spaces: Views, parts: Parts, *, centered: bool, products: Products = "cosine"
) -> dict[str, Space]:
    """Return each encoder's test stimuli, with rows of length 1 for cosines; centered: less the
    mean of the training stimuli.

    Adapters center, too: what that alone does must not be mistaken for theirs.
    """
    middles = {
        name: space[parts.train].mean(axis=0) if centered else 0 for name, space in spaces.items()
    }
    return {
        name: compared(space[parts.test] - middles[name], products)
        for name, space in spaces.items()
    }


def views_after(
    adapters: Adapters, spaces: Views, parts: Parts
) -> dict[str, Float32[np.ndarray, "_ width"]]:
    """Return the test stimuli in the common space by each encoder, and as the MEAN of all."""
    adapted = adapters.apply({name: space[parts.test] for name, space in spaces.items()})
    return {**adapted, MEAN: joined(adapted, adapters.products)}


def score_views(views: Views, reference: Space, measure: Measure) -> dict[str, float]:
    """Return the alignment of each view with the reference over the same stimuli; raises
    MetricError as the metric does.
    """
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
    where a formula tells it.

    reference: over all stimuli, as the spaces are.
    """
    truth = compared(reference[parts.test], products)
    chance = METRICS[measure.metric].chance_level(len(truth), measure.changed)
    rows = [
        row(
            ALIGNMENT,
            CHANCE,
            AVERAGE,
            chance,
            reason="" if np.isfinite(chance) else "no formula is known for this metric's chance",
        )
    ]
    for method in (BEFORE, CENTERED):
        scores = score_views(
            views_before(spaces, parts, centered=method == CENTERED, products=products),
            truth,
            measure,
        )
        average = float(np.mean(list(scores.values())))
        rows += [
            row(ALIGNMENT, method, what, score)
            for what, score in {**scores, AVERAGE: average}.items()
        ]
    return rows


class Scores(NamedTuple):
    """Alignment of some views with the reference, by name: over all test stimuli, and over each of
    some random halves.
    """

    whole: dict[str, float]
    halves: Float64[np.ndarray, "draws views"]


def score_halves(views: Views, truth: Space, measure: Measure, *, draws: int, seed: int) -> Scores:
    """Score views, and score them on `draws` random halves of the same stimuli, k being no more
    than a fourth of a half.

    Of one seed the halves are always the same, so that scores can be compared half by half.
    Raises MetricError where a half has no score, and for fewer than FEWEST_DRAWS.
    """
    if draws < FEWEST_DRAWS:
        raise MetricError(
            f"a 95% interval needs {FEWEST_DRAWS} draws or more, so that one lies beyond each of"
            f" its ends; got {draws}"
        )
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
    the mean gains with intervals.

    GAIN is over the average encoder before, the proposal's inequality. OWN is over the encoder
    itself, and for the mean of all over the encoder that was best alone: what adapters add to what
    was there. before: of `views_before`; after: of `views_after`, one per seed; all over the same
    halves. The 95% interval is paired: on each half both sides are measured, and how their
    difference, averaged over seeds, varies around its mean is laid around the gain, as for
    `half_interval`, but not at half of k, which would make each side noisier by itself. To each
    half comes how far the mean gain moves over one seed fewer than there are, drawn with
    replacement (as many would vary too little, by a factor of √(1 − 1/seeds)). So it covers other
    test stimuli and other seeds (weights at the start, order and choice of the training pairs), not
    other encoders, layers or worlds; with one seed it covers stimuli alone. seed: of the draws. In
    simulations with a true gain of 0, for 5 %: it misses 0 in 0.5 to 3 % by mutual kNN (k = 10, 48
    to 256 test stimuli, 1 and 5 seeds), being 1.1 to 1.4 times as wide as the gain varies, since
    what neighbors do jointly counts too often; by CKA in 3 to 5%. Source: Politis, Romano 1994
    (subsampling); Rao, Wu 1988 (one draw fewer).
    """
    toward = 1 if measure.spec.higher_is_more_aligned else -1
    alone = np.array(list(before.whole.values()))
    own = [*range(len(alone)), int(np.argmax(toward * alone))]
    whats, reached = (
        list(after[0].whole),
        np.array([list(scores.whole.values()) for scores in after]),
    )
    rows = [
        row(ALIGNMENT, ADAPTERS, what, float(value), seed=number)
        for number, values in enumerate(reached)
        for what, value in zip(whats, values, strict=True)
    ]
    halves = np.mean([scores.halves for scores in after], axis=0)
    for kind, base in ((GAIN, _average), (OWN, lambda scores: scores[..., own])):
        gains = toward * (reached - base(alone))
        spread = _quantiles_of_mean(toward * (halves - base(before.halves)), gains, seed=seed)
        rows += _gains(kind, whats, gains, gains.mean(axis=0) + spread)
    return rows


def _average(scores: Float64[np.ndarray, "*draws encoders"]) -> Float64[np.ndarray, "*draws 1"]:
    average: np.ndarray = scores.mean(axis=-1, keepdims=True)
    return average


def _gains(
    measure: str,
    whats: Sequence[str],
    gains: Float64[np.ndarray, "seeds whats"],
    ends: Float64[np.ndarray, "2 whats"],
) -> list[Row]:
    rows = []
    for what, each, low, high in zip(whats, gains.T, *ends, strict=True):
        rows += [
            row(measure, ADAPTERS, what, float(gain), seed=number)
            for number, gain in enumerate(each)
        ]
        rows.append(
            row(measure, ADAPTERS, what, float(each.mean()), interval=(float(low), float(high)))
        )
    return rows


def _quantiles_of_mean(
    halves: Float64[np.ndarray, "draws whats"],
    gains: Float64[np.ndarray, "seeds whats"],
    *,
    seed: int,
) -> Float64[np.ndarray, "2 whats"]:
    """Return how far the mean gain varies: the quantiles of the halves' gains, each over seeds
    drawn again, less their mean.
    """
    seeds = len(gains)
    drawn = max(1, seeds - 1)
    weights = (
        np.random.default_rng(seed).multinomial(drawn, np.full(seeds, 1 / seeds), size=len(halves))
        / drawn
    )
    means = halves + weights @ gains
    spread: np.ndarray = np.quantile(
        means - means.mean(axis=0), ((1 - LEVEL) / 2, (1 + LEVEL) / 2), axis=0
    )
    return spread


def retrieval_rows(spaces: Views, after: Views, parts: Parts, *, seed: int) -> list[Row]:
    """Measure retrieval of the test stimuli from each encoder to each other one, by the adapters
    and by METHODS, next to chance.

    Recall at 1, 5 and 10 and the median rank (see `core.questions.adapters.retrieval`); NaN with
    the reason where a method cannot be had.
    """
    rows = []
    for query, candidates in permutations(spaces, 2):
        what = f"{query} → {candidates}"
        rows += _retrieved(ADAPTERS, what, seed, partial(_pick, after, query, candidates))
        for name, method in METHODS.items():
            rows += _retrieved(
                name, what, seed, partial(method, spaces[query], spaces[candidates], parts)
            )
        n = len(parts.test)
        rows += [row(f"{RECALL}_{k}", CHANCE, what, min(k / n, 1.0), seed=seed) for k in DEPTHS]
        rows.append(row(RANK, CHANCE, what, (n + 1) / 2, seed=seed))
    return rows


def _pick(views: Views, query: str, candidates: str) -> tuple[Space, Space]:
    return views[query], views[candidates]


def _retrieved(
    method: str, what: str, seed: int, compare: Callable[[], tuple[Space, Space]]
) -> list[Row]:
    try:
        ranks, reason = rank_own(*compare()), ""
    except (InputError, np.linalg.LinAlgError) as error:
        ranks, reason = None, str(error)
    values = {f"{RECALL}_{k}": recall(ranks, k) if ranks else np.nan for k in DEPTHS}
    values[RANK] = median_rank(ranks) if ranks else np.nan
    return [
        row(name, method, what, value, seed=seed, reason=reason) for name, value in values.items()
    ]


def summarize(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over seeds, per measure, method, what and whatever else distinguishes rows:
    value, sd, seeds (how many), low, high, holds, reason.

    holds: of a gain by its interval, what becomes of the proposal's inequality: "yes", "no" or
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
