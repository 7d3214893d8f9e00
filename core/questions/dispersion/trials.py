"""What a stimulus's dispersion does to alignment: vision with language on sets of stimuli that are
chosen by it.

Alignment is scored as everywhere in a study: spaces clamped, rows of length 1.

A set's interval comes of random three quarters of it, with the same k: a draw with replacement
would hold copies, and a copy is the nearest neighbor of its stimulus in every space. Three quarters
vary around the whole by 1/√3 of what the whole varies around the world, so their deviations are
scaled by √3 (Shao, Wu 1989: the jackknife that leaves out many). The interval says how far the
score would be from itself for other stimuli from the same part of the ranking. In simulations of
CKNNA and mutual kNN it is 1.1 to 1.5 times as wide as it had to be, since what two neighbors do
jointly is counted twice; of a ratio 0.9 to 1.05 times, with a coverage of 92 to 96%. (Of halves it
is 1.5 to 1.9 times with half of k; with all of k that of a ratio is too narrow.) It takes as given
the ranking, which the models at hand define, the layers, chosen on all stimuli, and the models, and
it is that of one model: of four without any effect one or more has a ratio whose interval leaves
out 1 in 15 to 22 % of simulations. The p-value asks something else: how often a random set of this
size scores as far from the mean of random sets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int64

from core.errors import MetricError
from core.metrics.spec import MetricSpec
from core.pairs.prepared import one_core_each
from core.pairs.subsets import Rows, SetScores, score_sets
from core.progress import Progress
from core.statistics.intervals import LEVEL, half_interval
from core.statistics.nulls import draw_orders
from core.study.comparing import engine_over, layer_scores
from core.study.parts import Measure
from core.study.selections import Chosen, ends, parts, random_sets, without
from core.study.spaces import Layer, find_spaces
from core.study.study import Study

if TYPE_CHECKING:
    from core.questions.dispersion.question import Trial


class Scorer(NamedTuple):
    """What scores sets of stimuli: every tested space with every language model in its best layer
    for that space.

    refused: language models that have no score, and why.
    """

    tested: list[str]
    languages: list[str]
    layers: Int64[np.ndarray, "X Y"]
    score: SetScores
    refused: dict[str, str]


MOST_HELD = 2  # each holds every neighbor of every stimulus, so that other sets are scored at once


def find_scorer(
    study: Study, tested: tuple[Layer, ...], language: tuple[str, ...], measure: Measure
) -> Scorer:
    """Return what scores sets of stimuli; the last ones are held by the study. Raises as
    `make_scorer`.
    """
    for name in (*(place.model for place in tested), *language):
        study.entry(name)  # notes that it is read, by a scorer that is held, too
    held, key = study.held_scores.scorers, (tested, language, measure)
    if key not in held:
        held[key] = make_scorer(study, tested, language, measure)
        for oldest in list(held)[:-MOST_HELD]:
            held.pop(oldest, None)
    scorer: Scorer = held[key]
    return scorer


def make_scorer(
    study: Study, tested: tuple[Layer, ...], language: tuple[str, ...], measure: Measure
) -> Scorer:
    """Find each language model's best layer for each tested space over all stimuli, and make both
    ready to be scored on sets.
    """
    compared = layer_scores(study, [place.model for place in tested], language, measure)
    best = {
        name: [_best(compared[place.model, name][place.layer], measure) for place in tested]
        for name in language
    }
    languages = [name for name, layers in best.items() if min(layers) >= 0]
    if not languages:
        raise MetricError(
            f"no language model has a score with each of {', '.join(map(str, tested))}; leave one"
            " of them out"
        )
    layers = np.array([best[name] for name in languages]).T
    reason = "no layer of it has a score with each of the tested spaces"
    return Scorer(
        list(map(str, tested)),
        languages,
        layers,
        _over_pairs(study, tested, languages, layers, measure),
        {name: reason for name in best if name not in languages},
    )


def _best(scores: Float64[np.ndarray, " L"], measure: Measure) -> int:
    """Return the most aligned layer, -1 where none has a score."""
    if np.isnan(scores).all():
        return -1
    best = np.nanargmax if measure.spec.higher_is_more_aligned else np.nanargmin
    return int(best(scores))


def _over_pairs(
    study: Study,
    tested: Sequence[Layer],
    languages: Sequence[str],
    layers: Int64[np.ndarray, "X Y"],
    measure: Measure,
) -> SetScores:
    """Score each tested space with each model in the layer chosen for that pair; a layer that
    several pairs share is read once.
    """
    needed = sorted(
        {(name, int(layer)) for row in layers for name, layer in zip(languages, row, strict=True)}
    )
    columns = np.array(
        [
            [needed.index((name, int(layer))) for name, layer in zip(languages, row, strict=True)]
            for row in layers
        ]
    )
    read = {
        name: study.spaces(name)
        for name in dict.fromkeys([*(place.model for place in tested), *languages])
    }
    x, y = ([read[name][layer] for name, layer in places] for places in (tested, needed))
    engine = engine_over(study.size, measure, layers=len(x) + len(y), device=study.device)
    score = score_sets(engine, x, y, k=measure.settings.get("k", 0))
    return lambda rows: np.take_along_axis(score(rows), columns, axis=1)


ALL = ""  # the mean over the models of y
PART = 0.75  # of a set, rounded down
SCALE = np.sqrt(PART / (1 - PART))  # of the deviations of parts; see above
NO_SCORE = "the metric has no value on this set"
NO_RATIO = "a ratio needs positive scores of both sets and of their parts"


class SetScore(NamedTuple):
    """The scores of every pair of spaces on one set and on random parts of it; the last column is
    the mean over y.
    """

    whole: Float64[np.ndarray, "X Y1"]
    parts: Float64[np.ndarray, "draws X Y1"]

    def of(self, rows: slice) -> SetScore:
        """Return the scores of some of x's spaces."""
        return SetScore(self.whole[rows], self.parts[:, rows])


def score_all(
    score: SetScores,
    sets: Sequence[Int64[np.ndarray, " _"]],
    *,
    draws: int,
    seed: int,
    report: Progress | None = None,
) -> list[SetScore]:
    """Score sets, each with `draws` random parts of three quarters of it."""
    jobs = [job for rows in sets for job in (rows, *_draw_parts(rows, draws, seed))]
    scored = []
    with one_core_each() as pool:
        for done, scores in enumerate(pool.map(score, jobs), start=1):
            scored.append(np.concatenate([scores, scores.mean(axis=1, keepdims=True)], axis=1))
            if report:
                report(done, len(jobs), "sets of stimuli")
    each = np.split(np.array(scored), len(sets))
    return [SetScore(scores[0], scores[1:]) for scores in each]


def _draw_parts(rows: Rows, draws: int, seed: int) -> list[Int64[np.ndarray, " _"]]:
    return [
        rows[order < int(PART * len(rows))]
        for order in draw_orders(len(rows), count=draws, seed=seed)
    ]


def effect_table(
    x: Sequence[str],
    y: Sequence[str],
    sets: Mapping[str, SetScore],
    random: Mapping[str, Sequence[SetScore]],
    *,
    spec: MetricSpec,
    ratio: tuple[str, str] | None = None,
) -> pd.DataFrame:
    """Return a row for each pair of spaces and each set, the mean over y as a pair of its own (y is
    then ALL).

    Columns vision, language, set, score, low and high (95%), p, reason: why something is NaN.
    sets: chosen sets by name; p is two-sided against the random sets, NaN where there are none.
    random: at most one name; its score is the mean over the draws, its interval their 2.5 to 97.5%
    quantiles. ratio: adds a set `a/b` whose score is that of a over that of b, with the interval of
    its logarithm from parts of both.
    """
    rows = []
    for a, first in enumerate(x):
        for b, second in enumerate((*y, ALL)):
            drawn = {
                name: np.array([each.whole[a, b] for each in draws])
                for name, draws in random.items()
            }
            null = next(iter(drawn.values()), np.array([]))
            chosen = {name: (one.whole[a, b], one.parts[:, a, b]) for name, one in sets.items()}
            lines = [
                (name, score, *_interval(score, parts, spec), _tail(score, null))
                for name, (score, parts) in chosen.items()
            ]
            lines += [
                (name, scores.mean(), *_quantiles(scores), np.nan) for name, scores in drawn.items()
            ]
            if ratio:
                lines.append(("/".join(ratio), *_ratio(*(chosen[name] for name in ratio)), np.nan))
            rows += [(first, second, *line) for line in lines]
    table = pd.DataFrame(rows, columns=["vision", "language", "set", "score", "low", "high", "p"])
    missing = np.where(table["set"].str.contains("/"), NO_RATIO, NO_SCORE)
    return table.assign(reason=np.where(table["score"].isna(), missing, ""))


def _interval(
    score: float, parts: Float64[np.ndarray, " draws"], spec: MetricSpec
) -> Sequence[float]:
    """Return low and high; scaled, three quarters vary as halves do."""
    return (
        half_interval(score, SCALE * parts, spec=spec).tolist()
        if len(parts) > 1
        else (np.nan, np.nan)
    )


def _quantiles(scores: Float64[np.ndarray, " draws"]) -> Sequence[float]:
    """Return low and high, NaN of one draw, which does not tell how draws differ."""
    if len(scores) < 2:
        return np.nan, np.nan
    interval: Sequence[float] = np.quantile(scores, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
    return interval


def _tail(score: float, null: Float64[np.ndarray, " draws"]) -> float:
    """Return the two-sided p-value of a score among draws, min(1, 2 · (1 + #{as far on its side}) /
    (draws + 1)).
    """
    if not null.size or np.isnan(score) or np.isnan(null).any():
        return np.nan
    above, below = np.count_nonzero(null >= score), np.count_nonzero(null <= score)
    return min(1.0, 2 * (1 + min(above, below)) / (len(null) + 1))


def _ratio(
    over: tuple[float, Float64[np.ndarray, " draws"]],
    under: tuple[float, Float64[np.ndarray, " draws"]],
) -> tuple[float, float, float]:
    """Return a ratio and its interval: the logarithm of parts' ratios varies around its mean as
    that of the whole does.
    """
    if not (
        np.array([over[0], under[0], *over[1], *under[1]]) > 0
    ).all():  # NaN is not above 0 either
        return np.nan, np.nan, np.nan
    ratio, parts = over[0] / under[0], np.log(over[1] / under[1])
    low, high = (
        ratio * np.exp(_quantiles(SCALE * (parts - parts.mean())))
        if len(parts)
        else (np.nan, np.nan)
    )
    return ratio, float(low), float(high)


FULL = "full"
MOST_PAIRS = 3e11  # of stimuli: half an hour to an hour of two cores, by the width of the spaces
COLUMNS = (
    "vision",
    "language",
    "layer",
    "set",
    "size",
    "dispersion",
    "score",
    "low",
    "high",
    "p",
    "reason",
)
Values = Float64[np.ndarray, " n"]


class Sets(NamedTuple):
    """Which sets are compared: those chosen by a ranking, the name of random ones as large, the two
    whose ratio is taken.
    """

    choose: Callable[[Values], Mapping[str, Chosen]]
    random: str
    ratio: tuple[str, str] | None = None


def low_and_high(size: int) -> Sets:
    """Return the sets low, high and random of `size` stimuli, with the ratio low/high."""
    names = ("low", "high")
    return Sets(lambda values: dict(zip(names, ends(values, size), strict=True)), "random", names)


def by_part(count: int) -> Sets:
    """Return the sets 1 (least dispersed) … count of the ranking, and random ones as large."""
    return Sets(
        lambda values: {str(i): part for i, part in enumerate(parts(values, count), 1)}, "random"
    )


def without_ends(dropped: int) -> Sets:
    """Return all stimuli without the most, the least and as many random ones."""
    names = ("without high", "without low")
    return Sets(
        lambda values: dict(zip(names, without(values, dropped), strict=True)), "without random"
    )


def score_trial(
    study: Study,
    trial: Trial,
    measure: Measure,
    groups: Sequence[tuple[slice, Values]],
    sets: Sets,
    report: Progress | None,
) -> pd.DataFrame:
    """Score vision with language on sets of stimuli that rankings choose.

    groups: which tested spaces each ranking is for, with its value per stimulus. Returns a row per
    vision space, language model (one row for their mean, named "") and set, all stimuli (`full`)
    too: vision, language, layer (-1 for the mean), set, size, dispersion (mean over the set),
    score, low, high (95%), p, reason; see `effect_table`. The random sets are the same for all.
    Raises StimuliError for sets that cannot be, MetricError for spaces that have no score over all
    of them.
    """
    tested = find_spaces(study, trial.tested)
    scorer = find_scorer(study, tuple(tested), trial.language, measure)
    every = np.arange(len(groups[0][1]))
    # first, since an impossible size is refused here
    chosen = [(rows, values, sets.choose(values)) for rows, values in groups]
    _check_work([len(part) for _, _, named in chosen for part in named.values()], scorer, trial)
    # parts may differ by one
    size = min(len(part) for _, _, named in chosen for part in named.values())
    random = random_sets(len(every), size, count=trial.repeats, seed=trial.seed)
    full, *drawn = score_all(
        scorer.score, [every, *random], draws=0, seed=trial.seed, report=report
    )
    tables = []
    for rows, values, named in chosen:
        scores = score_all(
            scorer.score, list(named.values()), draws=trial.draws, seed=trial.seed, report=report
        )
        named_scores = {
            name: one.of(rows) for name, one in zip((*named, FULL), (*scores, full), strict=True)
        }
        null = {sets.random: [one.of(rows) for one in drawn]} if drawn else {}
        table = effect_table(
            scorer.tested[rows],
            scorer.languages,
            named_scores,
            null,
            spec=measure.spec,
            ratio=sets.ratio,
        )
        tables.append(_described(table, {**named, FULL: every}, values))
    table = pd.concat(tables, ignore_index=True)
    return _complete(table.assign(size=table["size"].fillna(size).astype(int)), scorer)


def _check_work(sizes: Sequence[int], scorer: Scorer, trial: Trial) -> None:
    """Refuse sets in which comparing all pairs of stimuli, again for each random set and part,
    would take hours.
    """
    draws = 1 + trial.draws * PART**2
    spaces = len(scorer.tested) + len(scorer.languages)
    pairs = spaces * (draws * sum(size**2 for size in sizes) + trial.repeats * min(sizes) ** 2)
    if pairs > MOST_PAIRS:
        raise MetricError(
            f"scoring sets of {max(sizes):,} stimuli, {trial.draws} parts of each and"
            f" {trial.repeats} random ones compares {pairs:.1g} pairs of stimuli; at most"
            f" {MOST_PAIRS:.0g} expected: ask for fewer draws and repeats, or study fewer stimuli"
        )


def _described(table: pd.DataFrame, chosen: Mapping[str, Chosen], values: Values) -> pd.DataFrame:
    """Add the chosen sets' size and mean dispersion, NaN for random sets and ratios; all stimuli
    are no set with a p-value.
    """
    size = table["set"].map({name: len(part) for name, part in chosen.items()})
    dispersion = table["set"].map(
        {name: float(values[part].mean()) for name, part in chosen.items()}
    )
    return table.assign(size=size, dispersion=dispersion, p=table["p"].where(table["set"] != FULL))


def _complete(table: pd.DataFrame, scorer: Scorer) -> pd.DataFrame:
    """Add the language models' layers, and a row for each model without a score."""
    layers = {
        (x, y): layer
        for x, row in zip(scorer.tested, scorer.layers, strict=True)
        for y, layer in zip(scorer.languages, row.tolist(), strict=True)
    }
    table = table.assign(
        layer=[
            layers.get(pair, -1) for pair in zip(table["vision"], table["language"], strict=True)
        ]
    )
    refused = [
        (space, name, -1, FULL, reason)
        for name, reason in scorer.refused.items()
        for space in scorer.tested
    ]
    missing = pd.DataFrame(
        refused, columns=["vision", "language", "layer", "set", "reason"], index=None
    )
    return (
        pd.concat([table, missing], ignore_index=True)[list(COLUMNS)]
        if refused
        else table[list(COLUMNS)]
    )
