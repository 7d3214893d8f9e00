"""Alignment: do better language models look more like vision models?"""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.encoders.encoder import REALITY
from core.figures import alignment as figures
from core.figures import tables
from pages._shared import controls, exportbar, frame, queries
from pages._shared.queries import Place

COLUMNS = {
    "title_x": "language model", "title_y": "compared with", "competence": "1 − bits per byte", "score": "alignment",
    "chance": "chance", "layer_x": "layer", "layer_y": "its layer", "k": "k", "n": "stimuli",
}  # fmt: skip
READING = """**How to read it.** Each dot is a language model, each line one model it is compared with. Large dots are large
language models, thick lines large vision models. The dashed line is fitted to the mean of a panel, its band is the 95 %
interval. The dotted line is chance, k/(n − 1). **Click a dot** to see its layers below."""


def show(at: Place) -> None:
    """Draw the trend, then the layers of one pair, then the table."""
    frame.need_models(at, "language", "vision")
    frame.need_stimuli(at)
    with st.sidebar:
        models = controls.pick_copies(queries.models(at))
        language, vision = (models[models["modality"] == modality] for modality in ("language", "vision"))
        x = controls.pick_models("Language models", language, "x")
        y = controls.pick_models("Vision models", vision, "y")
        k = controls.pick_k(queries.card(at).size)
        if REALITY in set(models["model"]) and st.toggle("Reality too", value=True, key="reality", bind="query-params"):
            y = [*y, REALITY]
    points = tables.trend_points(queries.alignment(at, x, y, k=k), queries.competence(at), models)
    figure = figures.trend(points, tables.fits(points, models), mode=frame.mode(), narrow=frame.narrow())
    command = frame.command("align", "--dataset", at.dataset, "--x", *x, "--y", *y, "--k", str(k))
    recipe = queries.recipe(at, "trend", [*x, *y], metric="mutual_knn", k=k, x=x, y=y)
    exportbar.plot(figure, key="trend", table=points, recipe=recipe, command=command, on_select=_open_pair)
    _explain(at, points)
    frame.tell_left_out(at, [*x, *y], k)
    if len(points):
        show_layers(at, models[models["model"].isin(points["model_x"])], models[models["model"].isin(points["model_y"])], points, k)
    with st.expander("The table behind the plot"):
        st.dataframe(points[list(COLUMNS)].rename(columns=COLUMNS), hide_index=True)


def _open_pair() -> None:
    """Take the clicked pair to the map below; a chart forgets its selection when it is drawn anew."""
    picked = st.session_state["trend"].selection.points
    if picked and picked[0].get("customdata"):
        st.session_state["pair_x"], st.session_state["pair_y"] = picked[0]["customdata"][:2]


def _explain(at: Place, points: pd.DataFrame) -> None:
    st.markdown(READING)
    competence = queries.competence(at)
    titles = points.drop_duplicates("model_x").set_index("model_x")["title_x"]  # of those that have neighbors
    missing = competence[competence["value"].isna() & competence["model"].isin(titles.index)]
    if len(missing) and not points["competence"].isna().all():
        left_out = "; ".join(f"{titles[row.model]} ({row.reason})" for row in missing.itertuples())
        st.caption(f"Not drawn: {frame.plain(left_out)}.")


def show_layers(at: Place, language: pd.DataFrame, others: pd.DataFrame, points: pd.DataFrame, k: int) -> None:
    """Draw the layer × layer map of one pair, the best-aligned one at first."""
    st.subheader("Which layers agree?", anchor=False)
    place = st.container()
    best = points.sort_values("score").sort_values("facet", key=lambda facet: facet != REALITY, kind="stable").iloc[-1]
    left, right = st.columns(2)
    with left:
        x = controls.pick_model("Language model", language, "pair_x", default=best["model_x"])
    with right:
        y = controls.pick_model("Compared with", others, "pair_y", default=best["model_y"])
    first, second = (models.set_index("model").to_dict("index")[name] for models, name in ((language, x), (others, y)))
    scores = queries.layer_map(at, x, y, k=k)
    figure = figures.layer_grid(scores, title_x=first["title"], title_y=second["title"], layers_x=first["layers"],
                                layers_y=second["layers"], k=k, chance=points["chance"].iloc[0], mode=frame.mode())  # fmt: skip
    table = pd.DataFrame(scores, index=list(first["layers"]), columns=list(second["layers"])).rename_axis("layer").reset_index()
    with place:
        exportbar.plot(figure, key="layers", table=table, recipe=queries.recipe(at, "layers", [x, y], metric="mutual_knn", k=k),
                       command=frame.command("align", "--dataset", at.dataset, "--x", x, "--y", y, "--k", str(k)))  # fmt: skip


frame.draw("Do better language models agree more with vision models?", show)
