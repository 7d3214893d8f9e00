"""Which two networks are stitched, at which layers, and how."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from core.errors import InputError
from core.questions.stitching import bench, roster
from core.questions.stitching.bench import Fitting, Start
from core.questions.stitching.question import Stitch
from core.study.models import reads
from pages._shared import bar, controls, queries
from pages._shared.address import bind
from pages._shared.queries import Place

OPTIONS = controls.options_by_name(Stitch)
STARTS: dict[Start, str] = {"least-squares": "least squares", "random": "random"}


def question(at: Place) -> Stitch:
    """Draw the controls of two models, their layers and the fit."""
    study = queries.study(at)
    models = queries.models(at)
    models = models[models["model"].isin(roster.stitchable(study))]
    if len(models) < 2:
        raise InputError(
            "a stitch needs two models whose weights are at hand; here are"
            f" {len(models)}: embed others (features made elsewhere cannot be stitched)"
        )
    x, y = _pick_models(at, models)
    layers = {name: models.set_index("model").loc[name, "layers"] for name in (x, y)}
    layer_x = _pick_layer("layer_x", layers[x])
    layer_y = _pick_layer("layer_y", layers[y])
    with bar.more():
        fitting = _pick_fitting()
    return Stitch(at.scope, x, y, fitting, layer_x=layer_x, layer_y=layer_y)


def _pick_models(at: Place, models: pd.DataFrame) -> tuple[str, str]:
    """Choose the lower network, and the upper one among those that read the same."""
    try:
        x, y = roster.default_pair(queries.study(at))
    except InputError:  # no two trained vision models
        x, y = models["model"].iloc[0], models["model"].iloc[1]
    x = controls.pick_model(OPTIONS["x"].label, models, "x", default=x)
    seeing = reads(models, "image")
    mine = models[seeing == bool(seeing[models["model"] == x].iloc[0])]
    y = y if y in set(mine["model"]) else mine["model"].iloc[-1]
    return x, controls.pick_model(OPTIONS["y"].label, mine, "y", default=y)


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


def _pick_fitting() -> Fitting:
    named = controls.options_by_name(Fitting)
    start: Start = controls.pick_labeled(named["start"], STARTS)
    numbers = partial(controls.pick_between, step=1)
    events = int(numbers(named["events"], 64, 8192))
    steps = int(numbers(named["steps"], 0, 2000))
    seed = int(numbers(named["seed"], 0, 10_000))
    return Fitting(start, events, steps, seed)


def is_kept(at: Place, question: Stitch) -> bool:
    """Return whether the store holds these layers already."""
    return (question.layer_x, question.layer_y) in kept_places(at, question)


def kept_places(at: Place, question: Stitch) -> set[tuple[int, int]]:
    """Return the pairs of layers of these two models that the store holds."""
    kept = bench.kept_stitches(queries.study(at), question.x, question.y, question.fitting)
    return set(zip(kept["layer_x"], kept["layer_y"], strict=True))
