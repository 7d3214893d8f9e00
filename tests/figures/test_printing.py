"""Figures for paper: their colors, their width, their panels, their text and their PDF."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from plotly.colors import sample_colorscale

from core.errors import InputError
from core.figures.drawing import blank, panels
from core.figures.printing import ONE_COLUMN, TWO_COLUMNS, legend_text, to_pdf, to_print
from core.figures.theme import INK
from core.questions.alignment.axes import AXES
from core.questions.alignment.figures import trend
from core.recipe import Recipe
from tests.figures.tables import trend_points

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 50"><style>@font-face {}</style>'
    '<path d="M0,0L100,50" style="stroke: rgb(1, 2, 3)"/><text y="20" style="font-family:'
    ' &quot;Source Sans&quot;, sans-serif; font-size: 12px">Spearman \u2212 \u03c1</text></svg>'
)


def drawn(mode="light"):
    plot = trend(trend_points(), AXES["competence"], label="alignment (k = 5)", panels=True)
    return plot.draw(mode)


def test_text_of_13_pixels_is_8_points_wide_enough_for_a_journal():
    for width, pixels in ((ONE_COLUMN, 392), (TWO_COLUMNS, 806)):
        layout = to_print(drawn(), width=width).layout
        assert layout.width == pixels
        points = 13 * width / 25.4 * 72 / layout.width
        assert points == pytest.approx(8, abs=0.02)


def test_a_dark_figure_is_printed_in_the_colors_of_the_light_one():
    light, dark = (to_print(drawn(mode), width=TWO_COLUMNS) for mode in ("light", "dark"))
    assert dark.to_json().lower() == light.to_json().lower()
    assert INK["light"].paper.lower() not in light.to_json().lower()
    assert light.layout.paper_bgcolor == "#FFFFFF"


def test_a_step_of_the_dark_scale_is_that_of_the_light_one():
    steps = [0.0, 0.31, 0.77]
    light, dark = (
        blank(mode, height=100)
        .add_scatter(marker={"color": sample_colorscale(list(INK[mode].scale), steps)})
        .figure()
        for mode in ("light", "dark")
    )
    for one, other in zip(
        *(to_print(each, width=TWO_COLUMNS).data[0].marker.color for each in (light, dark)),
        strict=True,
    ):
        parts = [[int(text[at : at + 2], 16) for at in (1, 3, 5)] for text in (one, other)]
        assert parts[0] == pytest.approx(parts[1], abs=6)


def test_a_transparent_figure_has_no_ground_and_dots_are_vectors():
    figure = blank("light", height=100).add_trace({"type": "scattergl", "x": [1]}).figure()
    printed = to_print(figure, width=ONE_COLUMN, transparent=True)
    assert printed.layout.paper_bgcolor == printed.layout.plot_bgcolor == "rgba(0,0,0,0)"
    assert printed.data[0].type == "scatter"
    assert figure.data[0].type == "scattergl"  # the page keeps its own


def test_panels_of_a_narrow_figure_stand_one_below_the_other_with_their_headings():
    drawing = panels(["a", "b"], 2, "light", height=400, title="T")
    for column in (1, 2):
        drawing.add_scatter(x=[1], y=[1], row=1, col=column)
    figure = drawing.figure()
    printed = to_print(figure, width=ONE_COLUMN)
    assert [axis.domain for axis in printed.select_xaxes()] == [(0, 1), (0, 1)]
    first, second = (axis.domain for axis in printed.select_yaxes())
    assert first[1] == 1
    assert first[0] > second[1]
    assert second[0] == pytest.approx(0)
    assert [note.x for note in printed.layout.annotations] == pytest.approx([0.5, 0.5])
    assert [note.y for note in printed.layout.annotations] == pytest.approx([1, second[1]])
    assert [axis.showticklabels for axis in printed.select_yaxes()] == [True, True]
    assert printed.layout.height > figure.layout.height
    wide = to_print(figure, width=TWO_COLUMNS)
    assert wide.layout.xaxis2.domain == figure.layout.xaxis2.domain


def test_axes_of_several_things_keep_their_titles_one_of_all_stands_below_the_last():
    def titles(*texts: str) -> list[str | None]:
        figure = panels(["a", "b"], 2, "light", height=400, title="T")
        for column, text in enumerate(texts, start=1):
            figure.add_scatter(x=[1], y=[1], row=1, col=column)
            figure.update_xaxes(title_text=text, row=1, col=column)
        printed = to_print(figure.figure(), width=ONE_COLUMN)
        return [axis.title.text for axis in printed.select_xaxes()]

    assert titles("training steps", "parameters") == ["training steps", "parameters"]
    assert titles("parameters", "parameters") == [None, "parameters"]


def test_the_text_below_a_figure_says_what_it_shows():
    recipe = Recipe.of("alignment", question={"metric": "mutual_knn", "settings": {"k": 5}})
    text = legend_text(drawn(), trend_points(), recipe)
    assert text.startswith("Alignment and competence. Mean alignment (k = 5) against competence:")
    assert "Dotted: chance." in text
    assert "n = 6 models, 101 stimuli." in text
    assert "Settings: metric mutual_knn, k 5." in text
    assert re.search(r"Platoscope \d+\.\d+\.\d+, recipe " + recipe.digest, text)
    empty = blank("light", height=90, title="T").figure()
    assert "nan" not in legend_text(empty, pd.DataFrame(), recipe)


def test_a_pdf_holds_vectors_its_font_and_what_it_was_made_by():
    pdf = to_pdf(SVG, width=85, title="T", caption="what is drawn", recipe='{"k": "5"}')
    assert pdf.startswith(b"%PDF-")
    assert pdf == to_pdf(SVG, width=85, title="T", caption="what is drawn", recipe='{"k": "5"}')
    assert b"+PlatoscopeSans-Regular" in pdf
    assert b"/FontFile2" in pdf
    assert b"/Subtype/Image" not in pdf
    assert b"/Title(T)/Subject(what is drawn)" in pdf
    assert b'{"k": "5"}' in pdf
    size = re.search(rb"MediaBox ?\[0 0 ([\d.]+) ([\d.]+)", pdf)
    assert [float(side) for side in size.groups()] == pytest.approx(
        [85 / 25.4 * 72, 42.5 / 25.4 * 72], abs=0.01
    )


def test_what_is_no_drawing_is_refused():
    with pytest.raises(InputError, match="expected an SVG drawing"):
        to_pdf("<p>", width=85, title="T", caption="", recipe="")
