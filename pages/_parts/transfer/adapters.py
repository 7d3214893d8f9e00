"""Adapters: do linear maps between frozen encoders bring them nearer to a strong model?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from core.options import options_of
from core.questions.adapters.figures import retrieval_plot
from core.questions.adapters.lesson import usual_models
from core.questions.adapters.question import Adaptation
from core.questions.competence.question import TasksSolved
from core.study.parts import Measure
from pages._shared import address, bar, controls, frame, queries, runner, section
from pages._shared.address import named_by
from pages._shared.controls import Look
from pages._shared.queries import Place

TRAINING = 12.0  # seconds, about
OFFER = "Train a linear map per encoder: is their common space nearer to a strong model?"
GAINS = """A row is an encoder. Hollow: its alignment with the reference before training; filled:
after it, in the common space. The CI is of the gain over the average (dashed)."""
METHODS = """Linear adapters are trained contrastively (InfoNCE) to map two encoders' vectors of
one stimulus to the same point; encoders and reference stay frozen. The claim: the common space is
nearer to the reference than the encoders are on average. Alignment is measured on held-out
stimuli; with an offset, adapters also center; diamonds show centering alone."""
KERNELS = """Similarities of the same held-out stimuli, grouped by the reference. Each square has
its own color scale."""
RETRIEVAL = """A point is one direction between two encoders: how often the match is among the
first 10 of all test stimuli. Below the adapters: methods without gradient training."""
PROBES = """Hollow: before; filled: in the common space, with the 95% CI of the change; bars:
chance. Factors describe the scene; nuisances belong to one modality."""
LOOKS = {
    "pairs": Look(help="Training pairs (default: all). Several, such as 100, 200, give a curve."),
    "seeds": Look(help="Trainings with different seeds (default 5).", most=20),
    "width": Look(help="Dimensions of the common space (default 256).", least=2, step=64),
    "temperature": Look(help="Temperature of the loss (default 0.07). Lower: nearest images only."),
    "learned": Look(help="Learn the temperature during training."),
    "start": Look(
        help="Initialization (default: canonical correlation).",
        labels={"canonical": "canonical correlation", "random": "random"},
    ),
    "direction": Look(help="Both encoders retrieve each other, or the first retrieves the second."),
    "products": Look(
        label="Similarity",
        help="What the loss and the kernels compare (default: cosines).",
        labels={"cosine": "cosine", "raw": "inner product"},
    ),
    "offset": Look(help="Center each encoder's vectors (default: yes)."),
    "seed": Look(help="Seed of the split and of all draws (default 0)."),
}


def show(at: Place) -> None:
    """Draw the verdict over several trainings and further analyses, closed; first kernels, if there
    is no training yet.
    """
    frame.need_stimuli(at)
    if queries.models(at).empty:
        frame.need_readers(at, "caption", "image")
    question = pick(at)
    at = replace(at, scope=question.scope)
    answered, seconds = None, TRAINING * question.seeds
    first, second = st.container(), st.container()
    if runner.waits(at, question, seconds):  # the first screen has a figure
        first, second = second, first
    with first, frame.part():
        answered = section.draw(
            at,
            question,
            key="gains",
            caption=GAINS,
            methods=METHODS,
            seconds=seconds,
            label="Train adapters",
            offer=OFFER,
        )
    one = replace(question, pairs=question.pairs and (max(question.pairs),))
    if answered:
        frame.fold("Kernels", partial(show_kernels, at, one), key="kernels")
        looks = {"caption": RETRIEVAL, "plot": retrieval_plot, "lead": 0}
        section.closed("Retrieval", at, question, key="retrieval", **looks)
        curve, label = replace(question, halved=True), "Train on fewer pairs"
        offer = {"seconds": math.inf, "label": label, "queue": "worth"}
        section.closed("Data efficiency", at, curve, key="worth", **offer)
    else:
        with second, frame.part():
            before = replace(one, of="before")
            section.draw(at, before, key="kernels", header="Kernels", caption=KERNELS)
    if queries.study(at).dataset.world:
        section.closed(
            "What do adapters drop?",
            at,
            replace(one, of="probes"),
            key="probes",
            caption=PROBES,
            seconds=TRAINING * question.seeds,
            label="Probe the adapters",
            queue="probes",
        )


def show_kernels(at: Place, question: Adaptation) -> None:
    """Draw the kernels before and after one training, those after it once they are computed."""
    kernels = replace(question, of="kernels")
    kept = queries.recall(at, kernels) is not None
    shown = kernels if kept else replace(question, of="before")
    section.draw(at, shown, key="kernels", caption=KERNELS)
    if not kept:
        label = "Show after training"
        section.draw(at, kernels, key="after", seconds=TRAINING, label=label, queue="after")


def pick(at: Place) -> Adaptation:
    """Draw the controls, and return what they choose; raises NeededError for too few models."""
    _adopt_spaces()
    with bar.controls_bar():
        rest = bar.more()
        with rest:
            models = controls.pick_usual(queries.models(at)).set_index("model", drop=False)
            scope = controls.pick_scope(at)
        if len(models) < 3:
            how = frame.command(
                "embed", "--dataset", at.dataset, "--model", "timm:vit_small_patch16_224"
            )
            raise frame.NeededError(f"Needs 3 models; {len(models)} loaded.", how)
        encoders, reference = usual_models(
            queries.study(at), models.reset_index(drop=True), queries.ask(at, TasksSolved(at.scope))
        )
        a = controls.pick_model("Encoder A", models, "encoder_a", default=encoders[0])
        rest_of = models.drop(index=a)
        b = encoders[1] if encoders[1] != a else encoders[0]
        b = controls.pick_model("Encoder B", rest_of, "encoder_b", default=b)
        more = list(rest_of.index.drop(b))
        with rest:
            chosen = st.multiselect(
                "More encoders",
                more,
                format_func=named_by(models["title"]),
                help="Further frozen models; all pairs are trained.",
                select_all=False,  # Enter takes the best match
                **address.bind("encoder_more", [], more, kind="model"),
            )
        chosen = [a, b, *chosen]
        others = models.drop(index=chosen)
        if others.empty:
            raise frame.NeededError("Leave one model out of the encoders, as the reference.")
        first = reference if reference in others.index else others.index[0]
        truth = controls.pick_model("Reference", others, "reference", default=first)
        with rest:
            spaces = tuple(
                _pick_space(name, models.loc[name, "title"], models.loc[name, "layers"])
                for name in (*chosen, truth)
            )
            named = ("x", "y", "z", "ref", "of", "halved", "bootstrap")
            leave = {*named, *(one.name for one in options_of(Measure))}
            question = controls.pick(Adaptation, None, LOOKS, leave=leave)
            measure = controls.pick_measure(queries.size(at) // 8)
    x, y, *z = spaces[:-1]
    return replace(
        question, scope=scope, x=(x,), y=(y,), z=tuple(z), ref=spaces[-1:], measure=measure
    )


def _pick_space(model: str, title: str, layers: Sequence[str]) -> str:
    """Choose a layer of a model; its penultimate block at first."""
    names = dict(enumerate(layers))
    layer = st.selectbox(
        f"Layer of {frame.plain(title)}",
        list(names),
        format_func=names.get,
        **address.bind(f"layer:{model}", max(0, len(names) - 2), names, kind=f"layer of {title}"),
    )
    return f"{model}:{layer}"


def _adopt_spaces() -> None:
    """Hand the layers of models that a question's link names to their controls."""
    for chosen in ("of", "halved"):  # the page decides them
        address.take(chosen)
    named = [name for key in ("encoders", "x", "y", "z") for name in address.take(key)]
    places = {"encoder_a": named[:1], "encoder_b": named[1:2], "encoder_more": named[2:]}
    for control, spaces in {**places, "reference": address.take("ref")}.items():
        names = []
        for space in spaces:
            model, colon, layer = space.rpartition(":")
            if colon:
                address.hand(f"layer:{model}", [layer])
            names.append(model or space)
        if names:
            address.hand(control, names)
