"""The tab on co-occurrence: what contrastive learners of an idealized world learn and share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from core.options import build
from core.questions.finding import sentences
from core.theory.contrastive import figures
from core.theory.contrastive.question import PRESETS, Contrastive, Preset
from pages._parts.theory.simulated import held
from pages._shared import bar, controls, exportbar, frame, prose
from pages._shared.address import bind, release

CLAIM = """A world is a sequence of events; a learner sees which of them happen close to each other
in time. Its embedding comes to hold the pointwise mutual information of any two events. One-to-one
observations of the same events share it, and so do their learners
([Huh et al. 2024](https://arxiv.org/abs/2405.07987), section 4)."""
FORMULA = (
    r"\langle f(a), f(b) \rangle = K_\mathsf{PMI}(a, b) + c",
    r"K_\mathsf{PMI}(a, b) = \log \frac{P_\mathsf{coor}(a, b)}{P(a)\, P(b)}",
    r"P_\mathsf{coor}(a, b) \propto \sum_{|t - t'| \le T} P(z_t = a, z_{t'} = b)",
)
LOSSES = {"infonce": "InfoNCE", "nce": "binary NCE"}
MEASURES = {"cka": "CKA", "mutual_knn": "mutual k-NN"}
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
    with bar.controls_bar():
        question = pick(preset.choices)
    with frame.part():
        show_run(question, preset)


def pick(choices: Mapping[str, Any]) -> Contrastive:
    """Draw the controls of the world, and those of the learner that its loss has. choices: of the
    preset.
    """
    usual = {name: choices.get(name, one.default) for name, one in OPTIONS.items()}
    chosen = {name: usual[name] for name in ("of", "sampled")}
    with bar.more():
        one = OPTIONS["world"]
        chosen["world"] = controls.pick_choice(one, one.choices)
        for name in ("events", "window"):
            chosen[name] = controls.pick_number(OPTIONS[name], 64, usual=usual[name])
        for name, most in (("jumps", 1.0), ("uneven", 1.5)):
            step = most / 20
            chosen[name] = controls.pick_share(
                OPTIONS[name], 0.0, most, step=step, usual=usual[name]
            )
        chosen["apart"] = controls.pick_switch(OPTIONS["apart"])
    chosen["loss"] = controls.pick_choice(
        OPTIONS["loss"], tuple(LOSSES), labels=LOSSES, usual=usual["loss"]
    )
    if chosen["loss"] == "nce":
        chosen["positives"] = controls.pick_share(OPTIONS["positives"], 0.05, 0.95, step=0.05)
    else:
        chosen["temperature"] = controls.pick_share(OPTIONS["temperature"], 0.1, 2.0, step=0.1)
    if chosen["of"] != "widths":
        chosen["width"] = controls.pick_number(OPTIONS["width"], 64)
    chosen["seed"] = controls.pick_number(OPTIONS["seed"])
    return build(Contrastive, chosen)


def show_run(question: Contrastive, preset: Preset) -> None:
    """Draw what a run shows."""
    question.complete(None)
    answered = held(question, lambda: question.answer(None, None))
    table, said = answered.table, sentences(answered.findings)
    prose.answer(said[:1])
    mode, narrow, plot = frame.mode(), frame.narrow(), question.plot(table)
    if question.of == "modalities":
        measure = controls.pick_segment("Measure", MEASURES, "measure", start="cka")
        plot = figures.information(table, measure)
    if "learned" in table:
        maps = figures.kernels(table).draw(mode, narrow)
        exportbar.draw_alone(question, maps, key="kernels", table=table)
    exportbar.draw_alone(question, plot.draw(mode, narrow), key=question.of, table=table)
    how = f"{frame.plain(preset.claim)}\n\n{CLAIM}"
    prose.explain(how, said[1:], (preset.formula, *FORMULA))
