"""Which layers of two models agree: as a map, or as profiles over relative depth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from core.encoders.encoder import REALITY
from core.metrics import METRICS, MetricSpec
from core.modalities import find_modality
from core.questions.alignment.layer_figures import (
    Layers,
    layer_grid,
    layer_noise,
    layer_profiles,
    layers_of,
)
from core.questions.alignment.question import Alignment
from core.study.layers import ALL, layer_matrix
from core.study.parts import Calibration
from pages._shared import controls, exportbar, frame, queries
from pages._shared.address import bind
from pages._shared.chosen import selection
from pages._shared.queries import Place

KEYS = ("pair_x", "pair_y")
VIEWS = {"map": "All pairs", "profiles": "Profiles over depth"}


def pick_pair(at: Place, points: pd.DataFrame, spec: MetricSpec) -> tuple[str, str]:
    """Choose two models: at first those that were chosen anywhere, else the best-aligned ones;
    points: that have a score.
    """
    ordered = points.sort_values("score", ascending=spec.higher_is_more_aligned)
    best = ordered.sort_values("facet", key=lambda facet: facet != REALITY, kind="stable").iloc[-1]
    models = queries.models(at)
    sides = [models[models["model"].isin(points[side])] for side in ("model_x", "model_y")]
    pair = selection.pair(sides[0], sides[1], (best["model_x"], best["model_y"]))
    follow = bool(selection.chosen())
    kinds = sides[0]["modality"].unique()
    on_axis = find_modality(kinds[0]).title.capitalize() if len(kinds) == 1 else "One model"
    labels = (on_axis, "Compared with")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        x, y = (
            controls.pick_model(label, side, key, default=start, follow=follow)
            for label, side, key, start in zip(labels, sides, KEYS, pair, strict=True)
        )
    return x, y


def show(at: Place, question: Alignment, chosen: tuple[str, str], chance: float) -> None:
    """Draw how the layers of the chosen pair agree. chance: of one pair of layers of these
    models, NaN where no formula gives it.
    """
    (x, y), comparison, models = chosen, question.comparison, queries.models(at)
    pair = replace(question, x=(x,), y=(y,), calibration=Calibration())
    pair = replace(pair, unfinished=False, comparison=replace(comparison, layers=ALL))
    single = layers_of(models, chosen)
    layers = layers_of(models, chosen, concatenated=comparison.concatenated)
    table = queries.ask(at, pair)
    scores = layer_matrix(table)
    # of some metrics each pair of layers has a chance level of its own
    chance = float("nan") if METRICS[comparison.metric].pair_chance is not None else chance
    view = controls.pick_segment("View", VIEWS, "layer_view", start="map", hidden=True)
    draw = layer_grid if view == "map" else layer_profiles
    figure = draw(
        scores.to_numpy(),
        *layers,
        spec=comparison.spec,
        chance=chance,
        mode=frame.mode(),
        noise=layer_noise(table, comparison),
    )
    named = scores.set_axis(list(layers[0].names)).set_axis(list(layers[1].names), axis=1)
    csv = named.rename_axis("layer").reset_index()
    exportbar.draw(at, pair, figure, key="layer-map", table=csv)
    of_single = scores.iloc[: len(single[0].names), : len(single[1].names)]
    _offer_pair(*single, start=_best(of_single, high=comparison.spec.higher_is_more_aligned))


def _best(scores: pd.DataFrame, *, high: bool) -> tuple[int, int]:
    """Return the best aligned pair of layers, the last ones where no pair has a score."""
    values = scores.to_numpy()
    if np.isnan(values).all():
        return values.shape[0] - 1, values.shape[1] - 1
    place = np.nanargmax(values) if high else np.nanargmin(values)
    x, y = np.unravel_index(place, values.shape)
    return int(x), int(y)


def _offer_pair(x: Layers, y: Layers, *, start: tuple[int, int]) -> None:
    """Draw two layers by name, and what makes them stand for all models. start: at first."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        places = [
            st.selectbox(
                f"Layer of {frame.plain(layers.title)}",
                range(len(layers.names)),
                format_func=layers.names.__getitem__,
                **bind(key, place, range(len(layers.names)), kind="layer"),
            )
            for key, layers, place in zip(("layer_x", "layer_y"), (x, y), start, strict=True)
        ]
        st.button(
            "Compare all models in these layers",
            on_click=st.session_state.__setitem__,
            args=("layers", ":".join(map(str, places))),
        )
