"""The tab on deep linear networks: the claim, the symmetry of its proof, and what breaks it."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import streamlit as st

from core.options import build
from core.questions.finding import sentences
from core.theory.deep_linear import figures
from core.theory.deep_linear.question import (
    PRESETS,
    DeepLinear,
    Symmetry,
    preset_of,
)
from core.theory.deep_linear.setup import (
    NETWORKS,
    POINTS,
    REACH,
    WAYS,
    Networks,
    Tables,
    name_generators,
)
from core.theory.shipped import recall
from pages._parts.theory import held
from pages._shared import address, bar, controls, exportbar, frame, prose
from pages._shared.address import bind, fragment
from pages._shared.controls import Look

CLAIM = """Deep linear networks of different depths and widths see views of the same inputs and
learn the same noisy labels. SGD noise aligns all layers of all networks up to rotation and scale,
although almost no other solution of the same loss is aligned (Ziyin and Chuang 2025)."""
SYMMETRY = """The symmetry multiplies a layer's weights by a matrix and the next layer's by its
inverse. The loss stays; the entropy S, the mean squared gradient of single samples, has one minimum
λ*, and noise drives the weights there (equations 21 to 36). S is shown over the least of all
minima, the loss above its floor."""
LAYERS = "A cell: similarity of two hidden layers. 1: equal up to rotation and scale."
BROKEN = "Click a row to open its run."
REACHED = """The least alignment of two networks without the assumption (at the edge of stability,
with the theorem's solution)."""
FORMULA = (
    r"f(x) = M^O W_D \cdots W_1 M^I Z x",
    r"c_0\, h_A(x_1)^\top h_A(x_2) = h_B(x_1)^\top h_B(x_2)",
)
SYMMETRIES = (
    r"W_i \to e^{\lambda T} W_i, \qquad W_{i+1} \to W_{i+1} e^{-\lambda T}",
    r"S(\lambda) = \mathrm{Tr}[e^{-2 \lambda T}\, \mathbb{E}[\nabla_{W_i} \ell \nabla_{W_i}^\top"
    r" \ell]] + \mathrm{Tr}[e^{2 \lambda T}\, \mathbb{E}[\nabla_{W_{i+1}}^\top \ell"
    r" \nabla_{W_{i+1}} \ell]] + \text{const.}",
    r"e^{4 \lambda^*} = \mathbb{E}\lVert \nabla_{W_i^{j:}} \ell \rVert^2 /"
    r" \mathbb{E}\lVert \nabla_{W_{i+1}^{:j}} \ell \rVert^2 \qquad (T = e_j e_j^\top)",
)
SHOWN = [name for name in PRESETS if name != "breakers"]
BEHIND = ("inputs", "labels", "rank", "condition", *NETWORKS)
MOVED = controls.options_by_name(Symmetry)


def show() -> None:
    """Draw the claim, the symmetry, and the ways to break it."""
    given = address.peek("preset", "sgd")
    if given in WAYS and given not in SHOWN:  # a link of before opens the row
        address.take("preset")
        address.set_mark("breaker", given)
    name = st.pills(
        "Preset",
        SHOWN,
        required=True,
        format_func=lambda each: PRESETS[each].title,
        label_visibility="collapsed",
        **bind("preset", "sgd", {each: PRESETS[each].title for each in SHOWN}, kind="preset"),
    )
    with bar.controls_bar():
        question = pick(name)
    with frame.part():
        show_run(question)
    networks = replace(question.networks, step=(), batch=None)
    frame.fold(
        Symmetry.title(),
        partial(show_symmetry, networks),
        key="symmetries",
        link=(*MOVED, "lambda"),
    )
    show_breakers(networks)


def pick(name: str) -> DeepLinear:
    """Draw the controls of the world, of the networks, and of SGD if it trains them."""
    usual, leave, looks = PRESETS[name].descent, ["preset", "rows"], {}
    if usual and usual.step:
        looks = {"step": Look(start=(usual.step,)), "batch": Look(start=usual.batch)}
    else:
        leave += ["step", "batch"]
    networks = controls.pick(DeepLinear, looks=looks, more=BEHIND, leave=leave).networks
    if usual:  # the preset's own choices are none
        step = () if networks.step == (usual.step,) else networks.step
        batch = None if networks.batch == usual.batch else networks.batch
        networks = replace(networks, step=step, batch=batch)
    return replace(build(DeepLinear, {"preset": name}), networks=networks)


def simulate(question: DeepLinear) -> Tables:
    """Return the tables of a run: those that come with the project, or computed."""
    complete = question.complete(None)
    return held(complete, lambda: recall(complete) or complete.simulate())


def show_run(question: DeepLinear, *, key: str = "run") -> None:
    """Draw a run: what it says, its figures, and the claim."""
    tables, preset = simulate(question), preset_of(question.preset)
    looks = tables["looks"]
    said = sentences(question.findings(tables))
    prose.answer(said[:1])
    if "pairs" in tables and "run" in tables["pairs"]:
        pairs, of_pairs = tables["pairs"], replace(question, rows="pairs")
        exportbar.draw_alone(of_pairs, partial(figures.played, pairs), key="layers", table=pairs)
        st.caption(LAYERS)
    with st.expander("Over training") if "layers" in tables else nullcontext():
        drawn = question.plot(looks).draw
        exportbar.draw_alone(question, drawn, key=f"{key}-{question.preset}", table=looks)
        if "layers" in tables:
            layers, of_layers = tables["layers"], replace(question, rows="layers")
            drawn = figures.over_layers(layers).draw
            exportbar.draw_alone(of_layers, drawn, key="over-layers", table=layers)
    formulas = [*filter(None, [preset.formula]), *FORMULA]
    prose.explain(f"{frame.plain(preset.claim)}\n\n{CLAIM}", said[1:], formulas)


@fragment
def show_symmetry(networks: Networks) -> None:
    """Draw the entropy along a symmetry, and the network's layers at the λ that is chosen."""
    with frame.part():
        question = pick_symmetry(networks)
        tables = held(question, lambda: recall(question) or question.simulate())
        said = sentences(question.findings(tables))
        prose.answer(said[:1])
        at = st.slider(
            "λ",
            -REACH,
            REACH,
            step=2 * REACH / (POINTS - 1),
            help="Position along the symmetry at which the layers are shown.",
            **bind("lambda", 0.0, within=(-REACH, REACH)),
        )
        rows = tables["least"]
        least = float(rows.loc[rows["generator"] == question.along, "least"].iloc[0])
        curve = figures.symmetry(tables["looks"], at=at, least=least).draw
        pairs = tables["pairs"]
        near = pairs[(pairs["value"] - at).abs() < REACH / POINTS]
        left, right = st.columns([5, 3])
        with left:
            exportbar.draw_alone(question, curve, key="symmetry", table=tables["looks"])
        with right:
            layers = figures.layer_maps(near).draw
            exportbar.draw_alone(question, layers, key="moved", table=near)
        prose.explain(SYMMETRY, said[1:], SYMMETRIES)


def pick_symmetry(networks: Networks) -> Symmetry:
    """Draw the controls of the symmetry."""
    widths = {name: getattr(networks, name) for name in NETWORKS}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with bar.more():
            network = controls.pick_segment(
                "Network", {name: name for name in widths}, "network", start="a"
            )
            layers = {place: f"{place}" for place in range(1, len(widths[network]) + 1)}
            layer = controls.pick_segment("Hidden layer", layers, "layer", start=1)
            after = controls.pick_option(MOVED["after"])
        generators = name_generators(widths[network][layer - 1])
        along = controls.Look(labels={one: one for one in generators})
        chosen = controls.pick_option(MOVED["along"], along)
    values = {"network": network, "layer": layer, "along": chosen, "after": after}
    return replace(build(Symmetry, values), networks=networks)


@fragment
def show_breakers(networks: Networks) -> None:
    """Draw the table of what breaks the theorem, and the run of a chosen row."""
    st.header("What breaks it?", anchor=False)
    with frame.part():
        table = simulate(DeepLinear("breakers", networks=networks))["looks"]
        predicted = table["predicted"].map("{:.3f}".format).replace("nan", "no formula")
        st.dataframe(
            table.assign(predicted=predicted),
            column_order=["title", "reached", "predicted", "broken", "mechanism"],
            hide_index=True,
            height="content",
            column_config={
                "title": st.column_config.TextColumn(
                    "Broken by", pinned=True, width=145, help=BROKEN
                ),
                "broken": st.column_config.TextColumn("Assumption", width=140),
                "reached": st.column_config.ProgressColumn(
                    "Reached", min_value=0.0, max_value=1.0, format="%.3f", width=95, help=REACHED
                ),
                "predicted": st.column_config.TextColumn(
                    "Predicted", alignment="right", width=85, help="The closed form's alignment."
                ),
                "mechanism": st.column_config.TextColumn("Mechanism", width=400),
            },
            key="breakers",
            selection_mode="single-cell",
            on_select=_open_row,
        )
        chosen = address.mark("breaker")
        if chosen in WAYS:
            st.subheader(preset_of(chosen).title, anchor=False)
            question = replace(build(DeepLinear, {"preset": chosen}), networks=networks)
            show_run(question, key="broken")


def _open_row() -> None:
    cells = st.session_state["breakers"].selection.cells
    address.set_mark("breaker", WAYS[cells[0][0]] if cells else "")
