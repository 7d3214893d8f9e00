"""What a stimulus's dispersion does to alignment: vision with language on sets of stimuli that are
chosen by it.

Alignment is scored as everywhere in a study: spaces clamped, rows of length 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np
import pandas as pd
from jaxtyping import Float64

from core.errors import MetricError
from core.progress import Progress
from core.questions.asking import ask
from core.questions.dispersion.consensus import check_summary
from core.questions.dispersion.question import (
    Ranking,
    SetsQuestion,
    Spaces,
    StimulusDispersion,
    Trial,
    models_of,
)
from core.questions.dispersion.scorer import Scorer, find_scorer
from core.questions.dispersion.set_effects import PART, effect_table, score_all
from core.study.models import reads
from core.study.selections import Chosen, ends, parts, random_sets, without
from core.study.spaces import by_size, default_language, find_spaces, name_spaces
from core.study.study import Study

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

S = TypeVar("S", bound=SetsQuestion)


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


def complete_trial(question: S, study: Study) -> S:
    """Name the spaces and language models that are meant where none are named.

    Raises UnknownNameError and MetricError for what is not there, or is there twice.
    """
    spaces = name_spaces(study, question.ranking.spaces)
    ranking = replace(question.ranking, spaces=spaces)
    language = question.trial.language or tuple(default_language(study))
    named = question.trial.tested or ranking.spaces
    if not question.trial.tested and {one.model for one in find_spaces(study, named)} & {*language}:
        models = by_size(study)  # the usual spaces are of language if few models see
        named = tuple(models.loc[reads(models, "image"), "model"])
    tested = find_spaces(study, named)
    question.measure.settings  # noqa: B018 - raises for a metric or a parameter that is not there
    if not question.trial.cross_fitted:
        check_summary(ranking.by, ranking.spaces)
    _check_models(study, list(dict.fromkeys(place.model for place in tested)), language)
    trial = replace(question.trial, tested=tuple(map(str, tested)), language=language)
    return replace(question, ranking=ranking, trial=trial)


def _check_models(study: Study, tested: Sequence[str], language: Sequence[str]) -> None:
    if not tested:
        raise MetricError(
            f"expected vision models to test; dataset {study.dataset.name} has none: embed one, or"
            " name some with --tested"
        )
    if not language:
        raise MetricError(
            f"expected language models to align with; dataset {study.dataset.name} has none: embed"
            " one, or name some"
        )
    named = [*tested, *language]
    if twice := sorted({name for name in named if named.count(name) > 1}):
        raise MetricError(
            f"expected each model once, tested or as a language model; got {', '.join(twice)}"
            " more than once"
        )


def score_trial(
    question: SetsQuestion, study: Study, sets: Sets, report: Progress | None
) -> pd.DataFrame:
    """Score vision with language on sets of stimuli that the ranking chooses.

    Returns a row per vision space, language model (one row for their mean, named "") and set, all
    stimuli (`full`) too: vision, language, layer (-1 for the mean), set, size, dispersion (mean
    over the set), score, low, high (95 %), p, reason; see `effect_table`. The spaces that rank may
    be of language models, if the trial names vision ones to be tested. question: complete. Raises
    StimuliError for sets that cannot be, MetricError for spaces that have no score over all of
    them.
    """
    trial = question.trial
    tested = find_spaces(study, trial.tested)
    scorer = find_scorer(study, tuple(tested), trial.language, question.measure)
    return _score(scorer, _groups(question, study, report), sets, question, report)


def _groups(
    question: SetsQuestion, study: Study, report: Progress | None
) -> list[tuple[slice, Values]]:
    """Return which tested spaces each ranking is for; one for each where it is cross-fitted."""
    ranking = question.ranking
    if not question.trial.cross_fitted:
        return [(slice(None), _values(question, ranking, study, report))]
    groups = []
    for at, place in enumerate(find_spaces(study, question.trial.tested)):
        others = [one for one in ranking.spaces if models_of((one,)) != (place.model,)]
        values = _values(question, replace(ranking, spaces=tuple(others)), study, report)
        groups.append((slice(at, at + 1), values))
    return groups


def _values(
    question: SetsQuestion, ranking: Ranking, study: Study, report: Progress | None
) -> Values:
    check_summary(ranking.by, ranking.spaces)
    joint = Spaces(ranking.spaces, ranking.centering)
    table = ask(StimulusDispersion(question.scope, joint), study, report)
    return table[ranking.by].to_numpy()


def _score(
    scorer: Scorer,
    groups: Sequence[tuple[slice, Values]],
    sets: Sets,
    question: SetsQuestion,
    report: Progress | None,
) -> pd.DataFrame:
    """Score the sets that each ranking chooses for the spaces it is for; the random sets are the
    same for all.
    """
    trial, every = question.trial, np.arange(len(groups[0][1]))
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
            spec=question.measure.spec,
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
