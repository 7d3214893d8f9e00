"""Theory, deep linear networks: noise aligns every layer of two networks; what breaks that?"""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from core.errors import InputError
from core.recipe import Recipe
from core.theory.deep_linear import figures as figures
from core.theory.deep_linear.breakers import BREAKERS, usual_strengths
from core.theory.deep_linear.nets import WIDTHS, make_nets
from core.theory.deep_linear.presets import PRESETS, start
from core.theory.looks import Look, tabulate
from core.theory.verdicts import tell_deep_linear
from pages._shared import experiment, exportbar, frame

PAGE = "pages/theory_deep_linear.py"
CLAIM = """Two deep linear networks of any depths and widths, between frozen matrices of their
own, see two views of the same inputs and learn the same noisy labels y = V x + ε.
Trained with noise, every layer of both becomes the same representation up to
rotation and scale, although almost all other solutions of the same loss are not
(Ziyin and Chuang 2025)."""
FORMULA = (
    r"f(x) = M^O W_D \cdots W_1 M^I Z x",
    r"c_0\, h_A(x_1)^\top h_A(x_2) = h_B(x_1)^\top h_B(x_2)",
)
FORMULAS = {
    "sgd": r"W_i \leftarrow W_i - \eta\, \nabla_{W_i} \ell(x), \qquad \eta = 0.003",
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
}


def show() -> None:
    """Draw the presets, the claim, the controls and the run."""
    claims = {name: (entry.title, entry.claim) for name, entry in PRESETS.items()}
    claims |= {name: (breaker.title, breaker.claim) for name, breaker in BREAKERS.items()}
    st.markdown(CLAIM)
    for formula in FORMULA:  # one below the other, since a phone shows no wide one
        st.latex(formula)
    preset = experiment.presets(
        PAGE, {name: title for name, (title, _) in claims.items()}, default="theorem-1"
    )
    asked = ask()
    strengths = ask_strengths(preset, asked["rank"])
    recipe = Recipe.of("theory-deep-linear", preset=preset, strengths=strengths, **asked)

    def begin() -> Any:
        return start(preset, make_nets(**asked), strengths=strengths)

    if preset in claims:
        title, claim = claims[preset]
        st.subheader(title, anchor=False)
        st.markdown(frame.plain(claim))
    if preset in FORMULAS:
        st.latex(FORMULAS[preset])
    experiment.conduct(recipe, begin, partial(show_looks, preset, recipe))


def ask() -> dict[str, Any]:
    """Draw the controls of the world and of both networks."""
    with st.sidebar:
        left, right = st.columns(2)
        d = left.number_input("Inputs", 2, 12, 5, key="d", bind="query-params")
        c = right.number_input("Labels", 2, 12, 5, key="c", bind="query-params")
        rank = left.number_input("Rank of V", 1, 12, 3, key="rank", bind="query-params")
        seed = right.number_input("Seed", 0, 2**31 - 1, 0, key="seed", bind="query-params")
        text = "Widths of the hidden layers, none below the rank."
        widths = [
            read_widths(
                st.text_input(
                    f"Network {name}",
                    ", ".join(map(str, usual)),
                    key=name,
                    help=text,
                    bind="query-params",
                )
            )
            for name, usual in zip("ab", WIDTHS, strict=True)
        ]
        condition = st.slider(
            "Condition of M Z",
            1.0,
            30.0,
            4.0,
            key="condition",
            bind="query-params",
            help="How unevenly frozen matrix and view stretch the inputs; 1 is a rotation.",
        )
    return {
        "d": int(d),
        "c": int(c),
        "rank": int(rank),
        "widths": widths,
        "condition": float(condition),
        "seed": int(seed),
    }


def read_widths(text: str) -> list[int]:
    """Read "6, 7"; raises InputError."""
    try:
        widths = [int(word) for word in text.replace(",", " ").split()]
    except ValueError:
        widths = []
    if not widths or not all(1 <= width <= 32 for width in widths) or len(widths) > 6:
        raise InputError(f"one to six widths of 1 to 32 expected, such as 6, 7; given {text!r}")
    return widths


def ask_strengths(preset: str, rank: int) -> list[float]:
    """Draw the strength of a breaker and return all that are tried: its own ones and the chosen
    one.
    """
    if preset not in BREAKERS:
        return []
    breaker, usual = BREAKERS[preset], usual_strengths(preset, rank)
    if len(usual) == 1:
        return list(usual)
    step = 1.0 if preset == "saddle" else usual[-1] / 20
    with st.sidebar:
        chosen = st.slider(
            "Strength",
            0.0,
            usual[-1],
            usual[len(usual) // 2],
            step,
            key=f"strength-{preset}",
            bind="query-params",
            help=f"{breaker.unit}; added to those that are tried anyway.",
        )
    return sorted(
        {*usual, round(chosen) if preset == "saddle" else round(chosen, 6)}
    )  # a link may hold half a mode


def show_looks(preset: str, recipe: Recipe, looks: list[Look]) -> None:
    """Draw what a run has shown so far, and what the theory says of it."""
    table = tabulate(looks)
    st.markdown(f"**Seen.** {tell_deep_linear(preset, table)}")
    mode, narrow = frame.mode(), frame.narrow()
    told: dict[str, Any] = {"table": table, "recipe": recipe, "command": command(recipe)}
    if preset in BREAKERS:
        exportbar.plot(
            figures.broken(table, unit=BREAKERS[preset].unit, mode=mode), key="broken", **told
        )
        show_layers(
            looks[-1], recipe, told, f"Layer by layer at strength {table['strength'].iloc[-1]:g}"
        )
        return
    if preset == "minima":
        values = table.loc[table["by"] == "chance", "min_alignment"]
        figure = figures.other_minima(
            list(values), by_noise=table["min_alignment"].iloc[0], mode=mode
        )
        exportbar.plot(figure, key="minima", **told)
        return
    steps = "steps of descent (L-BFGS)" if preset == "theorem-1" else "steps of SGD"
    linear = preset not in ("tanh", "relu")
    exportbar.plot(
        figures.over_training(table, steps=steps, told=linear, mode=mode), key="training", **told
    )
    show_layers(looks[-1], recipe, told, "Layer by layer")
    if linear:
        st.subheader("What happens on the way", anchor=False)
        exportbar.plot(
            figures.on_the_way(table, steps=steps, mode=mode, narrow=narrow), key="way", **told
        )


def show_layers(look: Look, recipe: Recipe, told: dict[str, Any], title: str) -> None:
    """Draw the alignment of every layer with every other; between the networks only, where nothing
    else was measured.
    """
    if look.matrix is None or not look.matrix.isfinite().all():
        return
    a, b = (
        [f"{network}{place}" for place, _ in enumerate(widths, start=1)]
        for network, widths in zip("ab", recipe.choices["widths"], strict=True)
    )
    rows, columns = ([*a, *b], [*a, *b]) if len(look.matrix) == len(a) + len(b) else (a, b)
    st.subheader(title, anchor=False)
    figure = figures.layer_map(look.matrix.numpy(), rows=rows, columns=columns, mode=frame.mode())
    exportbar.plot(figure, key="layers", **told)


def command(recipe: Recipe) -> str:
    """Return the command that prints the same run."""
    chosen = recipe.choices
    (a, b), strengths = chosen["widths"], tuple(chosen["strengths"])
    return experiment.command(
        "deep-linear",
        preset=chosen["preset"],
        strength=strengths or None,
        inputs=chosen["d"],
        labels=chosen["c"],
        rank=chosen["rank"],
        a=tuple(a),
        b=tuple(b),
        condition=chosen["condition"],
        seed=chosen["seed"],
    )


frame.draw_alone("Why would two networks come to see the same?", show)
