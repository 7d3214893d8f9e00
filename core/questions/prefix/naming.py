"""Which models an image prefix can join: language models that code text behind it, and vision
models that see the image.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.competence.opened import entries_to_measure
from core.competence.records import can_measure
from core.errors import InputError
from core.modalities import Item
from core.questions.prefix.lessons import choose_level
from core.questions.prefix.question import PrefixBits
from core.study.models import reads
from core.study.spaces import by_size, default_spaces, language_beside
from core.study.study import Study


def complete_bits(question: PrefixBits, study: Study) -> PrefixBits:
    """Name models and caption level where none are named.

    Raises UnknownNameError for the level and models, InputError for models that cannot be opened
    again, for language models that do not predict text, and where the store has no models to name.
    """
    level = choose_level(study, question.lessons.level)
    y = _named(study, question.y, "image") or usual_vision(study)
    x = _named(study, question.x, "caption") or usual_language(study, y)
    if not x or not y:
        lacking = [*([] if y else ["vision model"]), *([] if x else ["causal language model"])]
        raise InputError(
            "an image prefix runs a vision model and a causal language model, and over"
            f" {study.dataset.name!r} no {' and no '.join(lacking)} was embedded (imported features"
            " are no model to run); embed one of each (platoscope embed)"
        )
    for name in x:
        if not _is_causal(study, name):
            raise InputError(
                f"{name} does not predict text from left to right, so it can code no caption after"
                " an image; name a causal language model"
            )
    return replace(question, x=x, y=y, lessons=replace(question.lessons, level=level))


def usual_vision(study: Study) -> tuple[str, ...]:
    """Return the vision models that are meant where none are named: the usual ones, of those that
    can be opened again, or else the largest that can.
    """
    names = [space.rpartition(":")[0] for space in default_spaces(study)]
    large = by_size(study, falling=True)
    seeing = large.loc[reads(large, "image"), "model"]
    can = [name for name in seeing if can_measure(study.entry(name))]
    return tuple(name for name in names if name in can) or tuple(can[:1])


def usual_language(study: Study, beside: Sequence[str]) -> tuple[str, ...]:
    """Return the language models that are meant where none are named: the usual ones in the size of
    some vision models, of those that can be opened again and are causal.
    """
    return tuple(
        name
        for name in language_beside(study, beside)
        if can_measure(study.entry(name)) and _is_causal(study, name)
    )


def _named(study: Study, names: Sequence[str], item: Item) -> tuple[str, ...]:
    if names:
        entries_to_measure(study.store, study.dataset.name, names, item)
    return tuple(dict.fromkeys(names))


def _is_causal(study: Study, name: str) -> bool:
    return study.store.text_costs(study.dataset.name, name) is not None
