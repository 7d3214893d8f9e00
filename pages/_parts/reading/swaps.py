"""What probes are worth in spaces of other models, without training."""

from __future__ import annotations

import streamlit as st

from core.options import build
from core.questions.finding import sentences
from core.questions.swapping.question import Swap, factor_plot, seconds_for, usual_spaces
from core.study.models import is_reality
from pages._shared import bar, controls, exportbar, frame, prose, queries, section
from pages._shared.queries import Place

METHODS = """A probe learns to tell a factor from one model's vectors and is then used on another
model's; the two spaces are joined by **anchors**, stimuli that both models have seen and that teach
no probe. Cells say how much is kept of what a space's own probes tell beyond **chance**, measured
with anchors paired at random. Each stimulus is tested by probes that never saw it."""
OPTIONS = controls.options_by_name(Swap)


def pick(at: Place) -> Swap:
    """Choose the models whose probes are swapped."""
    models = queries.models(at)
    usual = len(usual_spaces(queries.study(at)))
    chosen = controls.pick_models(OPTIONS["models"], models[~is_reality(models)], usual=usual)
    seed = controls.pick_number(OPTIONS["seed"])
    return build(Swap, {"dataset": at.dataset, "models": chosen, "seed": seed})


def show(at: Place) -> None:
    """Draw all pairs of models, and what is told of each factor."""
    if queries.models(at).empty:
        frame.need_readers(at, "caption", "image")
    frame.need_stimuli(at)
    with bar.controls_bar():
        question = pick(at)
    st.header("Can a probe be used on another model?", anchor=False)
    with frame.part():
        answered = section.draw(
            at, question, key="swapped", seconds=lambda: seconds_for(question, queries.study(at))
        )
        if answered is None:
            return
        figure = factor_plot(answered.table).draw(frame.mode(), narrow=frame.narrow())
        exportbar.draw(at, question, figure, key="told", table=answered.table)
        prose.explain(METHODS, sentences(answered.findings)[1:])
