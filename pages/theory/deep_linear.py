"""Theory, deep linear networks: noise aligns every layer of two networks; what breaks that?"""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.options import Option, Range, build, options_of
from core.questions.asking import findings_of
from core.theory.deep_linear import figures, sweep_figures, weight_figures
from core.theory.deep_linear.breaking.breakers import BREAKERS, usual_strengths
from core.theory.deep_linear.presets import DESCENTS, PRESETS, preset_titles, start
from core.theory.deep_linear.question import DeepLinear, Matrices
from core.theory.looks import Look, tabulate, tabulate_rows
from pages._shared import address, bar, controls, experiment, exportbar, frame, prose
from pages._shared.address import bind

WIDTHS = Range(1, 32)  # wider ones are drawn too slowly
CLAIM = """Two deep linear networks of any depths and widths, between frozen matrices of their
own, see two views of the same inputs and learn the same noisy labels y = V x + ε.
Trained with noise, every layer of both becomes the same representation up to
rotation and scale, although almost no other solution of the same loss has this property
(Ziyin and Chuang 2025)."""
FORMULA = (
    r"f(x) = M^O W_D \cdots W_1 M^I Z x",
    r"c_0\, h_A(x_1)^\top h_A(x_2) = h_B(x_1)^\top h_B(x_2)",
)
FORMULAS = {
    "sgd": r"W_i \leftarrow W_i - \eta\, \nabla_{W_i} \ell(x)",
    "limits": (
        r"\lim_{t \to \infty} \lim_{\eta \to 0^+} \theta(t, \eta) \neq"
        r" \lim_{\eta \to 0^+} \lim_{t \to \infty} \theta(t, \eta)"
    ),
    "theorem-1": (
        r"\min_\theta\; \mathbb{E}[\ell] + \eta\, \mathbb{E}\lVert\nabla \ell\rVert^2, \qquad \eta"
        r" \to 0"
    ),
    "minima": r"W_i \to T^{-1} W_i, \qquad W_{i+1} \to W_{i+1} T",
    "weight-decay": (
        r"h^i = R_i\, \Sigma^{i/D} E^\top M^I Z x, \qquad U \Sigma E^\top = (M^O)^{-1} V (M^I"
        r" Z)^{-1}"
    ),
    "gradient-flow": r"\tfrac{d}{dt}\left(W_{i+1}^\top W_{i+1} - W_i W_i^\top\right) = 0",
    "labels": r"y \to \Phi y, \qquad \Phi_A \neq \Phi_B",
    "saddle": r"\operatorname{rank}(W_D \cdots W_1) < \operatorname{rank}(V)",
    "private-data": r"x_A = x + z_A, \qquad x_B = x + z_B",
    "edge-of-stability": r"\lambda_{\max}(\nabla^2 L) \le 2 / \eta",
    "nonlinear-labels": (
        r"y = V x + C q(x) + \epsilon, \qquad q_k = \tfrac{1}{\sqrt 2}(z_k^2 - 1), \qquad z ="
        r" \Sigma_x^{-1/2} x"
    ),
    "quiet-labels": r"\operatorname{rank}(\sqrt{\Sigma_\epsilon}\, V) < \operatorname{rank}(V)",
    "unrelated-data": (
        r"\mathbb{E}[x_A x_B^\top] = (1 - s)\, \Sigma_x, \qquad \mathrm{CKA} \to (1 - s)^2\,"
        r" \mathrm{CKA}"
    ),
    "two-saddles": (
        r"f(x) = \sum_{k \in I} \sigma_k u_k e_k^\top \Sigma_x^{-1/2} x, \qquad I_A \neq I_B"
    ),
}


BALANCE = (
    r"\mathbb{E}[\nabla_{W_i} \ell\, \nabla_{W_i} \ell^\top] ="
    r" \mathbb{E}[\nabla_{W_{i+1}} \ell^\top\, \nabla_{W_{i+1}} \ell]"
)
OPTIONS = {one.name: one for one in options_of(DeepLinear)}


def show() -> None:
    """Draw the presets, the controls, the run with its answer, and the claim."""
    answer = st.empty()
    name = experiment.pick_preset(OPTIONS["preset"], preset_titles())
    with bar.controls_bar():
        question = pick(name)
    show_run = partial(show_looks, question, answer)
    experiment.conduct(question, partial(start, question), show_run, answer=answer)
    claim = BREAKERS[name].claim if name in BREAKERS else PRESETS[name].claim
    prose.explain(f"{frame.plain(claim)}\n\n{CLAIM}")
    balance = [BALANCE] if name in ("theorem-1", "sgd") else []
    prose.derive((*([FORMULAS[name]] if name in FORMULAS else []), *FORMULA, *balance))


def pick(preset: str) -> DeepLinear:
    """Draw the controls of the world, of both networks, and of what breaks the theorem."""
    with bar.more():
        inputs = controls.pick_number(OPTIONS["inputs"], 12)
        labels = controls.pick_number(OPTIONS["labels"], 12)
        rank = controls.pick_number(OPTIONS["rank"], 12)
    seed = controls.pick_number(OPTIONS["seed"])
    chosen = {
        "preset": preset,
        "inputs": inputs,
        "labels": labels,
        "rank": rank,
        "a": pick_widths(OPTIONS["a"]),
        "b": pick_widths(OPTIONS["b"]),
        "condition": controls.pick_share(OPTIONS["condition"], 1.0, 30.0, step=0.1),
        "seed": seed,
        "strength": pick_strengths(preset, rank, labels),
        **pick_descent(preset),
    }
    return build(DeepLinear, chosen)


def pick_widths(one: Option) -> tuple[int, ...]:
    """Draw the hidden widths of a network and read "6, 7"; raises InputError."""
    text = st.text_input(
        one.label,
        help=f"{controls.sentence(one.help)} None may be below the rank.",
        **bind(one.name, ", ".join(map(str, one.default)), joint=", "),
    )
    return tuple(map(int, controls.read_numbers(text, WIDTHS, most=6)))


def pick_descent(preset: str) -> dict[str, object]:
    """Draw how SGD goes, where it trains the networks, and return what differs from the preset."""
    if preset not in DESCENTS:
        return {}
    usual, one = DESCENTS[preset], OPTIONS["step"]
    assert one.range
    steps = tuple(each.step for each in usual)
    text = st.text_input(
        one.label,
        help=controls.sentence(one.help),
        **bind(one.name, ", ".join(f"{step:g}" for step in steps), joint=", "),
    )
    chosen = controls.read_numbers(text, one.range, most=6)
    batch = controls.pick_number(OPTIONS["batch"], usual=usual[0].batch)
    return {
        "step": () if chosen == steps else chosen,
        "batch": None if batch == usual[0].batch else batch,
    }


def pick_strengths(preset: str, modes: int, labels: int) -> tuple[float, ...]:
    """Draw one more strength of a breaker and return all that are tried; none for its own ones."""
    usual = usual_strengths(preset, modes=modes, labels=labels) if preset in BREAKERS else ()
    if len(usual) < 2:
        return ()
    whole = bool(BREAKERS[preset].counts)
    for text in address.take("strength"):
        if text not in map(str, usual):
            address.hand("added", [text])
    added = st.slider(
        "One more strength",
        0.0,
        usual[-1],
        step=1.0 if whole else usual[-1] / 20,
        help=f"{BREAKERS[preset].unit.capitalize()}, in addition to those always tried.",
        **bind("added", 0.0, within=(0.0, usual[-1])),
    )
    added = round(added, 0 if whole else 6)  # a link may hold half a mode
    return () if added in usual else tuple(sorted((*usual, added)))


def show_looks(question: DeepLinear, answer: DeltaGenerator, looks: list[Look]) -> None:
    """Draw what a run has shown so far, and what the theory says of it."""
    table = tabulate(looks)
    with answer:
        prose.answer(findings_of(question, table))
    if question.preset in BREAKERS:
        unit = BREAKERS[question.preset].unit
        figure = figures.broken(table, unit=unit, mode=frame.mode())
        exportbar.draw_alone(question, figure, key="broken", table=table)
        strength = table["strength"].iloc[-1]
        show_layers(question, looks[-1], f"Layer by layer at strength {strength:g}")
    elif question.preset == "minima":
        values = table.loc[table["by"] == "chance", "min_alignment"]
        by_noise = table["min_alignment"].iloc[0]
        figure = figures.other_minima(list(values), by_noise=by_noise, mode=frame.mode())
        exportbar.draw_alone(question, figure, key="minima", table=table)
    elif question.preset == "limits":
        figure = sweep_figures.limits(table, mode=frame.mode(), narrow=frame.narrow())
        exportbar.draw_alone(question, figure, key="limits", table=table)
    elif question.preset == "hierarchy":
        figure = sweep_figures.hierarchy(table, mode=frame.mode(), narrow=frame.narrow())
        exportbar.draw_alone(question, figure, key="hierarchy", table=table)
    else:
        show_training(question, looks, table)


def show_training(question: DeepLinear, looks: list[Look], table: pd.DataFrame) -> None:
    """Draw the alignment over training, layer by layer, and what else changes on the way."""
    steps = "steps of descent (L-BFGS)" if question.preset == "theorem-1" else "steps of SGD"
    linear, mode = question.preset not in ("tanh", "relu"), frame.mode()
    figure = figures.over_training(table, steps=steps, predicted=linear, mode=mode)
    exportbar.draw_alone(question, figure, key="training", table=table)
    show_layers(question, looks[-1], "Layer by layer")
    if linear:
        st.header("What happens on the way", anchor=False)
        way = figures.on_the_way(table, steps=steps, mode=mode, narrow=frame.narrow())
        exportbar.draw_alone(question, way, key="way", table=table)
        show_matrices(question, tabulate_rows(looks), steps)


def show_matrices(question: DeepLinear, rows: pd.DataFrame, steps: str) -> None:
    """Draw what becomes of each matrix over training."""
    st.header("Matrix by matrix", anchor=False)
    matrices = build(Matrices, {"preset": question.preset, **vars(question.networks)})
    figure = weight_figures.matrices(rows, steps=steps, mode=frame.mode(), narrow=frame.narrow())
    exportbar.draw_alone(matrices, figure, key="matrices", table=rows)
    prose.answer(findings_of(matrices, rows))


def show_layers(question: DeepLinear, look: Look, title: str) -> None:
    """Draw the alignment of every layer with every other; between the networks only, where nothing
    else was measured.
    """
    if look.matrix is None or not look.matrix.isfinite().all():
        return
    a, b = (
        [f"{network}{place}" for place, _ in enumerate(widths, start=1)]
        for network, widths in (("a", question.networks.a), ("b", question.networks.b))
    )
    rows, columns = ([*a, *b], [*a, *b]) if len(look.matrix) == len(a) + len(b) else (a, b)
    st.header(title, anchor=False)
    figure = figures.layer_map(look.matrix.numpy(), rows=rows, columns=columns, mode=frame.mode())
    matrix = pd.DataFrame(look.matrix.numpy(), rows, columns).rename_axis("layer").reset_index()
    note = exportbar.RUNS_IT
    exportbar.draw_alone(question, figure, key="layers", table=matrix, command_note=note)


frame.draw_alone(DeepLinear.title(), show)
