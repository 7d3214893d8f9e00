"""Theory, co-occurrence: what contrastive learners of an idealized world come to know, and what two
of them share.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from core.errors import UnknownNameError
from core.recipe import Recipe
from core.theory.contrastive import figures as figures
from core.theory.contrastive.learners import LOSSES
from core.theory.contrastive.pmi import pmi_kernel
from core.theory.contrastive.runs import describe, start
from core.theory.contrastive.setups import PRESETS, Setup
from core.theory.contrastive.world import KINDS
from core.theory.looks import Look, tabulate
from core.theory.verdicts import tell_contrastive
from pages._shared import experiment, exportbar, frame

PAGE = "pages/theory_cooccurrence.py"
CLAIM = """A world is a sequence of events; a learner sees which of them happen close to each
other in time. Its embedding comes to hold the pointwise mutual information of any
two events, and since one-to-one observations of the same events share that, so do
their learners ([Huh et al. 2024](https://arxiv.org/abs/2405.07987), section 4)."""
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
MEASURES = {"cka": "CKA", "mutual_knn": "mutual k-NN"}


def show() -> None:
    """Draw the presets, the claim, the controls and the run."""
    st.markdown(CLAIM)
    for formula in FORMULA:  # one below the other, since a phone shows no wide one
        st.latex(formula)
    preset = experiment.presets(
        PAGE, {name: entry.title for name, entry in PRESETS.items()}, default="infonce"
    )
    if preset not in PRESETS:
        raise UnknownNameError("preset", preset, PRESETS)
    setup = ask(preset)
    recipe = Recipe.of("theory-contrastive", preset=preset, **asdict(setup))
    st.subheader(PRESETS[preset].title, anchor=False)
    st.markdown(frame.plain(PRESETS[preset].claim))
    st.latex(FORMULAS[preset])
    experiment.conduct(
        recipe, partial(start, setup), partial(show_looks, setup, recipe, command(preset, setup))
    )


def ask(preset: str) -> Setup:
    """Draw the controls; each preset begins with its own values, and the address keeps those that
    were changed.
    """
    usual = PRESETS[preset].setup

    def key(name: str) -> dict[str, Any]:
        return {"key": f"{name}-{preset}", "bind": "query-params"}

    with st.sidebar:
        world = st.selectbox("World", list(KINDS), **key("world"))
        left, right = st.columns(2)
        events = left.number_input("Events", 4, 64, usual.events, **key("events"))
        window = right.number_input("Window T", 1, 64, usual.window, **key("window"))
        jumps = st.slider(
            "Jumps",
            0.0,
            1.0,
            usual.jumps,
            0.05,
            **key("jumps"),
            help="Share of steps that go to any event.",
        )
        uneven = st.slider(
            "Uneven",
            0.0,
            1.5,
            usual.uneven,
            0.1,
            **key("uneven"),
            help="Spread of the steps' weights.",
        )
        same = st.toggle(
            "An event co-occurs with itself",
            usual.same,
            **key("same"),
            help="The definition counts t = t'.",
        )
        loss = st.segmented_control(
            "Loss", LOSSES, default=usual.loss, required=True, **key("loss")
        )
        changes: dict[str, Any] = {}
        if loss == "nce":
            changes["positives"] = st.slider(
                "Positive pairs", 0.05, 0.95, usual.positives, 0.05, **key("positives")
            )
        else:
            changes["temperature"] = st.slider(
                "Temperature", 0.1, 2.0, usual.temperature, 0.1, **key("temperature")
            )
        if usual.experiment != "capacity":
            width = left.number_input(
                "Width", 1, 64, int(events), **key("width"), help="Of the embedding."
            )
            changes["width"] = int(width)
        seed = right.number_input("Seed", 0, 2**31 - 1, 0, **key("seed"))
    return replace(
        usual,
        world=world,
        events=int(events),
        window=int(window),
        jumps=round(jumps, 6),
        uneven=round(uneven, 6),
        same=same,
        loss=loss,
        seed=int(seed),
        **changes,
    )


def show_looks(setup: Setup, recipe: Recipe, command: str, looks: list[Look]) -> None:
    """Draw what a run has shown so far, and what the theory says of it."""
    table = tabulate(looks)
    known = describe(setup)
    st.markdown(f"**Seen.** {tell_contrastive(setup, known, table)}")
    told: dict[str, Any] = {"table": table, "recipe": recipe, "command": command}
    if setup.experiment == "learn":
        show_learning(setup, looks[-1], told)
        st.caption(
            f"Proposition 1 asks for a PMI of {known['needed']:.3g} of every event with itself, and"
            f" the least here is {known['found']:.3g}: {HOLDS[bool(known['smooth'])]}"
        )
        return
    if setup.experiment == "modalities":
        measure = st.segmented_control(
            "Measure",
            list(MEASURES),
            default="cka",
            required=True,
            format_func=MEASURES.get,
            key="measure",
            bind="query-params",
        )
        figure = figures.information(table, measure=measure, mode=frame.mode())
    else:
        draw = {"capacity": figures.widths, "tasks": figures.tasks}[setup.experiment]
        figure = draw(table, mode=frame.mode())
    exportbar.plot(figure, key=setup.experiment, **told)


def show_learning(setup: Setup, last: Look, told: dict[str, Any]) -> None:
    """Draw the kernel beside what is learned, pair by pair, in a plane, and over training."""
    mode, table = frame.mode(), told["table"]
    assert last.matrix is not None
    kernel, embedding = pmi_kernel(setup.cooccur().joint), last.matrix.numpy()
    learned = embedding @ embedding.T
    pairs = pd.DataFrame({"pmi": kernel.ravel(), "learned": learned.ravel()})
    exportbar.plot(
        figures.kernels(kernel, learned, mode=mode, narrow=frame.narrow()),
        key="kernels",
        **told | {"table": pairs},
    )
    left, right = st.columns(2)
    with left:
        fit = {name: float(last.figures[name]) for name in ("slope", "offset")}
        exportbar.plot(
            figures.products(kernel, learned, **fit, mode=mode),
            key="products",
            **told | {"table": pairs},
        )
    with right:
        plane = figures.plane(embedding, setup.edges(), mode=mode)
        exportbar.plot(plane, key="plane", **told | {"table": pd.DataFrame(embedding)})
    exportbar.plot(figures.over_training(table, mode=mode), key="training", **told)


def command(preset: str, setup: Setup) -> str:
    """Return the command that prints the same run."""
    nce = setup.loss == "nce"
    return experiment.command(
        "contrastive",
        preset=preset,
        world=setup.world,
        events=setup.events,
        window=setup.window,
        jumps=setup.jumps,
        uneven=setup.uneven,
        apart=None if setup.same else True,
        loss=setup.loss,
        width=None if setup.experiment == "capacity" else setup.width,
        temperature=None if nce else setup.temperature,
        positives=setup.positives if nce else None,
        seed=setup.seed,
    )


frame.draw_alone("What does a learner know of a world that it only sees in pieces?", show)
