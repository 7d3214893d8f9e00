"""Translation with no pairs given: over numbers of stimuli, and pairs of models."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
from jaxtyping import Float32

from core.errors import InputError
from core.progress import Progress
from core.questions.registry import Answer, declare
from core.questions.translation.findings import (
    pairs_findings,
    translation_findings,
)
from core.questions.translation.kinds import kinds_of
from core.questions.translation.matching import has_transport
from core.questions.translation.measuring import (
    COLUMNS,
    check_sizes,
    draw_sets,
    measure_pairs,
    methods_of,
)
from core.questions.translation.question import (
    SIZE,
    Matching,
    Translation,
    TranslationPairs,
)
from core.statistics.nulls import adjust
from core.study.models import UNTRAINED, clusters, is_reality, trained, usual
from core.study.spaces import Layer, by_size, find_space, find_spaces, largest_models
from core.study.study import Study, known_worlds

SIZES = (16, 32, 64, 128)
NO_TRANSPORT = (
    "Left out: Gromov–Wasserstein, since POT is not installed: pip install"
    " 'platoscope[translation]'."
)
HIDDEN = ("draws", "rank_low", "rank_high", "chance_low", "chance_high", "p")


def installed(matching: Matching) -> Matching:
    """Return the matching by the methods that are installed, of both; raises InputError for one
    that is named and is not.
    """
    if matching.method == "both" and not has_transport():
        return replace(matching, method="qap")
    methods_of(matching)
    return matching


def not_installed(_: Study) -> list[str]:
    """Say which method is not installed."""
    return [] if has_transport() else [NO_TRANSPORT]


def complete_translation(question: Translation, study: Study) -> Translation:
    """Name the two largest vision models of two objectives where none are named, else two usual
    models, and all layers.

    Raises UnknownNameError for spaces, MetricError for one space twice and for sizes, InputError
    where there are no two models and for a method that is not installed.
    """
    question = replace(question, matching=installed(question.matching))
    sizes = usual_sizes(question, study.size)
    check_sizes(sizes, study.size, question.matching.k)
    models = usual(study.models())
    usual_names = [*largest_models(study), *models.loc[~is_reality(models), "model"]]
    named = [find_space(study, one).model for one in (question.a, question.b) if one]
    others = [one for one in dict.fromkeys(usual_names) if one not in named]
    if len(others) < 2 - len(named):
        raise InputError("a translation takes two models; embed another one, or name two")
    first = question.a or others.pop(0)
    second = question.b or others.pop(0)
    a, b = find_spaces(study, [first, second])
    return replace(question, a=str(a), b=str(b), sizes=sizes)


def usual_sizes(question: Translation, stimuli: int) -> tuple[int, ...]:
    """Return the numbers of stimuli that are matched, rising: where none is named those of SIZES
    that there are, and that have neighbors, or else all stimuli.
    """
    fitting = [size for size in SIZES if question.matching.k < size <= stimuli]
    return tuple(sorted(set(question.sizes or fitting or [stimuli])))


def translate(question: Translation, study: Study, report: Progress | None) -> pd.DataFrame:
    """Return a row per number of stimuli and method: space_x, space_y and COLUMNS, see
    `core.questions.translation.measuring.measure_pairs`; q: p adjusted for all rows.
    """
    matching = question.matching
    x, y = (_read(study, find_space(study, name)) for name in (question.a, question.b))
    rows = []
    for done, size in enumerate(question.sizes):
        if report:
            report(done, len(question.sizes), "numbers of stimuli")
        sets = draw_sets(len(x), size, draws=matching.draws, seed=matching.seed)
        rows += measure_pairs([(x[one], y[one]) for one in sets], matching)
    if report:
        report(len(question.sizes), len(question.sizes), "numbers of stimuli")
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    table.insert(0, "space_x", question.a)
    table.insert(1, "space_y", question.b)
    return _adjusted(table)


def _adjusted(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(q=adjust(table["p"].to_numpy(float)))


def _read(study: Study, place: Layer) -> Float32[np.ndarray, "n _"]:
    return study.spaces(place.model)[place.layer]


declare(
    Translation,
    Answer(
        translate,
        version=2,
        complete=complete_translation,
        findings=translation_findings,
        left_out=not_installed,
        hidden=HIDDEN,
    ),
)


def complete_pairs(question: TranslationPairs, study: Study) -> TranslationPairs:
    """Name the spaces that are meant where none are named, and all layers; raises as
    `complete_translation`.
    """
    question = replace(question, matching=installed(question.matching))
    if question.size == SIZE > study.size:  # that is meant where none is named
        question = replace(question, size=study.size)
    check_sizes([question.size], study.size, question.matching.k)
    spaces = find_spaces(study, question.spaces or usual_models(study))
    if len(spaces) < 2:
        raise InputError(f"two spaces or more expected; got {len(spaces)}: name or embed another")
    return replace(question, spaces=tuple(map(str, spaces)))


def usual_models(study: Study) -> list[str]:
    """Return the largest model of each objective and family in all its seeds, and reality."""
    models = study.models()
    largest = by_size(study)
    largest = largest.groupby(largest["model"].map(clusters(largest, "group"))).last()
    seeds = trained(models)
    seeds = seeds[seeds["varies"].isin(["", "seed"]) & (seeds["group"] != UNTRAINED)]
    names = seeds.loc[seeds["recipe"].isin(largest["recipe"]) & ~is_reality(seeds), "model"]
    return [*names, *known_worlds(study)]


def translate_pairs(
    question: TranslationPairs, study: Study, report: Progress | None
) -> pd.DataFrame:
    """Return a row per pair of spaces and method: space_x, space_y, kind (what the two have in
    common: one recipe, descent, a modality, or none) and the columns of `translate`.
    """
    places = find_spaces(study, question.spaces)
    matching, held = question.matching, {place: _read(study, place) for place in places}
    sets = list(draw_sets(study.size, question.size, draws=matching.draws, seed=matching.seed))
    kinds = dict(kinds_of(study, places))
    tables = []
    for done, pair in enumerate(pairs := list(combinations(places, 2))):
        if report:
            report(done, len(pairs), "pairs of spaces")
        x, y = (held[place] for place in pair)
        rows = pd.DataFrame(measure_pairs([(x[one], y[one]) for one in sets], matching))
        about = {"space_x": str(pair[0]), "space_y": str(pair[1]), "kind": kinds[pair]}
        tables.append(rows.assign(**about))
    if report:
        report(len(pairs), len(pairs), "pairs of spaces")
    table = pd.concat(tables, ignore_index=True)
    return _adjusted(table[["space_x", "space_y", "kind", *COLUMNS]])


declare(
    TranslationPairs,
    Answer(
        translate_pairs,
        version=1,
        complete=complete_pairs,
        findings=pairs_findings,
        left_out=not_installed,
        hidden=("low", "high", *HIDDEN),
    ),
)
