"""The figure grammar: what a specification draws, looked up in the finished figure."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.figures import palette
from core.figures.drawing import add_rings
from core.figures.grammar import (
    Axis,
    Bars,
    Dots,
    Facet,
    Fixed,
    Heat,
    Level,
    Line,
    Palette,
    Plot,
    Ribbon,
    Scale,
    Size,
    Symbols,
    Text,
    _keep_drawn,
)
from core.figures.texts import fill, fill_card, number_text
from core.figures.theme import INK, hue
from core.modalities import LANGUAGE

TABLE = pd.DataFrame(
    {
        "model": ["a", "b", "c", "d"],
        "family": ["GPT-2", "GPT-2", "BLOOM", "BLOOM"],
        "parameters": [1e5, 1e6, 1e5, 1e6],
        "score": [0.1, 0.3, 0.2, np.nan],
        "low": [0.0, 0.25, 0.15, np.nan],
        "high": [0.2, 0.4, 0.25, np.nan],
        "target": ["x", "x", "y", "y"],
        "chance": [0.05, 0.05, 0.06, 0.06],
        "p": [0.016, 0.016, np.nan, np.nan],
        "why": ["", "", "too few", "too few"],
    }
)
DOTS = Dots("parameters", "score", color="family", modality=LANGUAGE, low="low", high="high")
FACET = Facet("target", note="{p:p} || {why}")


def drawn(figure):
    """Return the traces that hold data; others are entries of the legend."""
    return [trace for trace in figure.data if trace.type == "heatmap" or trace.x[0] is not None]


def entries(figure):
    return {trace.name: trace for trace in figure.data if trace.showlegend is not False}


def draw(*marks, table=TABLE, narrow=False, **more):
    return Plot("T", marks, **more).over(table).draw("light", narrow=narrow)


def test_a_group_is_a_trace_in_its_hue_with_one_toggling_entry_and_rows_without_numbers_drop():
    figure = draw(DOTS, Line("parameters", "score", color="family"))
    dots = [trace for trace in drawn(figure) if trace.mode == "markers"]
    assert [list(trace.y) for trace in dots] == [[0.1, 0.3], [0.2]]
    assert [trace.marker.color for trace in dots] == [
        hue(name, "light") for name in ("GPT-2", "BLOOM")
    ]
    assert list(entries(figure)) == ["GPT-2", "BLOOM"]
    assert {trace.legendgroup for trace in figure.data} == {"GPT-2", "BLOOM"}
    assert entries(figure)["GPT-2"].marker.symbol == LANGUAGE.symbol
    assert list(dots[0].error_y.array) == pytest.approx([0.1, 0.1])
    assert list(dots[0].error_y.arrayminus) == pytest.approx([0.1, 0.05])


@pytest.mark.parametrize(("narrow", "columns"), [(False, 2), (True, 1)])
def test_panels_share_an_axis_and_say_its_title_once_a_row(narrow, columns):
    figure = draw(DOTS, facet=FACET, y=Axis("score"), x=Axis("size"), narrow=narrow)
    layout = figure.layout
    assert {trace.yaxis for trace in drawn(figure)} == {"y", "y2"}
    assert layout.yaxis2.matches == "y"
    assert (layout.yaxis2.title.text is None) == (columns == 2)
    assert (layout.xaxis.title.text is None) == (columns == 1)
    assert layout.xaxis2.title.text == "size"
    heads = [note.text for note in layout.annotations]
    assert "<b>X</b>" in heads[0]
    assert "p = .016" in heads[0]
    assert "too few" in heads[1]
    assert (layout.xaxis.domain[1] < 0.5) == (columns == 2)


def test_named_panels_come_in_their_order_with_axes_of_their_own():
    axes = {"x": Axis("first"), "y": Axis("second", percent=True)}
    figure = draw(DOTS, facet=Facet("target", {"y": "Two", "x": "One"}), y=axes)
    assert [note.text for note in figure.layout.annotations] == ["<b>Two</b>", "<b>One</b>"]
    assert figure.layout.yaxis.title.text == "second"
    assert figure.layout.yaxis.tickformat == ".0%"
    assert figure.layout.yaxis2.title.text == "first"
    assert figure.layout.yaxis2.matches is None


def test_levels_are_drawn_if_a_panel_has_one_and_named_once():
    figure = draw(DOTS, facet=FACET, levels=(Level("chance"), Level(5.0, "ceiling")))
    lines = figure.layout.shapes
    assert [(line.y0, line.xref, line.yref) for line in lines] == [
        (0.05, "x domain", "y"),
        (0.06, "x2 domain", "y2"),
    ]
    assert {line.line.dash for line in lines} == {"dot"}
    assert "chance" in entries(figure)
    assert "ceiling, 5.00 (above the plot)" in entries(figure)  # it would flatten all else
    assert not draw(DOTS, levels=(Level("chance"),)).layout.shapes  # pairs with a chance of each
    several = draw(DOTS, levels=(Level("chance", several=True, along="x"),)).layout.shapes
    assert [line.x0 for line in several] == [0.05, 0.06]
    level = Level("chance", "control", "{model}", rows="target == 'x'", several=True, say=True)
    said = draw(DOTS, levels=(level,)).layout.shapes  # two of one value
    assert [(line.y0, line.label.text) for line in said] == [(0.05, "a"), (0.05, "b")]
    assert not draw(DOTS, levels=(Level("absent"),)).layout.shapes


def test_nothing_to_draw_says_why():
    empty = "None: {why}."
    blank = TABLE.assign(score=np.nan, why="<b>no</b>")
    assert draw(DOTS, table=blank, empty=empty).layout.annotations[0].text == (
        "None: &lt;b&gt;no&lt;/b&gt;."
    )
    nothing = draw(DOTS, table=TABLE.iloc[:0], empty=empty)
    assert nothing.layout.annotations[0].text == "There is nothing to draw."


def test_a_logarithmic_axis_has_counts_and_no_place_for_zero():
    table = TABLE.assign(parameters=[0.0, 1e6, 1e5, 1e6])
    figure = draw(DOTS, table=table, x=Axis("size", log=True))
    assert [list(trace.x) for trace in drawn(figure)] == [[1e6], [1e5]]
    assert figure.layout.xaxis.type == "log"
    assert "100k" in figure.layout.xaxis.ticktext
    ticks = draw(DOTS, table=table, x=Axis(log=True, ticks="data")).layout.xaxis.tickvals
    assert list(ticks) == [1e5, 1e6]


def test_hover_cards_escape_hostile_names_and_leave_out_what_is_missing():
    row = {"title": "<img src=x>%{y}", "score": np.nan, "n": 3, "model": "<i>"}
    card = fill_card(
        ("<b>{title}</b>", "{score:.2f}", "{n:model|models}, {score:.2f}"), "{model}", row
    )
    assert card.split("<br>")[:2] == ["<b>&lt;img src=x&gt;%&#123;y}</b>", "3 models, —"]
    assert "&lt;i&gt;" in card
    figure = draw(Dots("parameters", "score", card=("{model}",), select=("model",)))
    assert list(drawn(figure)[0].hovertext) == ["a", "b", "c"]
    assert drawn(draw(DOTS))[0].hoverinfo == "skip"


def test_texts_read_as_papers_print_them():
    row = {"rho": -0.77, "low": -1.0, "high": 0.18, "p": 0.0163, "q": 1e-9, "share": 0.953, "n": 9}
    row |= {"none": "", "change": -0.02, "pairs": 1, "parameters": 41_000}
    assert fill("ρ = {rho:.2f} [{low:.2f}, {high:.2f}], {p:p}, n = {n}", row) == (
        "ρ = −0.77 [−1.00, 0.18], p = .016, n = 9"
    )
    assert fill("{q:p:q}, {share:.0%}, {change:+.2f}", row) == "q < .001, 95%, −0.02"
    assert fill("{none} || {pairs:pair|pairs} of {parameters:count}", row) == "1 pair of 41k"
    assert fill("{p:.2f}[[, {none}]][[, n = {n}]]", row) == "0.02, n = 9"
    assert fill("{none}", row) == fill("{absent:.2f}", row) == ""
    assert [number_text(value, "p") for value in (0.05, 0.2, 1.0)] == [
        "p = .050",
        "p = .20",
        "p = 1",
    ]


def test_chosen_dots_are_ringed():
    figure = draw(Dots("parameters", "score", color="family", size=Size(), select=("model",)))
    sizes = [size for trace in drawn(figure) for size in trace.marker.size]
    assert sizes == [9.0, 15.0, 9.0]
    add_rings(figure, ["b"], "light")
    ring = figure.data[-1]
    assert (ring.x[0], ring.y[0], ring.marker.size[0]) == (1e6, 0.3, 23.0)


def test_lines_join_within_groups_in_the_order_of_x_and_average():
    table = pd.DataFrame(
        {"line": list("aabb"), "kind": "k", "x": [2.0, 1.0, 1.0, 2.0], "y": [1.0, 2.0, 3.0, 4.0]}
    )
    joined = drawn(draw(Dots("x", "y", join="line"), table=table))[0]
    assert list(joined.x) == [1.0, 2.0, None, 1.0, 2.0]
    assert list(joined.y) == [2.0, 1.0, None, 3.0, 4.0]
    mean = drawn(draw(Line("x", "y", mean="x"), table=table))[0]
    assert (list(mean.x), list(mean.y)) == ([1.0, 2.0], [2.5, 2.5])
    ends = drawn(draw(Line("x", "y", by="line", ends="{line}"), table=table))
    assert [list(trace.text) for trace in ends] == [["", "a"], ["", "b"]]
    band = drawn(draw(Ribbon("x", "x", "y"), table=table.iloc[2:]))[0]
    assert (list(band.x), list(band.y)) == ([1.0, 2.0, 2.0, 1.0], [3.0, 4.0, 2.0, 1.0])


def test_categories_have_places_and_groups_stand_apart():
    table = pd.DataFrame({"set": list("lmlm"), "kind": list("aabb"), "y": [1.0, 2.0, 3.0, 4.0]})
    colors = Palette("kind", {"b": "ember", "a": "#112233"}, {"a": "the first"})
    dots = Dots("set", "y", color=colors, dodge=0.2)
    figure = draw(dots, table=table, x=Axis("", names={"m": "<m>", "l": "low"}))
    assert {trace.legendgroup: list(trace.x) for trace in drawn(figure)} == {
        "the first": [0.9, -0.1],
        "b": [1.1, 0.1],
    }
    assert list(figure.layout.xaxis.ticktext) == ["&lt;m&gt;", "low"]
    assert entries(figure)["b"].marker.color == INK["light"].ember
    down = draw(Dots("y", "set"), table=table, y=Axis(names=True)).layout.yaxis
    assert tuple(down.range) == (1.5, -0.5)  # the first is on top


def test_numbers_color_on_one_scale_with_one_bar():
    scale = Scale("score", "rank", low=0.0, log=False)
    figure = draw(Dots("parameters", "score", color=scale), facet=FACET)
    assert [list(trace.marker.color) for trace in drawn(figure)] == [[0.1, 0.3], [0.2]]
    assert {trace.marker.coloraxis for trace in drawn(figure)} == {"coloraxis"}
    axis = figure.layout.coloraxis
    assert (axis.cmin, axis.cmax, axis.colorbar.title.text) == (0.0, 0.3, "rank")


def test_a_heat_map_fills_both_orders_and_prints_few_numbers():
    pairs = pd.DataFrame({"one": ["a", "a", "b"], "other": ["a", "b", "b"], "r": [1.0, -0.5, 1.0]})
    names = Axis(names=True)
    heat = Heat("one", "other", Scale("r"), label="{r:.1f}", mirrored=True)
    figure = draw(heat, table=pairs, x=names, y=names)
    cells = figure.data[0]
    assert cells.z.tolist() == [[1.0, -0.5], [-0.5, 1.0]]
    assert cells.text.tolist() == [["1.0", "−0.5"], ["−0.5", "1.0"]]
    assert (figure.layout.coloraxis.cmin, figure.layout.coloraxis.cmax) == (-0.5, 1.0)
    many = pd.DataFrame({"one": range(9), "other": 0, "r": 0.5})
    assert not any(draw(heat, table=many, x=names, y=names).data[0].text.ravel())


def test_bars_lie_from_a_base_with_texts():
    bars = Bars("score", "model", lying=True, base="low", label="{score:.0%}")
    figure = draw(bars, y=Axis(names=True))
    bar = figure.data[0]
    assert bar.orientation == "h"
    assert list(bar.x) == pytest.approx([0.1, 0.05, 0.05])
    assert list(bar.text) == ["10%", "30%", "20%"]
    assert list(bar.y) == [0, 1, 2]
    assert figure.layout.xaxis.range[1] == pytest.approx(0.36)  # room for the texts


def test_symbols_are_of_a_column_and_own_tables_are_in_every_panel():
    shapes = Symbols("model", {"a": "square", "b": "circle-open", "c": "star"})
    table = pd.DataFrame({"parameters": [1e5], "score": [0.2], "word": ["here"]})
    figure = draw(
        Dots("parameters", "score", symbol=shapes, color=Fixed("soft")),
        Text("parameters", "score", "{word}", table=table),
        facet=FACET,
    )
    symbols = [trace.marker.symbol for trace in drawn(figure) if trace.mode == "markers"]
    assert {each for one in symbols for each in np.atleast_1d(one)} == {
        "square",
        "circle-open",
        "star",
    }
    assert [list(trace.text) for trace in drawn(figure) if trace.mode == "text"] == [["here"]] * 2


def test_lines_of_several_runs_are_sorted_and_averaged_within_each():
    table = pd.DataFrame(
        {
            "run": ["b", "a", "b", "a", None, "a"],
            "step": [2, 2, 1, 1, 1, 2],
            "score": [0.2, 0.4, 0.1, 0.3, 9.0, 0.6],
        }
    )
    line = Line("step", "score", by="run", mean="step", card=("{score:.1f}",))
    (trace,) = drawn(draw(line, table=table))
    assert [*trace.x] == [1, 2, None, 1, 2]  # in the order the runs come
    assert [*trace.y] == pytest.approx([0.1, 0.2, None, 0.3, 0.5], nan_ok=True)
    assert [*trace.hovertext] == ["0.1", "0.2", "", "0.3", "0.5"]


def test_what_was_drawn_is_kept_for_the_same_specification_alone():
    def specified(table):
        dots = Dots("parameters", "score", color="family")
        return Plot("Kept", (dots,), facet=Facet("target", head=None)).over(table)

    def colors(figure):
        return {trace.name: trace.marker.color for trace in entries(figure).values()}

    before = _keep_drawn.cache_info()
    first, other = specified(TABLE).draw("light"), specified(TABLE.copy()).draw("light")
    dark, moved = specified(TABLE).draw("dark"), specified(TABLE.assign(score=0.5)).draw("light")
    after = _keep_drawn.cache_info()
    assert (after.hits - before.hits, after.misses - before.misses) == (1, 3)
    assert first == other
    assert dark.layout.template != first.layout.template
    assert {*drawn(moved)[0].y} == {0.5}
    first.update_layout(title_text="changed").data[0].x = [7.0]
    assert specified(TABLE).draw("light") == other  # a figure is the caller's own
    palette.show({"gpt-2": palette.Look("#123456")})
    assert hue("GPT-2", "light") != colors(other)["GPT-2"]
    try:
        assert colors(specified(TABLE).draw("light"))["GPT-2"] == hue("GPT-2", "light")
    finally:
        palette.show({})
    assert colors(specified(TABLE).draw("light")) == colors(other)


def test_a_specification_with_a_function_without_a_name_is_drawn_each_time():
    facet = Facet("target", head=lambda rows: f"{len(rows)} rows")
    before = _keep_drawn.cache_info()
    figure = Plot("T", (DOTS,), facet=facet).over(TABLE).draw("light")
    assert [note.text for note in figure.layout.annotations] == ["2 rows", "2 rows"]
    assert _keep_drawn.cache_info() == before


def test_names_above_a_heat_map_stand_upright_on_a_phone_and_its_bar_lies_below():
    table = pd.DataFrame({"a": ["one", "two"], "b": ["one", "two"], "z": [0.0, 1.0]})
    names = Axis(names=["one", "two"], top=True)
    wide, narrow = (
        draw(Heat("a", "b", "z"), table=table, x=names, y=Axis(names=True), narrow=phone)
        for phone in (False, True)
    )
    assert list(narrow.layout.xaxis.ticktext) == ["one", "two"]
    assert (wide.layout.xaxis.tickangle, narrow.layout.xaxis.tickangle) == (-60, -90)
    bars = [figure.layout.coloraxis.colorbar.orientation for figure in (wide, narrow)]
    assert bars == [None, "h"]
