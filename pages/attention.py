"""Theory, queries and keys: whether language models' attention has the balance that the theory of
deep linear networks predicts.
"""

from __future__ import annotations

from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.options import build
from core.questions.asking import findings_of
from core.theory.attention.figures import balance
from core.theory.attention.question import Attention
from core.theory.attention.runs import start, usual_models
from core.theory.looks import Look, tabulate_rows
from pages._shared import bar, controls, experiment, exportbar, frame, prose
from pages._shared.address import bind

CLAIM = """Attention depends on queries and keys by their product alone, as a deep linear network
does on neighboring layers. Where the noise of SGD alone chooses among all weights of the same
product, the gradients of both are balanced, head by head; where weight decay chooses, the weights
are (Ziyin and Chuang 2025, footnotes 13 and 15). *Alike* is the cosine of both sides without their
multiple of the identity, *apart* their distance over the sum of their norms. Dots are heads, solid
lines medians, dashed ones the same models with fresh weights, and dotted is one side in a random
basis. Where positions turn queries and keys (LLaMA), only the planes of rotation are compared."""
FORMULA = (
    r"\ell(W_Q, W_K) = \ell(W_Q^\top W_K)",
    r"\mathbb{E}[\nabla_{W_Q} \ell\, \nabla_{W_Q} \ell^\top] ="
    r" \mathbb{E}[\nabla_{W_K} \ell\, \nabla_{W_K} \ell^\top]",
    r"W_Q W_Q^\top = W_K W_K^\top",
)
OPTIONS = controls.options_by_name(Attention)


def show() -> None:
    """Draw the controls, the run with its answer, and the claim."""
    answer = st.empty()
    with bar.controls_bar():
        question = pick()
    show_run = partial(show_looks, question, answer)
    experiment.conduct(question, partial(start, question), show_run, answer=answer)
    prose.explain(CLAIM)
    prose.derive(FORMULA)


def pick() -> Attention:
    """Draw the controls."""
    one = OPTIONS["models"]
    text = st.text_input(
        one.label,
        placeholder=f"the usual {len(usual_models())}",
        help=controls.sentence(one.help),
        **bind(one.name, "", joint=", "),
    )
    captions = controls.pick_number(OPTIONS["captions"])
    seed = controls.pick_number(OPTIONS["seed"])
    models = tuple(text.replace(",", " ").split())
    return build(Attention, {"models": models, "captions": captions, "seed": seed})


def show_looks(question: Attention, answer: DeltaGenerator, looks: list[Look]) -> None:
    """Draw what the models seen so far show, and what the theory says of it."""
    heads = tabulate_rows(looks)
    with answer:
        prose.answer(findings_of(question, heads))
    figure = balance(heads, mode=frame.mode(), narrow=frame.narrow())
    exportbar.draw_alone(question, figure, key="balance", table=heads)


frame.draw_alone(Attention.title(), show)
