"""Neurons: do single units recur across models?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from core.questions.finding import sentences
from core.questions.neurons.question import NeuronShare
from core.questions.neurons.units import Mining, foresee
from core.study.models import is_reality, usual
from pages._parts.models import neuron_pairs as pairs
from pages._shared import bar, controls, frame, prose, queries, runner, section
from pages._shared.address import fragment
from pages._shared.queries import Place

LEAST = 2  # models
TREND = """Each mark is a model: the share of its units that recur in models of other recipes, of
the most that could. A **unit** is one feature of one layer; it recurs if both units are each
other's most correlated over the stimuli, beyond what the best pair reaches with shuffled stimuli
(p ≤ .05). Hollow marks: the same in a **random basis** of the other model."""


def show(at: Place) -> None:
    """Draw the share of units that recur, then the units of two models with what excites them."""
    if len(queries.models(at)) < LEAST:
        frame.need_readers(at, "caption", "image")
    frame.need_stimuli(at)
    with bar.controls_bar():
        models = usual(queries.models(at))
        names = controls.pick_models(
            controls.option_named(NeuronShare, "models"), models[~is_reality(models)]
        )
        layers = pairs.pick_layers()
        with bar.more():
            mining = pairs.pick_mining(layers)
    show_shares(at, names, mining)
    pairs.show(at, mining)


@fragment
def show_shares(at: Place, names: Sequence[str], mining: Mining) -> None:
    """Draw how many units recur over competence."""
    st.header("Do more units recur in better models?", anchor=False)
    with frame.part():
        question = NeuronShare(at.scope, tuple(names), mining)
        answered = runner.ask(at, question, lambda: _seconds(at, names, mining))
        if answered is None:
            return
        trend = replace(question, by="competence")
        prose.answer(sentences(answered.findings))
        section.draw(at, trend, key="neurons-trend", methods=TREND, lead=0, models=True)


def _seconds(at: Place, names: Sequence[str], mining: Mining) -> float:
    """Return about how long the pairs of these models take."""
    study, models = queries.study(at), usual(queries.models(at))
    chosen = names or models.loc[~is_reality(models), "model"]
    return foresee([study.entry(name).dims for name in chosen], study.size, mining)
