"""What scores sets of stimuli: tested spaces with language models, each in its best layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int64

from core.errors import MetricError
from core.pairs.subsets import SetScores, score_sets
from core.study.comparing import engine_over, layer_scores
from core.study.parts import Measure
from core.study.spaces import Layer
from core.study.study import Study


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
