"""Two models: by which metric they differ most from other pairs, which of their layers align, what
each holds near an image, and which of their units match.
"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import streamlit as st

from core.competence.records import MEASURED
from core.figures.numbers import count_text
from core.questions.alignment.question import Alignment, best_layers
from core.questions.competence.question import CompetenceScores
from core.questions.metrics.question import MetricPair
from core.questions.simple import best_features
from core.study.layers import ALL
from core.study.models import is_reality, usual
from core.study.parts import Comparison, LayerPair, Measure
from pages._parts.models import units
from pages._shared import (
    bar,
    controls,
    facts,
    frame,
    gallery,
    neighbors,
    queries,
    section,
)
from pages._shared.queries import Place

DRAWS = {100: "100", 200: "200", 1000: "1,000"}
CALIBRATED = """Last layers of both models. Left: difference from other pairs in standard
deviations. These are all pairs of fully trained models of these two modalities, on at most 256
images. Higher is more aligned for every metric. Calibrated: 0 is what 5% of shuffles exceed, 1 full
alignment."""
FEATURES = """Each point compares a simple feature with a model, in its best layer; if the two read
different things, with the one that reads the other. Lines: chance, and the two models’ best
layers."""

SIMPLE = "Best simple feature: {feature}, {score:.3f}."


def show(at: Place) -> None:
    """Compare two models."""
    frame.need_stimuli(at)
    models = queries.models(at)
    if models.empty:
        frame.need_readers(at, "caption", "image")
    with bar.controls_bar():
        with bar.more():
            at = replace(at, scope=controls.pick_scope(at))
            text = "Shuffles that calibrate scores (default 100). More give finer p-values."
            look = controls.Look(help=text, labels=DRAWS)
            null = controls.pick_option(controls.option_named(MetricPair, "null"), look)
        k = controls.pick_k(queries.size(at))
        a, b = controls.pick_two(at, models, k=k, closest=True)
    about = models.set_index("model")
    metrics = st.container()  # is drawn last, since shuffles take seconds
    st.header("Layers", anchor=False)
    with frame.part():
        grid = Alignment(at.scope, x=(a,), y=(b,), comparison=Comparison(k=k, layers=ALL))
        section.draw(at, grid, key="layer-map", lead=0)
    simple = st.empty()
    st.header("Neighbors", anchor=False)
    index = gallery.chosen(queries.size(at)) or 0
    x, y = best_layers(at.scope, queries.study(at), a, b, k=k)
    left, right = st.columns([1, 6])
    with left:
        st.caption("Image")
        gallery.grid(at, [index], key="asked", width=100, clicks=gallery.Clicks(None))
    with right:
        neighbors.side_by_side(at, LayerPair(a, x, b, y), index, k, heads=True, width=76)
    below = st.container()
    with st.expander("Facts"):
        st.dataframe(_facts(at, about.loc[[a, b]]), hide_index=True)
    usual_ones = usual(models)
    units_of = usual_ones[~is_reality(usual_ones)]

    def show_units() -> None:
        units.show_pair(at, a, b)
        if len(units_of) > 2:
            units.show_trend(at)

    frame.fold("Single units", show_units, key="units", link=("pair",))
    with metrics, frame.part():
        question = MetricPair(at.scope, LayerPair(a, None, b, None), k=k, null=null)
        section.draw(at, question, key="all-metrics", methods=CALIBRATED)
    features = facts.features(at, (a, b), Measure(k=k))
    if features is not None:
        best = best_features(queries.ask(at, features), features.measure).iloc[0]
        simple.caption(SIMPLE.format(feature=best["control"], score=best["score"]))
        with below:
            section.closed("Simple features", at, features, key="features", caption=FEATURES)


def _facts(at: Place, models: pd.DataFrame) -> pd.DataFrame:
    """Return a row per fact and per task of which there is a value, a column per model."""
    known = {
        row["title"]: {
            "modality": row["modality"],
            "family": row["family"],
            "objective": row["objective"],
            "parameters": count_text(row["parameters"]),
            "training steps": count_text(row["step"]),
            "layers": str(len(row["layers"])),
        }
        for row in models.to_dict("records")
    }
    scores = queries.ask(at, CompetenceScores(at.scope))
    rows = scores[scores["model"].isin(models.index) & scores["value"].notna()]
    origin = (", " + rows["origin"]).where(rows["origin"] != MEASURED, "")
    cells = rows.assign(
        task=rows["task"] + " (" + rows["unit"] + origin + ")",
        text=rows["value"].map("{:.3g}".format),
    )
    wide = cells.pivot_table(
        index="task", columns="model", values="text", aggfunc="first", sort=False
    )
    wide = wide.reindex(columns=models.index).rename(columns=models["title"].to_dict())
    table = pd.concat([pd.DataFrame(known), wide]).fillna("")
    return table.rename_axis("").reset_index()
