"""A figure as the browser draws it once: it says itself what its template said, and nothing in it
seems to be new to Plotly.
"""

from __future__ import annotations

import json

import numpy as np
import plotly.graph_objects as go
import pytest

from core.figures.theme import blank
from pages._shared.charts.drawn_once import MOST, drawn_once

WIDE = 900


def plot(mode: str = "light", **layout: object) -> go.Figure:
    figure = blank(mode, height=400, title="Dots")
    figure.add_scatter(x=np.array([1.5, np.nan]), y=[1, 2], name="dots")
    return figure.update_layout(**layout).figure()


def sent(figure: go.Figure, *, width: int | None = WIDE, picks: bool = False) -> dict:
    return json.loads(drawn_once(figure, width=width, picks=picks).to_json())


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_layout_says_itself_what_its_template_said(mode):
    figure = plot(mode, xaxis={"tickfont": {"size": 20}}, paper_bgcolor="#123456")
    layout, looks = sent(figure)["layout"], figure.layout.template.layout.to_plotly_json()
    assert layout["template"] is None
    assert "meta" not in layout
    assert layout["paper_bgcolor"] == "#123456"
    assert layout["plot_bgcolor"] == looks["plot_bgcolor"]
    assert layout["font"] == looks["font"]
    assert layout["xaxis"]["tickfont"] == {**looks["xaxis"]["tickfont"], "size": 20}
    assert layout["yaxis"] == looks["yaxis"]


def test_the_figure_itself_stays_as_it_was():
    figure = plot()
    before = figure.to_json()
    drawn_once(figure, width=WIDE, picks=True)
    assert figure.to_json() == before


def test_short_arrays_are_lists_and_long_ones_stay_compact():
    assert sent(plot())["data"][0]["x"] == [1.5, None]
    figure = blank("light", height=400)
    figure.add_scatter(x=np.arange(MOST), y=np.arange(MOST + 1.0))
    data = sent(figure.figure())["data"][0]
    assert data["x"] == list(range(MOST))
    assert data["y"].keys() == {"dtype", "bdata"}


@pytest.mark.parametrize("width", [None, WIDE])
def test_the_width_is_the_pages(width):
    assert sent(plot(), width=width)["layout"].get("width") == width


@pytest.mark.parametrize(
    ("drag", "click"), [(None, "event+select"), ("zoom", "event+select"), ("lasso", "event")]
)
def test_who_may_choose_points_clicks_and_drags_as_streamlit_has_it(drag, click):
    layout = sent(plot(dragmode=drag) if drag else plot(), picks=True)["layout"]
    assert layout["dragmode"] == (drag or "pan")
    assert layout["clickmode"] == click
    assert layout["hovermode"] == "closest"
    assert "clickmode" not in sent(plot())["layout"]
