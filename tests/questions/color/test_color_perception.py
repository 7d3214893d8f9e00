"""CIELAB is that of the standards, and color words lie where a survey puts them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.errors import UnknownNameError
from core.questions.color.sources import (
    color_words,
    to_hex,
    to_lab,
    to_rgb,
)

# published values of sRGB's corners in CIELAB under D65 (Lindbloom, Color Calculator)
PUBLISHED = {
    (255, 255, 255): (100.0, 0.0, 0.0),
    (0, 0, 0): (0.0, 0.0, 0.0),
    (255, 0, 0): (53.2408, 80.0925, 67.2032),
    (0, 255, 0): (87.7347, -86.1827, 83.1793),
    (0, 0, 255): (32.2970, 79.1875, -107.8602),
    (255, 255, 0): (97.1393, -21.5537, 94.4780),
    (0, 255, 255): (91.1132, -48.0875, -14.1312),
    (255, 0, 255): (60.3242, 98.2343, -60.8249),
    (128, 128, 128): (53.5850, 0.0, 0.0),
}


@pytest.mark.parametrize(("rgb", "lab"), PUBLISHED.items())
def test_published_values(rgb, lab):
    assert to_lab(np.array([rgb], float))[0] == pytest.approx(lab, abs=2e-3)


@given(st.lists(st.tuples(*[st.integers(0, 255)] * 3), min_size=1, max_size=20))
@example([(9, 3, 0)])  # so dark that its lightness is linear
def test_there_and_back(colors):
    assert to_rgb(to_lab(np.array(colors, float))) == pytest.approx(
        np.array(colors, float), abs=1e-6
    )


def test_colors_that_no_screen_shows_are_clipped():
    red, green, _ = to_rgb(np.array([[90.0, -200.0, 0.0]]))[0]
    assert (red, green) == pytest.approx((0, 255))
    assert to_hex(np.array([[0.0, 0.0, 0.0], [100.0, 0.0, 0.0]])) == ["#000000", "#ffffff"]


@given(st.integers(0, 255))
def test_grays_have_no_hue(level):
    assert to_lab(np.full((1, 3), float(level)))[0, 1:] == pytest.approx([0, 0], abs=1e-9)


def test_words_lie_in_their_hue():
    table = color_words().set_index("word")
    assert len(table) == 24
    assert {"red", "teal", "gray", "peach"} <= set(table.index)
    assert table.loc["red", "a"] > 50
    assert table.loc["blue", "b"] < -50
    assert table.loc["white", "L"] > 90 > 20 > table.loc["black", "L"]
    assert (table["answers"] >= 100).all()


def test_words_are_chosen_in_order_and_once():
    assert list(color_words(["teal", "red", "teal"])["word"]) == ["teal", "red"]


def test_unknown_words_are_told():
    with pytest.raises(UnknownNameError, match="no color word named 'gren'; did you mean green"):
        color_words(["red", "gren"])
