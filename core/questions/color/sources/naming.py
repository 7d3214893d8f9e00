"""From the names of a question's sources to the sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from core.errors import InputError
from core.options import options_of, value_of
from core.questions.color.geometry.defaults import SHIPPED
from core.questions.color.question import (
    CAPTIONS,
    OWN,
    PERCEPTION,
    PIXELS,
    VECTORS,
    SourceQuestion,
    foreign_options,
    kind_of,
)
from core.questions.color.sources.language import LanguageModel, choose_model, ends
from core.questions.color.sources.pixels import Pixels, check_finite, check_shipped
from core.questions.color.sources.source import Source
from core.questions.color.sources.words import Captions, Perception, Vectors
from core.study.study import Study

SHOWN = {"pixels": f"{PIXELS}IMAGES", "language": "language models"}
S = TypeVar("S", bound=SourceQuestion)


def name_sources(question: S, study: Study) -> S:
    """Return the question with its sources named, the usual ones where it names none.

    Raises InputError for options that none of them has and for a source named twice,
    UnknownNameError and MetricError as `choose_model`.
    """
    chosen = question.source or usual_sources(study.dataset.name, [*ends(study)])
    sources = tuple(
        choose_model(study, one) if kind_of(one) == "language" else one for one in chosen
    )
    if twice := [one for one in dict.fromkeys(sources) if sources.count(one) > 1]:
        raise InputError(f"{twice[0]} is named twice; leave one out")
    check_finite(radius=question.counting.radius, smoothing=question.counting.smoothing)
    _check_options(question, sources)
    return replace(question, source=sources)


def usual_sources(dataset: str, models: Sequence[str]) -> tuple[str, ...]:
    """Return perception, pixels, captions and some language models, such as the best and worst."""
    return (PERCEPTION, PIXELS + SHIPPED, PIXELS + dataset, CAPTIONS, *models)


def open_source(question: SourceQuestion, name: str) -> Source:
    """Return the source that a name of a complete question means."""
    alone = question.of(name)
    match kind_of(name):
        case "perception":
            return Perception()
        case "captions":
            return Captions(alone.counting)
        case "pixels":
            return Pixels(name.removeprefix(PIXELS), alone.counting)
        case "vectors":
            return Vectors(name.removeprefix(VECTORS), question.palette.words)
        case "language":
            return LanguageModel(name, alone.reading)


def _check_options(question: SourceQuestion, sources: tuple[str, ...]) -> None:
    """Refuse options that none of the sources has."""
    foreign = foreign_options(sources)
    changed = [
        one
        for one in options_of(type(question))
        if one.name in foreign and value_of(question, one) != one.default
    ]
    if changed and PIXELS + SHIPPED in sources:
        check_shipped(question.counting)
    if changed:
        kinds = [SHOWN.get(kind, kind) for kind in OWN if changed[0].name in OWN[kind]]
        raise InputError(
            f"{changed[0].flag} belongs to {' and '.join(kinds)}; leave it out, or add such a"
            " source"
        )
