"""Names of dots: what they must not cover, measured with boxes of this module's own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.figures.grammar import Axis, Dots, Plot, Size
from core.figures.labels import DESK, END, GAP, LETTER, LINE, PHONE, SIDES, Labels, place

# Mean alignment of the demo's language models against competence: three dots nearly touch.
DEMO = pd.DataFrame(
    {
        "title": [f"{f} {s}" for s in ("XS", "S", "M") for f in ("BLOOM", "GPT-2", "LLaMA")],
        "x": [0.390, 0.4065, 0.434, 0.4546, 0.4573, 0.4625, 0.4676, 0.4675, 0.4698],
        "y": [0.0246, 0.0154, 0.0177, 0.0279, 0.0258, 0.0272, 0.0361, 0.0341, 0.0274],
        "parameters": [60e3] * 3 + [230e3] * 3 + [550e3] * 3,
    }
)
SHARES = np.column_stack([(DEMO["x"] - 0.384) / 0.092, DEMO["y"] / 0.0475])
FIT = np.array([[0.07, 0.37], [0.93, 0.63]])


def boxes(texts, dots, sizes, spots, area):
    """Return left, right, low, high of each text in pixels, None without a place."""
    found = []
    for text, dot, size, spot in zip(texts, dots, sizes, spots, strict=True):
        if spot is None:
            found.append(None)
            continue
        across, up = SIDES[spot.side]
        end = END if spot.is_far else size
        width, height = LETTER * len(text), LINE
        x = area[0] * (dot[0] + spot.x) + across * (width + end + 2 * GAP) / 2
        y = area[1] * (dot[1] + spot.y) + up * (height + end + 2 * GAP) / 2
        found.append((x - width / 2, x + width / 2, y - height / 2, y + height / 2))
    return found


def meet(one, other):
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


def assert_clear(texts, dots, sizes, spots, areas):
    for width, height in areas:
        placed = boxes(texts, dots, sizes, spots, (width, height))
        names = [box for box in placed if box]
        assert not any(meet(a, b) for i, a in enumerate(names) for b in names[:i])
        for number, box in enumerate(placed):
            if box is None:
                continue
            assert box[0] >= -1e-9
            assert box[1] <= width + 1e-9
            for other, (dot, size) in enumerate(zip(dots, sizes, strict=True)):
                x, y, half = dot[0] * width, dot[1] * height, size / 2
                if other != number:
                    assert not meet(box, (x - half, x + half, y - half, y + half))


@pytest.mark.parametrize("areas", [PHONE, DESK])
def test_all_nine_models_of_the_demo_are_named(areas):
    sizes = np.repeat([9.0, 12.6, 15.0], 3)
    spots = place(list(DEMO["title"]), SHARES, sizes, [FIT], areas)
    assert None not in spots
    assert_clear(DEMO["title"], SHARES, sizes, spots, areas)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12),
    st.integers(1, 20),
)
def test_no_name_covers_another_or_a_dot(dots, letters):
    texts, sizes = ["x" * letters] * len(dots), np.full(len(dots), 12.0)
    spots = place(texts, np.array(dots), sizes, [], DESK)
    assert_clear(texts, np.array(dots), sizes, spots, DESK)


def test_a_name_is_next_to_a_dot_that_has_room_and_off_lines():
    alone = np.array([[0.5, 0.5]])
    (right,) = place(["GPT"], alone, np.array([10.0]), [], DESK)
    assert (right.side, right.is_far) == ("middle right", False)
    line = np.array([[0.5, 0.5], [1.0, 0.5]])  # begins at the dot and leaves to the right
    (left,) = place(["GPT"], alone, np.array([10.0]), [line], DESK)
    assert (left.side, left.is_far) == ("middle left", False)
    (none,) = place(["x" * 60], alone, np.array([10.0]), [], PHONE)
    assert none is None


def crossed(one, other):
    """Return whether two segments cross: each parts the ends of the other."""

    def turn(a, b, c):
        area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        return np.sign(round(area, 9))  # 0 if they touch

    (a, b), (c, d) = one, other
    return turn(a, b, c) * turn(a, b, d) < 0 and turn(c, d, a) * turn(c, d, b) < 0


@given(st.lists(st.tuples(st.floats(0.3, 0.7), st.floats(0.3, 0.7)), min_size=2, max_size=9))
def test_lines_to_names_do_not_cross(dots):
    texts, sizes = ["x" * 12] * len(dots), np.full(len(dots), 12.0)
    spots = place(texts, np.array(dots), sizes, [], PHONE)
    pairs = zip(dots, spots, strict=True)
    lines = [((x, y), (x + one.x, y + one.y)) for (x, y), one in pairs if one and one.is_far]
    assert not any(crossed(a, b) for i, a in enumerate(lines) for b in lines[:i])
    near = place(texts, np.array(dots), sizes, [], PHONE, 25.0)
    assert all(np.hypot(one.x * 262, one.y * 365) <= 25.0 for one in near if one)


def test_what_has_no_text_has_no_place_and_is_not_covered():
    dots = np.array([[0.5, 0.5], [0.53, 0.5]])
    name, none = place(["GPT", ""], dots, np.array([10.0, 10.0]), [], DESK)
    assert none is None
    assert name.side == "middle left"


def test_a_figure_without_room_for_any_name_has_none():
    table = pd.DataFrame({"x": [1.0], "y": [1.0], "label": "x" * 200, "size": 9.0})
    axis = Axis(range=(0, 2))
    plot = Plot("T", (Dots("x", "y"), Labels("x", "y", "{label}", "size")), x=axis, y=axis)
    assert [trace.text for trace in plot.over(table).draw("light").data] == [None]


def test_heads_are_bold_in_their_color_and_have_neither_line_nor_entry():
    table = pd.DataFrame({"x": [1.0, 1.0], "y": [1.0, 1.5], "g": ["CLIP", "vision"]})
    table = table.assign(label=["CLIP", "VISION"], size=9.0, head=[False, True])
    names = Labels("x", "y", "{label}", "size", color="g", hued=True, head="head")
    axes = Axis(range=(0, 2)), Axis(range=(0, 2), equal=True)
    figure = Plot("T", (names,), x=axes[0], y=axes[1], legend="right").over(table).draw("light")
    texts = {trace.text[0]: trace for trace in figure.data if trace.text}
    assert set(texts) == {"CLIP", "<b>VISION</b>"}
    assert texts["CLIP"].textfont.color != texts["<b>VISION</b>"].textfont.color
    assert [trace.name for trace in figure.data if trace.name] == ["CLIP"]
    assert figure.layout.legend.orientation == "v"


@pytest.mark.parametrize("log", [False, True])
def test_a_line_leads_from_the_dot_to_its_name(log):
    table = DEMO.assign(x=10.0 ** DEMO["x"] if log else DEMO["x"], low=np.nan, high=np.nan)
    size, ends = Size("parameters"), (0.384, 0.476)
    names = Labels(
        "x",
        "y",
        "{title}",
        size,
        low="low",
        high="high",
        lines=pd.DataFrame(columns=["x", "y", "line"]),
    )
    axes = (
        Axis(log=log, range=tuple(10.0**end if log else end for end in ends)),
        Axis(range=(0, 0.0475)),
    )
    plot = Plot("T", (Dots("x", "y", size=size), names), x=axes[0], y=axes[1]).over(table)
    for narrow in (False, True):
        texts = [one for one in plot.draw("light", narrow=narrow).data if one.text is not None]
        (lines,) = [one for one in plot.draw("light", narrow=narrow).data if one.mode == "lines"]
        assert [text for one in texts for text in one.text] == list(DEMO["title"])
        starts = {(x, y) for x, y in zip(lines.x[::3], lines.y[::3], strict=True)}
        assert starts <= set(zip(table["x"], table["y"], strict=True))
        anchors = {pair for one in texts for pair in zip(one.x, one.y, strict=True)}
        assert set(zip(lines.x[1::3], lines.y[1::3], strict=True)) <= anchors
