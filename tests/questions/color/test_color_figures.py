"""The Color page's figures from small tables: spaces seen from a side, words beside dots, maps and
models.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.figures.theme import INK, hue
from core.questions.color import figures as color
from core.questions.color import knowledge_figures as color_knowledge
from core.questions.color import space_figures as color_space
from core.questions.color.geometry.perception import to_hex
from core.questions.color.geometry.words import LAB, color_words
from core.questions.color.space_panels import (
    CENTER,
    GAP,
    LETTER,
    LINE,
    TILT,
    TURN,
    place_words,
    points_of,
    project,
)

POINTS = np.random.default_rng(0).normal(size=(6, 3))


def test_a_view_keeps_all_distances():
    apart = [
        np.linalg.norm(points[:, None] - points, axis=2) for points in (POINTS, project(POINTS))
    ]
    assert apart[1] == pytest.approx(apart[0], abs=1e-9)


def test_lightness_points_up_and_is_seen_from_a_little_above():
    steps = np.array(CENTER) + np.vstack([np.zeros(3), np.eye(3)])
    middle, *axes = project(steps)
    assert middle == pytest.approx([0, 0, 0], abs=1e-12)
    across, over = np.radians(TURN), np.radians(TILT)
    assert axes[0] == pytest.approx([0, np.cos(over), np.sin(over)])
    red = [np.cos(across), -np.sin(across) * np.sin(over), np.sin(across) * np.cos(over)]
    assert axes[1] == pytest.approx(red)
    assert axes[2] == pytest.approx(np.cross(axes[0], axes[1]))


def test_a_plane_is_shown_as_it_is():
    flat = project(POINTS[:, :2])
    assert flat[:, :2].tolist() == POINTS[:, :2].tolist()
    assert not flat[:, 2].any()


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(st.integers(0, 200), st.integers(0, 200), st.integers(1, 9)),
        min_size=1,
        max_size=8,
    )
)
def test_words_overlap_neither_each_other_nor_dots(drawn):
    x, y = (np.array([float(row[axis]) for row in drawn]) for axis in (0, 1))
    found = place_words(x, y, ["w" * row[2] for row in drawn])
    steps = {
        "top": (0, 1),
        "bottom": (0, -1),
        "middle": (0, 0),
        "right": (1, 0),
        "left": (-1, 0),
        "center": (0, 0),
    }
    words = []
    for (px, py, count), place in zip(drawn, found, strict=True):
        right, up = np.sum([steps[part] for part in place.split()] or [(0, 0)], axis=0)
        half = LETTER * count / 2
        words += (
            [(px + right * (GAP + half), py + up * (GAP + LINE / 2), half, LINE / 2)]
            if place
            else []
        )
    dots = [(px, py, 5, 5) for px, py, _ in drawn]
    for place, (ax, ay, aw, ah) in enumerate(words):
        for bx, by, bw, bh in [*words[place + 1 :], *dots]:
            assert abs(ax - bx) >= aw + bw - 1e-9 or abs(ay - by) >= ah + bh - 1e-9


def table(
    source: str = "pixels <i>", dims: int = 3, *, off: float = 10.0, count: int = 8
) -> pd.DataFrame:
    """Return the first color words where CIELAB has them, but `off` to the right."""
    found = color_words().head(count)
    points = found[LAB].to_numpy()[:, :dims]
    rows = pd.DataFrame(
        {
            "source": source,
            "color": found["word"],
            "hex": to_hex(found[LAB].to_numpy()),
            "seen": 20.0,
        }
    )
    rows[["x", "y", "z"][:dims]] = points + np.eye(dims)[min(1, dims - 1)] * off
    return rows.assign(
        error=off, neighbors=0.5, stress=0.1, kendall=-0.25, kendall_p=0.0004, disparity=0.75
    )


def headings(figure) -> str:
    return " ".join(annotation.text for annotation in figure.layout.annotations)


def dots(figure) -> list:
    return [trace for trace in figure.data if trace.mode == "markers+text"]


def test_layouts_have_a_panel_for_each_source_in_its_own_colors():
    figure = color_space.layouts([table("perception", off=0.0), table()], mode="light")
    assert "<b>perception</b><br><span style='font-size:12px'>8 colors, the reference" in headings(
        figure
    )
    assert (
        "<b>pixels &lt;i&gt;</b><br><span style='font-size:12px'>τ −0.25, p < 0.001, disparity 0.75"
        in headings(figure)
    )
    first, second = dots(figure)
    assert (first.xaxis, second.xaxis) == ("x", "x2")
    for trace, rows in ((first, table(off=0.0)), (second, table())):
        x, y, _ = project(points_of(rows)).T
        drawn = zip(trace.marker.color, zip(trace.x, trace.y, strict=True), strict=True)
        assert dict(drawn) == {
            hexa: pytest.approx(place, abs=1e-3)
            for hexa, *place in zip(rows["hex"], x, y, strict=True)
        }
    assert "10.0 ΔE from where perception has it" in second.hovertext[0]


def test_the_overlay_joins_partners_and_says_where_there_are_none():
    x, y = table("perception", off=0.0), table(count=5)
    figure = color_space.overlay(x, y, mode="light")
    lines = [trace for trace in figure.data if trace.mode == "lines"][-1]
    assert len(lines.x) == 15
    assert lines.x[2] is None
    across = 10.0 * np.cos(np.radians(TURN))
    assert [lines.x[i + 1] - lines.x[i] for i in range(0, 15, 3)] == pytest.approx(
        [across] * 5, abs=1e-2
    )
    assert {trace.marker.symbol for trace in dots(figure)} == {"circle", "square"}
    empty = color_space.overlay(x.head(2), table().tail(2), mode="light")
    assert "no color in common" in headings(empty)


def compared() -> pd.DataFrame:
    names = ("perception", "a <b>", "c")
    rows = [
        {
            "x": x,
            "y": y,
            "of": of,
            "measure": measure,
            "value": value,
            "chance": 0.0,
            "p": 0.01,
            "p_adjusted": 0.02,
            "low": -0.1,
            "high": 0.9,
            "colors": 9,
        }
        for of, measure in (("dissimilarities", "kendall"), ("layouts", "disparity"))
        for (x, y), value in zip(
            ((names[0], names[1]), (names[0], names[2]), names[1:]), (0.5, -0.2, 0.3), strict=True
        )
    ]
    return pd.DataFrame(rows)


def test_agreement_is_a_symmetric_map_with_an_empty_diagonal():
    (trace,) = color.agreement(
        compared(), of="dissimilarities", measure="kendall", mode="light"
    ).data
    z = np.array(trace.z, float)
    assert z.tolist()[0][1:] == [0.5, -0.2]
    assert np.isnan(z.diagonal()).all()
    assert (z == z.T)[~np.eye(3, dtype=bool)].all()
    assert "−0.20<br><span style='font-size:10px'>p = 0.02</span>" in trace.text[0][2]
    assert "a &lt;b&gt;" in trace.hovertext[0][1]
    assert "95 % interval -0.100 to 0.900" in trace.hovertext[0][1]
    assert trace.x[1] == "a &lt;b&gt;"


def test_errors_begin_with_the_color_that_is_best_on_the_whole():
    rows = table(count=3).assign(error=[30.0, 10.0, 20.0])
    (trace,) = color.errors([rows, rows.head(2).assign(source="b", error=1.0)], mode="dark").data
    assert list(trace.x) == [rows["color"][1], rows["color"][0], rows["color"][2]]
    assert math.isnan(trace.z[1][2])


def models(**more: object) -> pd.DataFrame:
    table = pd.DataFrame(
        {
            "model": ["a", "b", "c"],
            "title": ["A", "B <b>", "C"],
            "group": ["GPT-2", "GPT-2", "LLaMA"],
        }
    )
    table = table.assign(
        copy=[False, True, False],
        parameters=[1e5, 1e5, 1e6],
        competence=[0.1, 0.2, np.nan],
        colors=18,
        reason="",
    )
    scores = {
        "kendall": [0.5, 0.1, 0.7],
        "kendall_p": 0.01,
        "disparity": [0.1, 0.9, 0.2],
        "disparity_p": 0.01,
    }
    return table.assign(**(scores | more))


@pytest.mark.parametrize("narrow", [False, True])
def test_knowledge_is_drawn_by_competence_and_by_size(narrow):
    figure = color_knowledge.knowledge(
        models(), measure="kendall", notes={"competence": "one"}, mode="light", narrow=narrow
    )
    assert "<b>by competence</b><br>one" in headings(figure)
    marks = [trace for trace in figure.data if trace.hovertext is not None]
    assert [trace.xaxis for trace in marks] == ["x", "x", "x2", "x2", "x2"]  # C has no competence
    assert [trace.marker.color for trace in marks[:2]] == [
        hue("GPT-2", "light"),
        INK["light"].paper,
    ]
    assert [trace.legendgroup for trace in marks[:2]] == ["GPT-2", "copies"]
    assert "B &lt;b&gt;" in marks[1].hovertext[0]
    assert figure.layout.xaxis2.type == "log"
