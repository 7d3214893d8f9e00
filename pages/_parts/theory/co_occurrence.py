"""The tab on co-occurrence: what contrastive learners of an idealized world learn and share."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from core.questions.finding import sentences
from core.theory.contrastive.question import PRESETS, Contrastive, Preset, kernels_plot
from pages._parts.theory import held
from pages._shared import bar, controls, exportbar, frame, prose
from pages._shared.address import bind, release
from pages._shared.controls import Look

CLAIM = """A world is a sequence of events; a learner sees which of them happen close to each other
in time. Its embedding learns the pointwise mutual information of any two events. One-to-one
observations of the same events share it, and so do their learners
([Huh et al. 2024](https://arxiv.org/abs/2405.07987), section 4)."""
FORMULA = (
    r"\langle f(a), f(b) \rangle = K_\mathsf{PMI}(a, b) + c",
    r"K_\mathsf{PMI}(a, b) = \log \frac{P_\mathsf{coor}(a, b)}{P(a)\, P(b)}",
    r"P_\mathsf{coor}(a, b) \propto \sum_{|t - t'| \le T} P(z_t = a, z_{t'} = b)",
)
LOSSES = {"infonce": "InfoNCE", "nce": "binary NCE"}
OPTIONS = controls.options_by_name(Contrastive)


def show() -> None:
    """Draw the presets, the controls, the run with its answer, and the claim."""
    titles = {name: preset.title for name, preset in PRESETS.items()}
    name = st.pills(
        "Preset",
        list(titles),
        required=True,
        format_func=titles.get,
        label_visibility="collapsed",
        on_change=release,
        args=(tuple(OPTIONS),),
        **bind("preset", "infonce", titles, kind="preset"),
    )
    preset = PRESETS[name]
    looks = {one: Look(start=value) for one, value in preset.choices.items()}
    with bar.controls_bar():
        start = preset.choices.get("loss", "infonce")
        loss = controls.pick_option(OPTIONS["loss"], Look(labels=LOSSES, start=start))
        other = {"nce": "temperature", "infonce": "positives"}[loss]
        picked = controls.pick(
            Contrastive,
            looks=looks,
            more=("events", "window", "jumps", "uneven"),
            leave=("of", "loss", other),
        )
    of = preset.choices.get("of", "kernel")
    with frame.part():
        show_run(Contrastive(of, replace(picked.setup, loss=loss)), preset)


def show_run(question: Contrastive, preset: Preset) -> None:
    """Draw what a run shows."""
    question.complete(None)
    answered = held(question, lambda: question.answer(None))
    table, said = answered.table, sentences(answered.findings)
    prose.answer(said[:1])
    plots = {"kernels": kernels_plot(table)} if "learned" in table else {}
    for key, plot in (plots | {question.of: question.plot(table)}).items():
        exportbar.draw_alone(question, plot.draw, key=key, table=table)
    how = f"{frame.plain(preset.claim)}\n\n{CLAIM}"
    prose.explain(how, said[1:], (preset.formula, *FORMULA))
