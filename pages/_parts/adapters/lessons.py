"""What the Adapters page is asked: which encoders in which layers, the reference, how adapters are
trained, and the metric.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.metrics import METRICS
from core.questions.adapters.maps.model import split
from core.questions.adapters.question import WIDEST, Adaptation, AdapterQuestion, Fitting
from core.questions.adapters.usual import usual_models
from core.questions.competence.question import TasksSolved
from core.study.spaces import describe_spaces
from pages._shared import controls, frame, queries
from pages._shared.queries import Place

LIMITS = {
    "width": (2, WIDEST),
    "temperature": (0.001, 10.0),
    "seed": (0, 2**31 - 1),
}  # of the controls
ENCODERS = (
    "Models that stay frozen; an adapter is trained for each. With three or more, all pairs are in"
    " the loss."
)
REFERENCE = "The strong model that the common space is compared with. It takes no part in training."
OPTIONS = controls.options_by_name(Adaptation)


def pick(at: Place) -> Adaptation:
    """Draw the controls in the sidebar, and return what they choose; raises NeededError for too few
    models.
    """
    above = st.container()
    with st.sidebar:
        models = controls.pick_finished(queries.models(at)).set_index("model", drop=False)
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
        pick = partial(
            st.multiselect,
            "Encoders",
            list(models.index),
            default=encoders,
            format_func=models["title"].get,
            key="encoders",
            help=ENCODERS,
            bind="query-params",
        )
        chosen = controls.heed(
            pick, "encoders", models["title"].tolist(), kind="model", above=above
        )
        if len(chosen) < 2:
            raise frame.NeededError("Choose at least two encoders: one alone cannot be aligned.")
        spaces = tuple(pick_space(name, titles[name], layers[name], above) for name in chosen)
        others = models.drop(index=chosen)
        if others.empty:
            raise frame.NeededError("Leave one model out of the encoders: it is the reference.")
        controls.forget("reference", others.index)
        first = reference if reference in others.index else others.index[0]
        pick = partial(controls.pick_model, "Reference", others, "reference", default=first)
        truth = controls.heed(
            pick,
            "reference",
            others["title"].tolist(),
            kind="model beside the encoders",
            above=above,
        )
        st.caption(REFERENCE)
        space = pick_space(truth, titles[truth], layers[truth], above)
        return _pick_training(at, spaces, space)


def pick_space(model: str, title: str, layers: Sequence[str], above: DeltaGenerator) -> str:
    """Choose a layer of a model; its penultimate block at first."""
    names, key = dict(enumerate(layers)), f"layer-{model}"
    controls.forget(key, names)
    pick = partial(
        st.selectbox,
        f"Layer of {title}",
        list(names),
        index=max(0, len(names) - 2),
        format_func=names.get,
        key=key,
        bind="query-params",
    )
    layer = controls.heed(pick, key, layers, kind=f"layer of {title}", above=above)
    return f"{model}:{layer}"


def _pick_training(at: Place, spaces: tuple[str, ...], reference: str) -> Adaptation:
    """Choose how adapters are trained and measured."""
    parts = split(queries.size(at), seed=st.session_state.get("seed", 0))
    most = len(parts.train)
    left, right = st.columns(2)
    with left:
        width = int(controls.pick_between(OPTIONS["width"], *LIMITS["width"], 64))
    with right:
        temperature = controls.pick_between(
            OPTIONS["temperature"], *LIMITS["temperature"], 0.01, format="%.3f"
        )
    learned = controls.pick_switch(OPTIONS["learned"])
    with left:
        pairs = _pick_pairs(most)
    with right:
        seed = int(controls.pick_between(OPTIONS["seed"], *LIMITS["seed"], 1))
    return Adaptation(
        scope=at.scope,
        x=spaces[:1],
        y=spaces[1:2],
        z=spaces[2:],
        ref=(reference,),
        fitting=Fitting(width, temperature, learned),
        measure=controls.pick_measure(len(parts.validation)),
        seed=seed,
        pairs=None if pairs == most else pairs,
    )


def _pick_pairs(most: int) -> int:
    """Choose how many pairs train, all at first."""
    if not 2 <= st.session_state.get("pairs", most) <= most:  # another dataset was larger
        st.session_state["pairs"] = most
    one = OPTIONS["pairs"]
    text = controls.sentence(one.help)
    return int(
        st.number_input(one.label, 2, most, most, key=one.name, help=text, bind="query-params")
    )


def chance(question: AdapterQuestion, n: int) -> float:
    """Return the metric's chance over n stimuli, NaN where no formula is known."""
    return METRICS[question.measure.metric].chance_level(n, question.measure.changed)


def about(at: Place, spaces: tuple[str, ...], column: str) -> dict[str, str]:
    """Return what `core.study.spaces.describe_spaces` says of each space: its title, group, model
    or layer.
    """
    table = describe_spaces(spaces, queries.models(at))
    return dict(zip(table["space"], table[column], strict=True))


def reference_title(at: Place, question: AdapterQuestion) -> str:
    """Return what people call the reference."""
    return about(at, question.ref, "title")[question.ref[0]]
