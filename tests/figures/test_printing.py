"""Figures for paper: their colors, their width, their panels, their text and their PDF."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from core.errors import InputError
from core.figures.drawing import Drawing
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


PLOT = trend(trend_points(), AXES["competence"], label="alignment (k = 5)", panels=True)


def test_text_of_13_pixels_is_8_points_wide_enough_for_a_journal():
    for width, pixels in ((ONE_COLUMN, 392), (TWO_COLUMNS, 806)):
        layout = to_print(PLOT.draw, width=width).layout
        assert layout.width == pixels
        points = 13 * width / 25.4 * 72 / layout.width
        assert points == pytest.approx(8, abs=0.02)


def test_a_figure_is_printed_in_light_colors_on_white_in_one_column_as_on_a_phone():
    wide, narrow = (to_print(PLOT.draw, width=width) for width in (TWO_COLUMNS, ONE_COLUMN))
    assert wide.layout.paper_bgcolor == "#FFFFFF"
    assert INK["light"].paper.lower() not in wide.to_json().lower()
    assert len({axis.domain for axis in wide.select_xaxes()}) == 2
    assert len({axis.domain for axis in narrow.select_xaxes()}) == 1
    assert narrow.layout.height == PLOT.draw("light", narrow=True).layout.height


def test_a_transparent_figure_has_no_ground_and_dots_are_vectors():
    figure = Drawing({}).add_trace({"type": "scattergl", "x": [1]}).figure()
    printed = to_print(lambda *_: figure, width=ONE_COLUMN, transparent=True)
    assert printed.layout.paper_bgcolor == printed.layout.plot_bgcolor == "rgba(0,0,0,0)"
    assert printed.data[0].type == "scatter"


def test_the_text_below_a_figure_says_what_it_shows():
    recipe = Recipe.of("alignment", question={"metric": "mutual_knn", "settings": {"k": 5}})
    text = legend_text(PLOT.draw("light"), trend_points(), recipe)
    assert text.startswith("Alignment and competence. Mean alignment (k = 5) against competence:")
    assert "Dotted: chance." in text
    assert "n = 3 models, 101 stimuli." in text  # whose points are drawn
    assert "Settings: metric mutual_knn, k 5." in text
    assert re.search(r"Platoscope \d+\.\d+\.\d+, recipe " + recipe.digest, text)
    dots = Drawing({"meta": {"title": "T"}}).add_scatter(x=[1], y=[1], customdata=[["a"]]).figure()
    pairs = pd.DataFrame({"model_x": ["a", "a"], "model_y": ["b", "c"], "score": 0.5})
    assert "n = 1 model." in legend_text(dots, pairs, recipe)  # of three
    empty = Drawing({"meta": {"title": "T"}}).figure()
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
