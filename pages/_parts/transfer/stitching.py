"""Stitching: can a layer of one network replace a layer of another?"""

from __future__ import annotations

import math
from functools import partial

import pandas as pd
import streamlit as st

from core.errors import InputError
from core.questions.stitching import bench
from core.questions.stitching.bench import Duo, Fitting, Start
from core.questions.stitching.question import Stitch, StitchMany
from pages._shared import bar, controls, frame, queries, section
from pages._shared.address import bind, fragment
from pages._shared.controls import Look
from pages._shared.queries import Place

STITCHING = 20.0  # seconds, about
OFFER = "Feed a layer of one frozen network into another: how much of its accuracy is lost?"
ONE = """A point is one way to fit the map, with its 95% CI. 0%: nothing is lost; 100%: chance."""
METHODS = """An affine map of a layer of the source network replaces a layer of the target network.
Both stay frozen; the map is fitted on new scenes, to the target network's own task. The stitching
penalty is the drop in its score; **lost** is that drop as a share of its score above chance."""
LAYERS = """A cell is one stitch: the row's source layer replaces the column's target layer. Rings:
the path through both networks that loses least. Right: alignment of the same layers."""
KINDS = """A point is one network stitched into another, first into first and last into last
layer. Diamonds: means over seeds with their 95% CI."""
TREND = """A point is one network stitched into another of the same size and seed but another
objective; its fill is the source model's color, its ring the target model's."""
OPTIONS = controls.options_by_name(Stitch)
STARTS: dict[Start, str] = {"least-squares": "least squares", "random": "random"}
PRESETS = {  # kinds of pairs, and what their buttons say
    bench.OTHER_SEED: "Another seed",
    "self-supervised → supervised": "Self-supervised → supervised",
    "CLIP → supervised": "CLIP → supervised",
    bench.SMALL: bench.SMALL[:1].upper() + bench.SMALL[1:],
    bench.EARLY: "Early → late",
    bench.LATE: "Late → early",
}


def show(at: Place) -> None:
    """Draw one stitch, all layers of the same two models, and what other pairs of models lose."""
    frame.need_stimuli(at)
    if queries.models(at).empty:
        frame.need_readers(at, "caption", "image")
    with bar.controls_bar():
        question = pick(at)
    _offer_presets(at)
    with frame.part():
        kept = kept_places(at, question)
        section.draw(
            at,
            question,
            key="one",
            caption=ONE,
            methods=METHODS,
            seconds=0.0 if (question.layer_x, question.layer_y) in kept else STITCHING,
            label="Run stitching",
            offer=OFFER,
        )
    draw = partial(show_map, at, question, len(kept))
    frame.fold("All pairs of layers", draw, key="layers")
    show_many(at)


def show_map(at: Place, one: Stitch, kept: int) -> None:
    """Draw all pairs of layers of two models, if they are kept; else offer to stitch them."""
    question = Stitch(at.scope, one.x, one.y, one.fitting, all_layers=True)
    models = queries.models(at).set_index("model")
    every = len(models.loc[one.x, "layers"]) * len(models.loc[one.y, "layers"])
    titles = {"title_x": models.loc[one.x, "title"], "title_y": models.loc[one.y, "title"]}
    answered = section.draw(
        at,
        question,
        key="layers",
        plot=lambda table: question.plot(table.assign(**titles)),
        caption=LAYERS,
        seconds=0.0 if kept == every else STITCHING * (every - kept),
        label="Stitch all layers",
        queue="stitch-all",
    )
    if answered:
        dots = question.prediction_plot(answered.table)
        section.draw(at, question, key="foretold", plot=dots, lead=0)


@fragment
def show_many(at: Place) -> None:
    """Draw which kinds of networks can be stitched, and whether better ones lose less."""
    for by, title, caption in (
        ("kind", "Which networks can be stitched?", KINDS),
        ("competence", "Do better networks lose less?", TREND),
    ):
        with st.expander(title), frame.part():
            question = StitchMany(at.scope, by)  # type: ignore[arg-type]
            try:
                label = "Stitch all pairs"
                section.draw(
                    at,
                    question,
                    key=by,
                    caption=caption,
                    seconds=math.inf,
                    label=label,
                    queue=f"stitching-by-{by}",
                )
            except InputError as error:  # no models of this kind
                st.caption(frame.plain(error))


def pick(at: Place) -> Stitch:
    """Draw the controls of two models, their layers and the fit."""
    models = queries.models(at)
    models = models[models["model"].isin(bench.stitchable(queries.study(at)))]
    if len(models) < 2:
        raise frame.NeededError(f"Needs 2 models with weights; {len(models)} loaded.")
    x, y = _pick_models(at, models)
    layers = {name: models.set_index("model").loc[name, "layers"] for name in (x, y)}
    layer_x, layer_y = _pick_layer("layer_x", layers[x]), _pick_layer("layer_y", layers[y])
    with bar.more():
        named = controls.options_by_name(Fitting)
        start = controls.pick_option(named["start"], Look(labels=STARTS))
        events = controls.pick_option(named["events"], Look(most=8192))
        steps = controls.pick_option(named["steps"], Look(most=2000))
        seed = controls.pick_option(named["seed"])
    fitting = Fitting(start, events, steps, seed)
    return Stitch(at.scope, x, y, fitting, layer_x=layer_x, layer_y=layer_y)


def _pick_models(at: Place, models: pd.DataFrame) -> tuple[str, str]:
    """Choose the source model and the target model."""
    try:
        x, y = bench.default_pair(queries.study(at))
    except InputError:  # no two trained vision models
        x, y = models["model"].iloc[0], models["model"].iloc[1]
    x = controls.pick_model(OPTIONS["x"].label, models, "x", default=x)
    return x, controls.pick_model(OPTIONS["y"].label, models, "y", default=y)


def _pick_layer(key: str, names: tuple[str, ...]) -> int:
    """Choose a layer by its name; at first the middle one."""
    labels = dict(enumerate(names))
    one = OPTIONS[key]
    return st.selectbox(
        one.label,
        list(labels),
        format_func=labels.get,
        help=controls.tip_of(one),
        **bind(key, (len(names) - 1) // 2, labels, kind="layer"),
    )


def kept_places(at: Place, question: Stitch) -> set[tuple[int, int]]:
    """Return the pairs of layers of these two models that the store holds."""
    kept = bench.kept_stitches(queries.study(at), question.x, question.y, question.fitting)
    return set(zip(kept["layer_x"], kept["layer_y"], strict=True))


def _offer_presets(at: Place) -> None:
    """Draw a button for each kind of pair that is there; it chooses both models and layers."""
    duos = bench.across_kinds(bench.list_models(queries.study(at)), StitchMany().size)
    first = {duo.kind: duo for duo in reversed(duos)}  # of several seeds the first
    with st.container(horizontal=True, gap="small"):
        for kind, label in PRESETS.items():
            if kind in first:
                st.button(label, key=f"preset-{kind}", on_click=_choose, args=(at, first[kind]))


def _choose(at: Place, duo: Duo) -> None:
    """Choose two models, at the depths that are meant or, of several, in their middle layers."""
    depths = duo.depths[0] if len(duo.depths) == 1 else (0.5, 0.5)
    for side, name, depth in zip("xy", (duo.x, duo.y), depths, strict=True):
        last = len(queries.study(at).entry(name).card.layers) - 1
        st.session_state[side] = name
        st.session_state[f"layer_{side}"] = int(depth * last)
