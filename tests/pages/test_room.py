"""How much room a plot leaves for its labels, its legend and its color bars."""

from __future__ import annotations

import pytest

from core.figures.theme import blank
from pages._shared.charts.room import COLOR_BAR, LABELS, LINE, TICK, TITLE
from tests.pages.test_drawn_once import plot, sent

PHONE = 358


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
