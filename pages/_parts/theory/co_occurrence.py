"""The tab on co-occurrence: what contrastive learners of an idealized world learn and share."""

from __future__ import annotations

import streamlit as st

from core.options import build
from core.questions.finding import sentences
from core.theory.contrastive import figures
from core.theory.contrastive.question import OPTIONAL, PRESETS, Contrastive
from core.theory.contrastive.runs import Setup
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
LOSS_TITLES = {"infonce": "InfoNCE", "nce": "binary NCE"}
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
        args=(OPTIONAL,),
        **bind("preset", "infonce", titles, kind="preset"),
    )
    with bar.controls_bar():
        question = pick(name)
    preset = PRESETS[name]
    with frame.part():
        show_run(question)
        prose.derive((preset.formula, *FORMULA))


def pick(preset: str) -> Contrastive:
    """Draw the controls; only what differs from the preset is said."""
    setup = PRESETS[preset].setup
    with bar.more():
        chosen = pick_world(setup)
        apart = controls.pick_switch(OPTIONS["apart"])
    chosen |= pick_learner(preset, setup)
    differing = {name: each for name, each in chosen.items() if each != getattr(setup, name)}
    seed = controls.pick_number(OPTIONS["seed"])
    return build(Contrastive, {"preset": preset, "apart": apart, "seed": seed, **differing})


def pick_world(usual: Setup) -> dict[str, object]:
    """Draw the controls of the world."""
    world = controls.pick_choice(OPTIONS["world"], OPTIONS["world"].choices, usual=usual.world)
    events = controls.pick_number(OPTIONS["events"], 64, usual=usual.events)
    window = controls.pick_number(OPTIONS["window"], 64, usual=usual.window)
    jumps = controls.pick_share(OPTIONS["jumps"], 0.0, 1.0, step=0.05, usual=usual.jumps)
    uneven = controls.pick_share(OPTIONS["uneven"], 0.0, 1.5, step=0.1, usual=usual.uneven)
    return {"world": world, "events": events, "window": window, "jumps": jumps, "uneven": uneven}


def pick_learner(preset: str, usual: Setup) -> dict[str, object]:
    """Draw the controls of the learner: those that its loss and the preset have."""
    chosen: dict[str, object] = {}
    loss = controls.pick_choice(
        OPTIONS["loss"], tuple(LOSS_TITLES), labels=LOSS_TITLES, usual=usual.loss
    )
    if loss == "nce":
        chosen["positives"] = controls.pick_share(
            OPTIONS["positives"], 0.05, 0.95, step=0.05, usual=usual.positives
        )
    else:
        chosen["temperature"] = controls.pick_share(
            OPTIONS["temperature"], 0.1, 2.0, step=0.1, usual=usual.temperature
        )
    if preset != "capacity":
        chosen["width"] = controls.pick_number(OPTIONS["width"], 64, usual=usual.width)
    return {"loss": loss, **chosen}


def show_run(question: Contrastive) -> None:
    """Draw what a run shows."""
    complete = question.complete(None)
    answered = held(complete, lambda: complete.answer(None, None))
    table, said = answered.table, sentences(answered.findings)
    prose.answer(said[: prose.LEAD])
    mode, narrow, plot = frame.mode(), frame.narrow(), question.plot(table)
    if question.preset == "modalities":
        measure = controls.pick_segment("Measure", MEASURES, "measure", start="cka")
        plot = figures.information(table, measure)
    if "learned" in table:
        maps = figures.kernels(table).draw(mode, narrow)
        exportbar.draw_alone(question, maps, key="kernels", table=table)
    exportbar.draw_alone(question, plot.draw(mode, narrow), key=question.preset, table=table)
    claim = frame.plain(PRESETS[question.preset].claim)
    prose.explain(f"{claim}\n\n{CLAIM}", said[prose.LEAD :])
