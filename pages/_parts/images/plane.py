"""The map of stimuli, what colors it, and what a mouse does on it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial

import pandas as pd
import streamlit as st

from core.questions.stimuli.map_figure import Map, reading, stimulus_map
from core.questions.stimuli.question import Plane, StimulusMap
from pages._parts.images import cards, dots, selection
from pages._shared import controls, exportbar, facts, frame, prose, queries, spread
from pages._shared.address import bind
from pages._shared.queries import Place
from pages._shared.selection import picked_dots

MAPS: Mapping[Plane, str] = {
    "umap": "consensus by UMAP",
    "pca": "consensus by PCA",
    "residuals": "mean and first component",
}
SHORT: Mapping[Plane, str] = {"umap": "UMAP", "pca": "PCA", "residuals": "residuals"}
READING = {
    "residuals": (
        """Each dot is a stimulus. Right: far from the consensus on average
over the models; up: high on the first principal component of the residuals, which
holds {explained:.0f} % of their variance. Where both say the same, dots lie on a
line; stimuli off it owe their dispersion to a few models."""
    ),
    "pca": (
        """Each dot is a stimulus, placed along the two directions in
which the consensus varies most; units are those of a space of norm 1."""
    ),
    "umap": (
        """Each dot is a stimulus; neighbors in the consensus are neighbors
here. Neither the axes nor the distances between patches mean anything."""
    ),
}
BRUSH = (
    "Point at a dot to see it, click to open it, Shift+click to choose it, or draw"
    " around several; the symbols above the plot switch between lasso and box. A patch of one color"
    " is a kind of stimuli. What a search or a filter leaves out is gray. In a made"
    " world, “kind 3” is the kind of the third thing from the left."
)
KEY = "stimulus-map"


@dataclass(frozen=True)
class Look:
    """How the map is drawn: its layout; what colors it, a column of the answer or a factor as
    `f-NAME`; and the name of that.
    """

    layout: Plane
    color: str
    name: str


def pick_look(at: Place, spaces: tuple[str, ...], *, by: str) -> Look:
    """Choose a layout, and what colors it: the dispersion, one model's residual or a factor."""
    one = controls.option_named(StimulusMap, "map")
    bound = bind(one.name, one.default, MAPS)
    layout = st.selectbox("Layout", list(MAPS), format_func=SHORT.get, **bound)
    factors = facts.stimuli(at).columns.drop("stimulus")
    titles = spread.described(at, spaces).set_index("space")["title"]
    names: dict[str, str] = {
        "": "dispersion",
        **{str(space): f"residual of {title}" for space, title in titles.items()},
        **{f"f-{name}": name.replace("_", " ") for name in factors},
    }
    color = st.selectbox("Color", list(names), format_func=names.get, **bind("color", "", names))
    name = names[color] if color else f"dispersion: {spread.name_of(at, spaces, by)}"
    return Look(layout, color or by, name)


def draw(
    at: Place,
    question: StimulusMap,
    look: Look,
    *,
    passed: Collection[int],
    chosen: Collection[int],
) -> None:
    """Draw the map; stimuli that did not pass the search are gray, others than the chosen ones
    fade.
    """
    size, kind = queries.card(at).size, question.map
    with st.spinner("Laying out the stimuli"):
        points, axes = _points(at, question, look.color)
    points["passed"] = points["index"].isin(passed)
    shape = Map(f"Stimuli: {MAPS[kind]}", axes, square=kind == "pca", unitless=kind == "umap")
    figure = stimulus_map(points, shape, value=look.name, chosen=chosen, mode=frame.mode())
    if len(points) < queries.size(at):
        st.caption(
            f"The map shows {len(points):,} of {queries.size(at):,} stimuli, drawn at random with"
            f" seed {question.seed}."
        )
    take = partial(brush, size)
    exportbar.draw(at, question, figure, key=KEY, table=points, on_select=take, brush=True)
    dots.hear(KEY, selection.clicks(size, chosen))
    values = points.set_index("index")["value"]
    cards.show(
        at,
        KEY,
        about=f"{at.digest} {look.name}",
        head=lambda index: f"stimulus {index} · {reading(look.name, values[index])}",
    )
    explained = 100 * spread.residuals(at, question.joint.spaces)["explained"].iloc[0]
    prose.explain(f"{spread.MEANING}\n\n{READING[kind].format(explained=explained)} {BRUSH}")


def brush(size: int) -> None:
    """Take the brushed dots to the address: a chart forgets its selection when it is drawn again. A
    click is for `dots`.
    """
    firsts = {dot[0] for dot in picked_dots(KEY, around=True) if isinstance(dot[0], int)}
    if stimuli := sorted(firsts & set(range(size))):
        selection.brush(stimuli, size)


def _points(at: Place, question: StimulusMap, color: str) -> tuple[pd.DataFrame, tuple[str, str]]:
    """Return index, caption, x, y, value of every stimulus, and what the axes are."""
    plane, captions = queries.ask(at, question), facts.default_captions(at)
    points = plane[["index", "x", "y"]].assign(
        caption=[captions[index] for index in plane["index"]],
        value=_values(at, plane, color).to_numpy(),
    )
    if question.map == "residuals":
        return points, ("mean residual (spaces have norm 1)", "first component of the residuals")
    if question.map == "umap":
        return points, ("UMAP 1", "UMAP 2")
    first, second = (
        f"{100 * plane[share].iloc[0]:.0f} % of the variance" for share in ("share_x", "share_y")
    )
    return points, (f"component 1: {first}", f"component 2: {second}")


def _values(at: Place, plane: pd.DataFrame, color: str) -> pd.Series:
    if color in plane:
        return plane[color]
    return facts.stimuli(at)[color.removeprefix("f-")].loc[plane["index"]]
