"""Theory, co-occurrence: what contrastive learners of an idealized world learn, and what two of
them share.
"""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.options import build, options_of
from core.questions.asking import findings_of
from core.theory.contrastive import figures
from core.theory.contrastive.learners import LOSSES
from core.theory.contrastive.pmi import pmi_kernel
from core.theory.contrastive.question import Contrastive
from core.theory.contrastive.runs import describe, start
from core.theory.contrastive.setups import OPTIONAL, PRESETS, Setup, make_setup
from core.theory.contrastive.world import KINDS
from core.theory.looks import Look, tabulate
from pages._shared import bar, controls, experiment, exportbar, frame, prose

CLAIM = """A world is a sequence of events; a learner sees which of them happen close to each other
in time. Its embedding comes to hold the pointwise mutual information of any two events. One-to-one
observations of the same events share it, and so do their learners
([Huh et al. 2024](https://arxiv.org/abs/2405.07987), section 4)."""
FORMULA = (
    r"\langle f(a), f(b) \rangle = K_\mathsf{PMI}(a, b) + c",
    r"K_\mathsf{PMI}(a, b) = \log \frac{P_\mathsf{coor}(a, b)}{P(a)\, P(b)}",
    r"P_\mathsf{coor}(a, b) \propto \sum_{|t - t'| \le T} P(z_t = a, z_{t'} = b)",
)
FORMULAS = {
    "infonce": r"g = \tau K_\mathsf{PMI} + c",
    "sampled": r"g = \tau K_\mathsf{PMI} + c",
    "nce": r"g = K_\mathsf{PMI} + \log \tfrac{p}{1 - p}",
    "rough": r"\forall C:\; K_\mathsf{PMI} + C \not\succeq 0",
    "modalities": r"K_\mathsf{PMI}(x_a, x_b) = K_\mathsf{PMI}(z_a, z_b) = K_\mathsf{PMI}(y_a, y_b)",
    "capacity": r"\operatorname{rank} \langle f, f \rangle \le d",
    "tasks": r"P_\mathsf{coor} = \tfrac{1}{m} \sum_{i=1}^{m} P^{(i)}_\mathsf{coor}",
}
HOLDS = {True: "it holds.", False: "it does not hold. It is sufficient, not necessary."}
LOSS_TITLES = {"infonce": "InfoNCE", "nce": "binary NCE"}
MEASURES = {"cka": "CKA", "mutual_knn": "mutual k-NN"}
OPTIONS = {one.name: one for one in options_of(Contrastive)}


def show() -> None:
    """Draw the presets, the controls, the run with its answer, and the claim."""
    answer = st.empty()
    titles = {name: preset.title for name, preset in PRESETS.items()}
    name = experiment.pick_preset(OPTIONS["preset"], titles, sets=OPTIONAL)
    with bar.controls_bar():
        question = pick(name)
    setup = make_setup(question)
    show_run = partial(show_looks, question, setup, answer)
    experiment.conduct(question, partial(start, setup), show_run, answer=answer)
    prose.explain(f"{frame.plain(PRESETS[name].claim)}\n\n{CLAIM}")
    prose.derive((FORMULAS[name], *FORMULA))


def pick(preset: str) -> Contrastive:
    """Draw the controls; only what differs from the preset is said."""
    setup = PRESETS[preset].setup
    with bar.more():
        world, apart = pick_world(setup), controls.pick_switch(OPTIONS["apart"])
    chosen = {**world, **pick_learner(setup)}
    differing = {name: each for name, each in chosen.items() if each != getattr(setup, name)}
    seed = controls.pick_number(OPTIONS["seed"])
    return build(Contrastive, {"preset": preset, "apart": apart, "seed": seed, **differing})


def pick_world(usual: Setup) -> dict[str, object]:
    """Draw the controls of the world."""
    world = controls.pick_choice(OPTIONS["world"], tuple(KINDS), usual=usual.world)
    events = controls.pick_number(OPTIONS["events"], 64, usual=usual.events)
    window = controls.pick_number(OPTIONS["window"], 64, usual=usual.window)
    jumps = controls.pick_share(OPTIONS["jumps"], 0.0, 1.0, step=0.05, usual=usual.jumps)
    uneven = controls.pick_share(OPTIONS["uneven"], 0.0, 1.5, step=0.1, usual=usual.uneven)
    return {"world": world, "events": events, "window": window, "jumps": jumps, "uneven": uneven}


def pick_learner(usual: Setup) -> dict[str, object]:
    """Draw the controls of the learner: those that its loss and the experiment have."""
    chosen: dict[str, object] = {}
    loss = controls.pick_choice(OPTIONS["loss"], LOSSES, labels=LOSS_TITLES, usual=usual.loss)
    if loss == "nce":
        chosen["positives"] = controls.pick_share(
            OPTIONS["positives"], 0.05, 0.95, step=0.05, usual=usual.positives
        )
    else:
        chosen["temperature"] = controls.pick_share(
            OPTIONS["temperature"], 0.1, 2.0, step=0.1, usual=usual.temperature
        )
    if usual.experiment != "capacity":
        chosen["width"] = controls.pick_number(OPTIONS["width"], 64, usual=usual.width)
    return {"loss": loss, **chosen}


def show_looks(
    question: Contrastive, setup: Setup, answer: DeltaGenerator, looks: list[Look]
) -> None:
    """Draw what a run has shown so far, and what the theory says of it."""
    table = tabulate(looks)
    with answer:
        prose.answer(findings_of(question, table))
    if setup.experiment == "learn":
        show_learning(question, setup, looks[-1], table)
        kernel = describe(setup)
        st.caption(
            f"Proposition 1 asks for a PMI of {kernel.needed:.3g} of every event with itself; the"
            f" least here is {kernel.least_own:.3g}: {HOLDS[bool(kernel.smooth)]}"
        )
        return
    if setup.experiment == "modalities":
        measure = controls.pick_segment("Measure", MEASURES, "measure", start="cka")
        figure = figures.information(table, measure=measure, mode=frame.mode())
    else:
        draw = {"capacity": figures.widths, "tasks": figures.tasks}[setup.experiment]
        figure = draw(table, mode=frame.mode())
    exportbar.draw_alone(question, figure, key=setup.experiment, table=table)


def show_learning(question: Contrastive, setup: Setup, last: Look, table: pd.DataFrame) -> None:
    """Draw the kernel beside what is learned, pair by pair, in a plane, and over training."""
    mode, draw = frame.mode(), partial(exportbar.draw_alone, question)
    draw_last = partial(draw, command_note=exportbar.RUNS_IT)
    assert last.matrix is not None
    kernel, embedding = pmi_kernel(setup.cooccur().joint), last.matrix.numpy()
    learned = embedding @ embedding.T
    pairs = pd.DataFrame({"pmi": kernel.ravel(), "learned": learned.ravel()})
    maps = figures.kernels(kernel, learned, mode=mode, narrow=frame.narrow())
    draw_last(maps, key="kernels", table=pairs)
    left, right = st.columns(2)
    with left:
        fit = {name: float(last.figures[name]) for name in ("slope", "offset")}
        products = figures.products(kernel, learned, **fit, mode=mode)
        draw_last(products, key="products", table=pairs)
    with right:
        plane = figures.plane(embedding, setup.edges(), mode=mode)
        draw_last(plane, key="plane", table=pd.DataFrame(embedding))
    draw(figures.over_training(table, mode=mode), key="training", table=table)


frame.draw_alone(Contrastive.title(), show)
