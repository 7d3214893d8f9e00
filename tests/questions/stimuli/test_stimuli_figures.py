"""The Stimuli page's map and residual bars from small tables."""

from __future__ import annotations

import pandas as pd
import pytest

from core.figures.theme import INK, hue
from core.questions.stimuli.figures import residuals
from core.questions.stimuli.map_figure import Map, stimulus_map


def points(count: int = 3) -> pd.DataFrame:
    rows = [
        (i, "<b>not bold</b>" if i == 1 else "a boat", float(i), 2.0 * i, 0.1 * i)
        for i in range(count)
    ]
    table = pd.DataFrame(rows, columns=["index", "caption", "x", "y", "value"])
    return table.assign(passed=True)


def drawn(count: int = 3, *, square=False, chosen=(), **columns):
    shape = Map("Stimuli", ("mean residual", "first component"), square=square)
    table = points(count).assign(**columns)
    return stimulus_map(table, shape, value="mean", chosen=chosen, mode="light")


def test_the_map_has_a_dot_per_stimulus_that_knows_its_index_and_is_drawn_around():
    figure = drawn()
    dots = figure.data[0]
    assert list(map(list, dots.customdata)) == [[0], [1], [2]]
    assert list(dots.marker.color) == pytest.approx([0.0, 0.1, 0.2])
    assert figure.layout.dragmode == "lasso"
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == (
        "mean residual",
        "first component",
    )
    assert "&lt;b&gt;not bold&lt;/b&gt;" in dots.hovertext[1]
    assert dots.hovertext[2].endswith("mean 0.2")


def test_all_but_what_is_chosen_fades():
    assert drawn(chosen=[2, 99]).data[0].selectedpoints == (2,)
    assert drawn(chosen=[99]).data[0].selectedpoints is None
    assert drawn().data[0].selectedpoints is None


def test_what_a_search_leaves_out_is_gray_and_can_be_neither_chosen_nor_opened():
    gray, dots = drawn(passed=[True, False, True], chosen=[2]).data
    assert (list(gray.x), list(dots.x)) == ([1.0], [0.0, 2.0])
    assert (gray.customdata, gray.hoverinfo) == (None, "skip")
    assert (gray.selectedpoints, dots.selectedpoints) == ((), (1,))
    assert gray.type == dots.type


def test_a_factor_has_a_color_and_an_entry_per_value_and_gray_where_it_has_none():
    figure = drawn(4, value=["red", None, "blue", "red"], chosen=[2])
    entries = {trace.name: list(trace.x) for trace in figure.data}
    assert entries == {"red": [0.0, 3.0], "blue": [2.0], "none": [1.0]}
    assert len({trace.marker.color for trace in figure.data}) == 3
    assert [trace.selectedpoints for trace in figure.data] == [(), (0,), ()]
    assert figure.data[0].hovertext[0].endswith("mean red")


def test_residual_bars_tell_their_rank_over_the_middle_half_of_all_stimuli():
    rows = pd.DataFrame(
        {
            "title": ["MAE <m>", "CLIP m"],
            "group": ["MAE", "CLIP"],
            "residual": [0.2, 0.1],
            "rank": [1024, 1],
            "n": 1024,
            "lower": [0.1, 0.05],
            "upper": [0.15, 0.08],
        }
    )
    figure = residuals(rows, mode="dark")
    middle, bars, ranks = figure.data
    assert list(middle.base) == [0.1, 0.05]
    assert list(middle.x) == pytest.approx([0.05, 0.03])
    assert list(bars.y) == ["MAE &lt;m&gt;", "CLIP m"]
    assert [text.strip() for text in ranks.text] == ["rank 1,024 of 1,024", "rank 1 of 1,024"]
    assert list(ranks.x) == [0.2, 0.1]
    assert bars.marker.color == (hue("MAE", "dark"), hue("CLIP", "dark"))
    assert (
        figure.layout.paper_bgcolor
        or figure.layout.template.layout.paper_bgcolor == INK["dark"].paper
    )
