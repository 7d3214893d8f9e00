"""Competence: do better models agree more, and does agreement tell what a model can do?"""

from __future__ import annotations

from core.questions.competence.question import Contenders, contending
from pages._parts.trends import bins, downstream, scores, training
from pages._shared import bar, controls, frame, queries
from pages._shared.queries import Place


def show(at: Place) -> None:
    """Draw figures 2 (left) and 4 of the published work, alignment along training, and every value
    with its origin.
    """
    frame.need_stimuli(at)
    if queries.models(at).empty:
        frame.need_readers(at, "caption", "image")
    with bar.controls_bar():
        contenders = _pick(at)
        comparison = controls.pick_comparison(queries.size(at))
    bins.show(at, contenders, comparison)
    downstream.show(at, contenders, comparison)
    training.show(at, comparison)
    scores.show(at)
    scores.show_import(at)


def _pick(at: Place) -> Contenders:
    """Choose the vision and language models that count."""
    options, every = controls.options_by_name(Contenders), queries.models(at)
    with bar.more():
        unfinished = controls.pick_unfinished(options["unfinished"], every)
    models = contending(every, Contenders(unfinished=unfinished))
    names = controls.pick_models(options["models"], models) if len(models) else ()
    return Contenders(names, unfinished)
