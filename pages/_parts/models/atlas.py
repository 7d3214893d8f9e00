"""The map of models, and what is beside the model that was opened on it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.encoders.encoder import REALITY
from core.errors import InputError
from core.figures import tables
from core.metrics import METRICS
from core.questions.models import answer as mapping
from core.questions.models import figures as figures
from core.questions.models.findings import tell_neighbors, tell_quality
from core.statistics.layouts import SETTINGS
from pages._parts.models import beside
from pages._shared import among, exportbar, frame, queries
from pages._shared.among import Among
from pages._shared.queries import Place

LAYOUTS = {"umap": "UMAP", "mds": "MDS", "tsne": "t-SNE"}
COLORS = {
    "group": "objective",
    "family": "family",
    "rank": "competence",
    "parameters": "size",
    "step": "training step",
}
NEARNESS = """Marks that lie together are models that are aligned; how far apart groups lie means
nothing, nor does left, right, up or down. {name} draws groups even where there are
hardly any, and bends distances within them: for distances take MDS above."""
DISTANCES = """The distance of two marks is as near as a plane allows to {distance} of the two
models. Only distances count, in which the bar below is a scale: the picture may be
turned and mirrored."""
SIGNS = """**How to read it.** Each mark is a model: squares see, circles read, the star is the
world itself; larger marks have more parameters, and lines join copies along one
training. {layout} **Click a mark** to see the model beside its nearest ones."""
COLORING = {
    "rank": (
        "Color: rank in competence among the models of one modality (language: 1 − bits per byte of"
        " the captions, mean over texts; vision: share of tasks solved). Hollow marks were not"
        " measured."
    ),
    "parameters": "Hollow marks: the number of parameters is unknown.",
    "step": "Hollow marks: untrained, or the steps are unknown.",
}


@st.fragment
def show(at: Place, models: pd.DataFrame, asked: Among, seed: int) -> None:
    """Draw the map, say how far it can be believed and what is seen, then what is beside the opened
    model.

    A fragment: what it is colored by, and which model is opened, draws nothing else anew.
    """
    with frame.part():
        above = st.container()
        st.subheader("Side by side", anchor=False)
        opened = beside.pick(models)
        with above:
            table = draw(at, models, asked, seed, opened)
        if opened:
            beside.show(at, models, asked, table, opened)


def draw(
    at: Place, models: pd.DataFrame, asked: Among, seed: int, opened: str | None
) -> pd.DataFrame:
    """Draw the controls and the map; return the map's table."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        layout = st.segmented_control(
            "Map",
            list(LAYOUTS),
            default="umap",
            required=True,
            format_func=LAYOUTS.get,
            key="layout",
            wrap=True,
            bind="query-params",
        )
        color = st.segmented_control(
            "Color",
            list(COLORS),
            default="group",
            required=True,
            format_func=COLORS.get,
            key="color",
            wrap=True,
            bind="query-params",
        )
    names = tuple(models["model"])
    table = _placed(at, names, asked, layout, seed)
    points = tables.map_points(table, models, queries.competence(at), queries.tasks_solved(at))
    distance = (
        "−log(alignment)" if METRICS[asked.metric].spec.higher_is_more_aligned else "the metric"
    )
    named = [name for name in names if name in (opened, REALITY)]
    figure = figures.model_map(
        points,
        color=color,
        distance=distance if layout == "mds" else "",
        named=named,
        mode=frame.mode(),
        narrow=frame.narrow(),
    )
    recipe = queries.recipe(
        at, "model-map", names, layout=layout, **SETTINGS[layout], seed=seed, **asked.compared
    )
    whole = set(names) == set(queries.models(at)["model"])
    words = ["--layout", layout, "--seed", str(seed), *([] if whole else ["--model", *names])]
    exportbar.plot(
        figure,
        key="model-map",
        table=points.drop(columns="layers"),
        recipe=recipe,
        command=asked.command(at, "map", *words),
        on_select=_open,
    )
    reading = (
        DISTANCES.format(distance=distance)
        if layout == "mds"
        else NEARNESS.format(name=LAYOUTS[layout])
    )
    st.markdown(f"{SIGNS.format(layout=reading)} {COLORING.get(color, '')}")
    st.markdown(f"{tell_quality(table)}\n\n**What is seen.** {tell_neighbors(table, models)}")
    left_out = table[table["reason"] != ""]
    among.tell_left_out(models, dict(zip(left_out["model"], left_out["reason"], strict=True)))
    return table


def _placed(
    at: Place, names: tuple[str, ...], asked: Among, layout: str, seed: int
) -> pd.DataFrame:
    """Return the map; the first one loads UMAP, which takes seconds. Raises NeededError where none
    can be drawn.
    """
    try:
        with st.spinner("Drawing the map; the first one takes some seconds"):
            return queries.compared(
                at, mapping.map_models, names, layout=layout, seed=seed, **asked.compared
            )
    except InputError as error:
        raise frame.NeededError(f"No map: {error}.") from error


def _open() -> None:
    """Open the clicked model; a chart forgets its selection when it is drawn anew."""
    picked = st.session_state["model-map"].selection.points
    if picked and picked[0].get("customdata"):
        st.session_state["opened"] = picked[0]["customdata"][0]
