"""Alignment: do better language models look more like vision models?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from core.encoders.encoder import REALITY
from core.figures import tables
from core.metrics import METRICS
from core.questions.alignment import figures as figures
from pages._shared import controls, exportbar, frame, queries
from pages._shared.queries import Place

COLUMNS = {
    "title_x": "language model",
    "title_y": "compared with",
    "competence": "1 − bits per byte",
    "score": "alignment",
    "chance": "chance",
    "low": "95 % from",
    "high": "to",
    "threshold": "95 % of chance",
    "p": "p",
    "p_adjusted": "p adjusted",
    "calibrated": "calibrated",
    "reason": "what is missing, and why",
    "layer_x": "layer",
    "layer_y": "its layer",
    "k": "k",
    "n": "stimuli",
}
READING = """**How to read it.** Each dot is a language model, each line one model it is compared
with. Large dots are large language models, thick lines large vision models. The
dashed line is fitted to the mean of a panel, its band is the 95 % interval.
{chance} **Click a dot** to see its layers below."""
NULL = """Shuffles the stimuli of one model, so that nothing pairs them with the other's, and
shows how far each score lies above 95 % of what that gives: 0 is chance, 1 the
metric's best value. One permutation serves all layers, and the best pair is sought
anew for each."""
DRAWS = (
    "Draws other stimuli from these and gives the 95 % interval of each score, in the table and the"
    " hover card."
)


def show(at: Place) -> None:
    """Draw the trend, then the layers of one pair, then the table."""
    frame.need_models(at, "language", "vision")
    frame.need_stimuli(at)
    with st.sidebar:
        models = controls.pick_finished(queries.models(at))
        language, vision = (
            models[models["modality"] == modality] for modality in ("language", "vision")
        )
        x = controls.pick_models("Language models", language, "x")
        y = controls.pick_models("Vision models", vision, "y")
        if REALITY in set(models["model"]) and st.toggle(
            "Reality too", value=True, key="reality", bind="query-params"
        ):
            y = [*y, REALITY]
        at = replace(
            at,
            where=controls.pick_stimuli(queries.stimuli(at)),
            stimuli=controls.pick_set(queries.card(at).size),
        )
        metric = controls.pick_metric()
        compared = {"metric": metric, **controls.pick_parameters(metric, queries.size(at))}
        layers = controls.pick_layers()
        null = controls.pick_draws(
            "Calibrate by permutations", (0, 100, 200, 1000), "null", text=NULL
        )
        bootstrap = controls.pick_draws(
            "Intervals by draws", (0, 200, 1000), "bootstrap", text=DRAWS
        )
    table = aligned(at, x, y, null=null, bootstrap=bootstrap, layers=layers, **compared)
    points = tables.trend_points(table, queries.competence(at), models)
    drawn = tables.calibrated_points(points) if null else points
    label = axis(metric, compared, calibrated=null > 0)
    figure = figures.trend(
        drawn, tables.fits(drawn, models), label=label, mode=frame.mode(), narrow=frame.narrow()
    )
    calibration = {"null": null, "bootstrap": bootstrap} if null or bootstrap else {}
    recipe = queries.recipe(
        at, "trend", [*x, *y], x=x, y=y, layers=layers, **compared, **calibration
    )
    drawn_x, drawn_y = (list(dict.fromkeys(table[side])) for side in ("model_x", "model_y"))
    command = frame.align_command(at, drawn_x, drawn_y, layers=layers, **compared, **calibration)
    exportbar.plot(
        figure,
        key="trend",
        table=drawn.assign(metric=metric),
        recipe=recipe,
        command=command,
        on_select=_open_pair,
    )
    _explain(at, points, metric, calibrated=null > 0)
    if "k" in compared:
        frame.tell_left_out(at, [*x, *y], compared["k"])
    if points["score"].notna().any():
        seen = [models[models["model"].isin(points[side])] for side in ("model_x", "model_y")]
        show_layers(at, (seen[0], seen[1]), points, compared)
    with st.expander("The table behind the plot"):
        kept = [name for name in COLUMNS if name in points]
        st.dataframe(points[kept].rename(columns=COLUMNS), hide_index=True)


def aligned(
    at: Place, x: list[str], y: list[str], *, null: int, bootstrap: int, **compared: Any
) -> pd.DataFrame:
    """Align the models that have neighbors, with null and interval where they are asked for."""
    if not (null or bootstrap):
        return queries.alignment(at, x, y, **compared)
    left_x, left_y = queries.comparable(at, x, y, compared)
    return queries.calibrated(at, left_x, left_y, null=null, bootstrap=bootstrap, **compared)


def axis(metric: str, compared: dict[str, Any], *, calibrated: bool) -> str:
    """Return what the vertical axis measures."""
    spec = METRICS[metric].spec
    k = f", k = {compared['k']}" if "k" in compared else ""
    toward = "" if calibrated or spec.higher_is_more_aligned else ", lower is more aligned"
    return f"{'calibrated ' * calibrated}alignment ({spec.title}{k}{toward})"


def _open_pair() -> None:
    """Take the clicked pair to the map below; a chart forgets its selection when it is drawn
    anew.
    """
    picked = st.session_state["trend"].selection.points
    if picked and picked[0].get("customdata"):
        st.session_state["pair_x"], st.session_state["pair_y"] = picked[0]["customdata"][:2]


def _explain(at: Place, points: pd.DataFrame, metric: str, *, calibrated: bool) -> None:
    known = not points["chance"].isna().all()
    if calibrated:
        chance = "The dotted line is chance, after calibration."
    elif metric == "mutual_knn":
        chance = (
            "The dotted line is chance of one pair of layers, k/(n − 1); the best of many lies a"
            " little above it."
        )
    else:
        chance = (
            "Chance stands in the hover cards."
            if known
            else "Calibrate by permutations to see chance for this metric."
        )
    st.markdown(READING.format(chance=chance))
    with st.expander("The metric"):
        spec = METRICS[metric].spec
        st.latex(spec.formula)
        st.markdown(
            f"**Sees.** {spec.sees} **Misses.** {spec.misses} {frame.plain(spec.reference)}."
        )
    competence = queries.competence(at)
    titles = points.drop_duplicates("model_x").set_index("model_x")[
        "title_x"
    ]  # of those that have neighbors
    missing = competence[competence["value"].isna() & competence["model"].isin(titles.index)]
    if len(missing) and not points["competence"].isna().all():
        left_out = "; ".join(f"{titles[row.model]} ({row.reason})" for row in missing.itertuples())
        st.caption(f"Not drawn: {frame.plain(left_out)}.")


def show_layers(
    at: Place,
    models: tuple[pd.DataFrame, pd.DataFrame],
    points: pd.DataFrame,
    compared: dict[str, Any],
) -> None:
    """Draw the layer × layer map of one pair, the best-aligned one at first; models: the language
    models, and the others.
    """
    st.subheader("Which layers agree?", anchor=False)
    place = st.container()
    spec, (language, others) = METRICS[compared["metric"]].spec, models
    ordered = points.sort_values("score", ascending=spec.higher_is_more_aligned)
    best = (
        ordered.dropna(subset="score")
        .sort_values("facet", key=lambda facet: facet != REALITY, kind="stable")
        .iloc[-1]
    )
    left, right = st.columns(2)
    with left:
        x = controls.pick_model("Language model", language, "pair_x", default=best["model_x"])
    with right:
        y = controls.pick_model("Compared with", others, "pair_y", default=best["model_y"])
    first, second = (
        side.set_index("model").to_dict("index")[name]
        for side, name in zip(models, (x, y), strict=True)
    )
    scores = queries.layer_map(at, x, y, **compared)
    chance = (
        points["chance"].iloc[0] if compared["metric"] != "cka" else float("nan")
    )  # of CKA each pair has its own
    figure = figures.layer_grid(
        scores,
        title_x=first["title"],
        title_y=second["title"],
        layers_x=first["layers"],
        layers_y=second["layers"],
        spec=spec,
        chance=chance,
        mode=frame.mode(),
    )
    table = (
        pd.DataFrame(scores, index=list(first["layers"]), columns=list(second["layers"]))
        .rename_axis("layer")
        .reset_index()
    )
    with place:
        exportbar.plot(
            figure,
            key="layer-map",
            table=table,
            recipe=queries.recipe(at, "layers", [x, y], **compared),
            command=frame.align_command(at, [x], [y], layers="all", **compared),
        )


frame.draw("Do better language models agree more with vision models?", show)
