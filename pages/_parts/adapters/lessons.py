"""What the Adapters page is asked: which encoders in which layers, the reference, how adapters are
trained, and the metric.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from core.options import MOST_SEED, build
from core.questions.adapters.maps.model import split
from core.questions.adapters.parts import COLDEST, HOTTEST, WIDEST, Fitting
from core.questions.adapters.question import Adaptation, AdapterQuestion
from core.questions.adapters.usual import usual_models
from core.questions.competence.question import TasksSolved
from core.study.spaces import describe_spaces
from pages._shared import address, bar, controls, frame, queries
from pages._shared.address import named_by
from pages._shared.controls import pick_measure, pick_scope
from pages._shared.queries import Place

LIMITS = {
    "width": (2, WIDEST),
    "temperature": (COLDEST, HOTTEST),
    "seed": (0, MOST_SEED),
}  # of the controls
ENCODERS = (
    "Models that stay frozen; an adapter is trained for each. With three or more, all pairs are in"
    " the loss."
)
OPTIONS = controls.options_by_name(Adaptation)


def pick(at: Place) -> Adaptation:
    """Draw the controls, and return what they choose; raises NeededError for too few
    models.
    """
    _adopt_spaces()
    with bar.controls_bar():
        rest = bar.more()
        with rest:
            models = controls.pick_usual(queries.models(at)).set_index("model", drop=False)
            scope = pick_scope(at)
        if len(models) < 3:
            how = frame.command(
                "embed", "--dataset", at.dataset, "--model", "timm:vit_small_patch16_224"
            )
            raise frame.NeededError(
                "Two encoders and a reference are needed: embed three models.", how
            )
        titles, layers = models["title"].to_dict(), models["layers"].to_dict()
        encoders, reference = usual_models(
            queries.study(at), models.reset_index(drop=True), queries.ask(at, TasksSolved(at.scope))
        )
        chosen = st.multiselect(
            "Encoders",
            list(models.index),
            format_func=named_by(models["title"]),
            help=ENCODERS,
            select_all=False,  # Enter takes the best match
            **address.bind("encoders", encoders, models.index, kind="model"),
        )
        if len(chosen) < 2:
            raise frame.NeededError("Choose at least two encoders: one alone cannot be aligned.")
        others = models.drop(index=chosen)
        if others.empty:
            raise frame.NeededError("Leave one model out of the encoders: it is the reference.")
        first = reference if reference in others.index else others.index[0]
        truth = controls.pick_model("Reference", others, "reference", default=first)
        with rest:
            spaces = [pick_space(name, titles[name], layers[name]) for name in (*chosen, truth)]
            return _pick_training(replace(at, scope=scope), tuple(spaces[:-1]), spaces[-1])


def pick_space(model: str, title: str, layers: Sequence[str]) -> str:
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
    """Take the layers of models that a question's link names to their controls."""
    encoders = [*address.take("x"), *address.take("y"), *address.take("z")]
    references = address.take("ref")
    for trained in ("before", "passes"):  # the button that trains decides, and no link presses it
        address.take(trained)
    if encoders:
        address.hand("encoders", [_hand_layer(space) for space in encoders])
    if references:
        address.hand("reference", [_hand_layer(space) for space in references])


def _hand_layer(space: str) -> str:
    """Hand the layer of `model:layer` to its control, and return the model; it may stand alone."""
    model, colon, layer = space.rpartition(":")
    if colon:
        address.hand(f"layer:{model}", [layer])
    return model or space


def _pick_training(at: Place, spaces: tuple[str, ...], reference: str) -> Adaptation:
    """Choose how adapters are trained and measured."""
    left, right = st.columns(2)
    above, below = right.container(), right.container()
    with below:  # which stimuli train depends on it
        seed = int(controls.pick_between(OPTIONS["seed"], *LIMITS["seed"], 1))
    parts = split(queries.size(at), seed=seed)
    most = len(parts.train)
    with left:
        width = int(controls.pick_between(OPTIONS["width"], *LIMITS["width"], 64))
    with above:
        temperature = controls.pick_between(
            OPTIONS["temperature"], *LIMITS["temperature"], 0.01, format="%.3f"
        )
    learned = controls.pick_switch(OPTIONS["learned"])
    with left:
        pairs = controls.pick_number(OPTIONS["pairs"], most, usual=most)
    words = {
        name: controls.pick_choice(OPTIONS[name], OPTIONS[name].choices)
        for name in ("start", "direction", "products")
    }
    numbers = {"width": width, "temperature": temperature, "learned": learned}
    offset = controls.pick_switch(OPTIONS["offset"])
    return Adaptation(
        scope=at.scope,
        x=spaces[:1],
        y=spaces[1:2],
        z=spaces[2:],
        ref=(reference,),
        fitting=build(Fitting, {**numbers, **words, "offset": offset}),
        measure=pick_measure(len(parts.validation)),
        seed=seed,
        pairs=None if pairs == most else pairs,
    )


def about(at: Place, spaces: tuple[str, ...], column: str) -> dict[str, str]:
    """Return what `core.study.spaces.describe_spaces` says of each space: its title, group, model
    or layer.
    """
    table = describe_spaces(spaces, queries.models(at))
    return dict(zip(table["space"], table[column], strict=True))


def reference_title(at: Place, question: AdapterQuestion) -> str:
    """Return what people call the reference."""
    return about(at, question.ref, "title")[question.ref[0]]
