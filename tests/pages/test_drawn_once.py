"""A figure as the browser draws it once: it says itself what its template said, and nothing in it
seems to be new to Plotly.
"""

from __future__ import annotations

import json

import numpy as np
import plotly.graph_objects as go
import pytest

from core.figures.theme import blank
from pages._shared.charts.drawn_once import COLOR_BAR, LABELS, LINE, MOST, TICK, TITLE, drawn_once

WIDE, PHONE = 900, 358


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


def margins(**layout: object) -> dict:
    return sent(plot(**layout))["layout"]["margin"]


def test_labels_have_room_where_they_are_shown_and_the_page_is_wide():
    room = {**LABELS["xaxis"], **LABELS["yaxis"]}
    usual = blank("light", height=400).layout["template"]["layout"]["margin"]
    assert margins() == {**usual, **room}
    assert margins(margin={"l": 200})["l"] == 200
    assert margins(xaxis={"visible": False}, yaxis={"showticklabels": False}) == usual
    assert margins(xaxis={"side": "top"}, yaxis={"side": "right"}) == usual
    for width in (PHONE, None):
        assert sent(plot(), width=width)["layout"]["margin"] == usual


def test_long_words_of_a_vertical_axis_have_room():
    words = ["distance to 10 neighbors (consensus)", "<b>all<br>together</b>"]
    measured = 183  # pixels across the first, in the letters that Chromium drew it with

    def left(*, title: str = "", **axis: object) -> int:
        figure = blank("light", height=400)
        figure.add_bar(x=[1, 2], y=words if not axis else [0, 1], orientation="h")
        figure.update_yaxes(title_text=title, **axis)
        return sent(figure.figure())["layout"]["margin"]["l"]

    assert measured + TICK <= left() <= measured + TICK + 15
    assert left(tickvals=[0, 1], ticktext=words) == left()
    assert left(title="factor") == left() + TITLE
    assert left(tickvals=[0, 1], ticktext=words[1:]) == LABELS["yaxis"]["l"]
    assert left(visible=False) < LABELS["yaxis"]["l"]


@pytest.mark.parametrize(
    ("look", "room"),
    [
        ({"colorbar": {}}, COLOR_BAR),
        ({"showscale": True}, COLOR_BAR),
        ({"colorbar": {"orientation": "h"}}, LABELS["xaxis"]["r"]),
        ({"colorbar": {}, "showscale": False}, LABELS["xaxis"]["r"]),
    ],
)
def test_a_color_bar_beside_a_plot_has_room(look, room):
    figure = blank("light", height=400)
    figure.add_heatmap(z=[[1]], **look)
    assert sent(figure.figure())["layout"]["margin"]["r"] == room
    figure = blank("light", height=400).update_layout(coloraxis=look)
    figure.add_scatter(x=[1], y=[1], marker={"color": [1], "coloraxis": "coloraxis"})
    assert sent(figure.figure())["layout"]["margin"]["r"] == room


@pytest.mark.parametrize(
    ("names", "lines"),
    [([], 0), (["a"], 0), (["a", "b"], 1), (["a", "b" * 150], 2), (["a" * 40] * 7, 3)],
)
def test_the_legend_has_room_for_its_lines(names, lines):
    figure = blank("light", height=400)
    for name in names:
        figure.add_scatter(x=[1], y=[1], name=name)
    if len(names) != 1:  # a trace alone stands in no legend, not even if it could
        figure.add_heatmap(z=[[1]], name="no entry")
    margin = sent(figure.figure())["layout"]["margin"]
    assert margin["b"] == LABELS["xaxis"]["b"] + LINE * lines
