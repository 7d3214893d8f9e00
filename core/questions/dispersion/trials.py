"""What a stimulus's dispersion does to alignment: vision with language on sets of stimuli that are
chosen by it.

Alignment is scored as everywhere in a study: spaces clamped, rows of length 1. Tables are kept in
the store with their recipe.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int64

from core.errors import MetricError
from core.metrics import METRICS
from core.metrics.engines import make_engine
from core.pairs.subsets import SetScores, score_sets
from core.progress import Progress
from core.questions.dispersion.set_effects import PART, effect_table, score_all
from core.recipe import Recipe
from core.study.comparing import layer_scores
from core.study.consensus import disperse, find_summary, recipe_of
from core.study.keeping import keep
from core.study.selections import Chosen, count_share, ends, parts, random_sets, without
from core.study.spaces import Layer, default_language, find_spaces
from core.study.study import Study

FULL = "full"
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


@dataclass(frozen=True)
class Trial:
    """What stimuli are ranked by, and whose alignment is measured on sets of them.

    by: a summary of `disperse`, or a space of the consensus for its own residuals. tested: spaces;
    the consensus's own where it is empty. language: models, each in the layer that aligns best on
    all stimuli; `default_language` where it is empty. cross_fitted: rank for each tested space by
    the dispersion of the other models alone. repeats: random sets; 0 for none. draws: random three
    quarters of each chosen set, for its interval; 0 for none.
    """

    by: str = "mean"
    tested: tuple[str, ...] = ()
    language: tuple[str, ...] = ()
    cross_fitted: bool = False
    centering: str = "features"
    metric: str = "cknna"
    parameters: tuple[tuple[str, Any], ...] = ()
    repeats: int = 50
    draws: int = 100
    seed: int = 0


class Sets(NamedTuple):
    """Which sets are compared: those chosen by a ranking, the name of random ones as large, the two
    whose ratio is taken.
    """

    choose: Callable[[Values], Mapping[str, Chosen]]
    random: str
    ratio: tuple[str, str] | None = None


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


def effect(
    study: Study,
    spaces: Sequence[str],
    *,
    size: int,
    trial: Trial | None = None,
    report: Progress | None = None,
) -> pd.DataFrame:
    """Score vision with language on the `size` least and most dispersed stimuli and on random sets
    of as many.

    Returns a row per vision space, language model (one row for their mean, named "") and set (low,
    high, random, full, low/high): vision, language, layer (-1 for the mean), set, size, dispersion
    (mean over the set), score, low, high (95 %), p, reason; see `effect_table`. `spaces` define
    dispersion; they may be of language models, if the trial names vision ones to be tested. Raises
    UnknownNameError, StimuliError for a size above n/2, MetricError for spaces that have no score
    over all stimuli.
    """
    sets = Sets(
        lambda values: dict(zip(("low", "high"), ends(values, size), strict=True)),
        "random",
        ("low", "high"),
    )
    return _kept(study, spaces, trial or Trial(), sets, Recipe.of("effect", size=size), report)


def by_part(
    study: Study,
    spaces: Sequence[str],
    *,
    count: int = 10,
    trial: Trial | None = None,
    report: Progress | None = None,
) -> pd.DataFrame:
    """Score vision with language on each part of the ranking, tenths by default: sets 1 (least
    dispersed) … count, random, full.

    Else as `effect`.
    """
    sets = Sets(
        lambda values: {str(i): part for i, part in enumerate(parts(values, count), 1)}, "random"
    )
    return _kept(study, spaces, trial or Trial(), sets, Recipe.of("by-part", count=count), report)


def drop(
    study: Study,
    spaces: Sequence[str],
    *,
    share: float = 0.25,
    trial: Trial | None = None,
    report: Progress | None = None,
) -> pd.DataFrame:
    """Score vision with language without the most or the least dispersed share of all stimuli, and
    without as many random ones.

    Sets `without high`, `without low`, `without random`, full; else as `effect`.
    """
    names, dropped = ("without high", "without low"), count_share(share, study.size)
    sets = Sets(
        lambda values: dict(zip(names, without(values, dropped), strict=True)), "without random"
    )
    return _kept(study, spaces, trial or Trial(), sets, Recipe.of("drop", dropped=dropped), report)


def _kept(
    study: Study,
    spaces: Sequence[str],
    trial: Trial,
    sets: Sets,
    kind: Recipe,
    report: Progress | None,
) -> pd.DataFrame:
    defining, tested = find_spaces(study, spaces), find_spaces(study, trial.tested or spaces)
    languages = list(trial.language or default_language(study))
    if not languages:
        raise MetricError(
            f"language models to align with expected; dataset {study.dataset.name} has none: embed"
            " one, or name some"
        )
    given = [*dict.fromkeys(place.model for place in tested), *languages]
    if twice := sorted({name for name in given if given.count(name) > 1}):
        raise MetricError(
            f"each model once, tested or as a language model, expected; given {', '.join(twice)}"
            " more than once"
        )
    choices = {
        **vars(trial),
        **kind.choices,
        "tested": list(map(str, tested)),
        "language": languages,
        "parts": PART,
    }
    scored = {name: choices[name] for name in ("tested", "language", "metric", "parameters")}

    def score() -> pd.DataFrame:
        scorer = _scorer(study, study.recipe("scorer", given, **scored))
        if trial.cross_fitted:
            others = [[one for one in defining if one.model != place.model] for place in tested]
            groups = [
                (slice(at, at + 1), _ranking(study, places, trial))
                for at, places in enumerate(others)
            ]
        else:
            groups = [(slice(None), _ranking(study, defining, trial))]
        return _scored(scorer, groups, sets, trial, report)

    return keep(
        study,
        recipe_of(
            study, kind.kind, defining, tested_with=study.recipe("tested", given).digest, **choices
        ),
        score,
    )


def _ranking(study: Study, places: Sequence[Layer], trial: Trial) -> Values:
    by = find_summary(trial.by, places)
    return disperse(study, list(map(str, places)), centering=trial.centering)[by].to_numpy()


@lru_cache(
    maxsize=2
)  # each holds every neighbor of every stimulus, so that sets of another size are scored at once
def _scorer(study: Study, recipe: Recipe) -> Scorer:
    """Find each language model's best layer for each tested space over all stimuli, and make both
    ready to be scored on sets.
    """
    chosen = recipe.choices
    metric, parameters = chosen["metric"], dict(chosen["parameters"])
    tested = find_spaces(study, chosen["tested"])
    compared = layer_scores(
        study, [place.model for place in tested], chosen["language"], metric=metric, **parameters
    )
    best = {
        name: [_best(compared[place.model, name][place.layer], metric) for place in tested]
        for name in chosen["language"]
    }
    languages = [name for name, layers in best.items() if min(layers) >= 0]
    refused = {
        name: "no layer of it has a score with each of the tested spaces"
        for name in best
        if name not in languages
    }
    if not languages:
        raise MetricError(
            f"no language model has a score with each of {', '.join(chosen['tested'])}; leave one"
            " of them out"
        )
    layers = np.array([best[name] for name in languages]).T
    return Scorer(
        chosen["tested"],
        languages,
        layers,
        _over_pairs(study, tested, languages, layers, metric, parameters),
        refused,
    )


def _best(scores: Float64[np.ndarray, " L"], metric: str) -> int:
    """Return the most aligned layer, -1 where none has a score."""
    if np.isnan(scores).all():
        return -1
    return int(
        np.nanargmax(scores)
        if METRICS[metric].spec.higher_is_more_aligned
        else np.nanargmin(scores)
    )


def _over_pairs(
    study: Study,
    tested: Sequence[Layer],
    languages: Sequence[str],
    layers: np.ndarray,
    metric: str,
    parameters: Mapping[str, Any],
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
    complete = METRICS[metric].complete(parameters)
    score = score_sets(make_engine(metric, **complete), x, y, k=complete.get("k", 0))
    return lambda rows: np.take_along_axis(score(rows), columns, axis=1)


def _scored(
    scorer: Scorer,
    groups: Sequence[tuple[slice, Values]],
    sets: Sets,
    trial: Trial,
    report: Progress | None,
) -> pd.DataFrame:
    """Score the sets that each ranking chooses for the spaces it is for; the random sets are the
    same for all.
    """
    every = np.arange(len(groups[0][1]))
    chosen = [
        (rows, values, sets.choose(values)) for rows, values in groups
    ]  # first, since an impossible size is refused here
    size = min(
        len(part) for _, _, named in chosen for part in named.values()
    )  # parts may differ by one
    random = random_sets(len(every), size, count=trial.repeats, seed=trial.seed)
    full, *drawn = score_all(
        scorer.score, [every, *random], draws=0, seed=trial.seed, report=report
    )
    tables = []
    for rows, values, named in chosen:
        scores = score_all(
            scorer.score, list(named.values()), draws=trial.draws, seed=trial.seed, report=report
        )
        found = {
            name: one.of(rows) for name, one in zip((*named, FULL), (*scores, full), strict=True)
        }
        null = {sets.random: [one.of(rows) for one in drawn]} if drawn else {}
        table = effect_table(
            scorer.tested[rows],
            scorer.languages,
            found,
            null,
            spec=METRICS[trial.metric].spec,
            ratio=sets.ratio,
        )
        tables.append(_described(table, {**named, FULL: every}, values))
    table = pd.concat(tables, ignore_index=True)
    return _complete(table.assign(size=table["size"].fillna(size).astype(int)), scorer)


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
