"""The Models page's figures from small tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.competence.records import SKILL
from core.questions.models.figures import NAMED, SCALED, map_points, model_map, tree
from core.questions.models.geometry import NEAREST
from core.study.models import MODEL_COLUMNS


def words(figure) -> str:
    return " ".join(annotation.text for annotation in figure.layout.annotations)


def models() -> pd.DataFrame:
    rows = [
        ("mae-s", "MAE <s>", "vision", "ViT", "MAE", "MAE", 1e5, "mae-s", 1000.0),
        ("mae-s-100", "MAE s after 100", "vision", "ViT", "MAE", "MAE", 1e5, "mae-s", 100.0),
        ("gpt", "GPT", "language", "GPT-2", "language", "GPT-2", 1e6, "gpt", 2000.0),
        ("raw", "GPT untrained", "language", "GPT-2", "untrained", "untrained", 1e6, "raw", 0.0),
        ("reality", "Reality", "world", "world", "reality", "reality", np.nan, "reality", np.nan),
        ("flat", "Flat", "vision", "ViT", "MAE", "MAE", np.nan, "flat", np.nan),
    ]
    names = [
        "model",
        "title",
        "modality",
        "family",
        "objective",
        "group",
        "parameters",
        "run",
        "step",
    ]
    return pd.DataFrame(rows, columns=names).reindex(columns=list(MODEL_COLUMNS))


def placed() -> pd.DataFrame:
    names = list(models()["model"])
    table = pd.DataFrame(
        {"model": names, "x": range(6), "y": range(6), "reason": [""] * 5 + ["constant"]}
    )
    near = dict.fromkeys(NEAREST, "") | {
        "nearest_1": ["gpt", "gpt", "raw", "gpt", "gpt", ""],
        "nearest_2": ["raw", "", "", "", "", ""],
    }
    return table.assign(**near)


def points() -> pd.DataFrame:
    competence = pd.DataFrame({"model": ["gpt", "raw"], "value": [0.4, -0.2], "unit": SKILL})
    solved = pd.DataFrame(
        {"model": ["mae-s", "mae-s-100"], "solved": [0.5, 0.25], "basis": "shares"}
    )
    return map_points(placed(), models(), competence, solved)


def drawn(**changed):
    return model_map(points(), **{"color": "group", "mode": "light", **changed})


def marks(figure) -> list:
    return [
        trace for trace in figure.data if trace.customdata is not None and len(trace.customdata)
    ]


def test_points_are_the_models_that_have_a_place_described_with_their_nearest():
    table = points().set_index("model")
    assert set(table.index) == {"mae-s", "mae-s-100", "gpt", "raw", "reality"}
    assert table.loc["mae-s", "nearest"] == "GPT, GPT untrained"
    assert table.loc["mae-s", "skill"] == "shares 50%"
    assert table.loc["gpt", "skill"].endswith(": 0.40")
    assert table.loc["reality", "skill"] == ""
    assert table["followed"].to_dict() == {
        "mae-s": True,
        "mae-s-100": True,
        "gpt": False,
        "raw": False,
        "reality": False,
    }


def test_copies_along_a_training_are_joined_in_the_order_of_their_steps():
    lines = [trace for trace in drawn().data if trace.mode == "lines"]
    assert [list(trace.x) for trace in lines] == [[1.0, 0.0]]  # 100 steps, then 1000


@pytest.mark.parametrize("color", [*NAMED, *SCALED])
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_every_color_draws_every_model_once_with_its_name_to_be_clicked(color, mode):
    figure = drawn(color=color, mode=mode)
    assert sorted(name for trace in marks(figure) for (name,) in trace.customdata) == sorted(
        points()["model"]
    )
    assert not figure.layout.xaxis.showticklabels
    assert not figure.layout.yaxis.showticklabels


def test_competence_is_a_scale_of_ranks_and_what_was_not_measured_is_hollow():
    figure = drawn(color="rank")
    assert [
        trace.customdata.tolist() for trace in marks(figure) if isinstance(trace.marker.color, str)
    ] == [[["reality"]]]
    ranked = {
        name: value
        for trace in marks(figure)
        if not isinstance(trace.marker.color, str)
        for (name,), value in zip(trace.customdata, trace.marker.color, strict=True)
    }
    assert ranked == {"mae-s": 1.0, "mae-s-100": 0.0, "gpt": 1.0, "raw": 0.0}


def test_steps_are_logarithmic_and_an_untrained_model_is_hollow():
    figure = drawn(color="step")
    hollow = {
        name
        for trace in marks(figure)
        if isinstance(trace.marker.color, str)
        for (name,) in trace.customdata
    }
    assert hollow == {"raw", "reality"}
    assert figure.layout.coloraxis.colorbar.ticktext == ("100", "200", "500", "1k", "2k")
    assert figure.layout.coloraxis.colorbar.tickvals[0] == pytest.approx(2.0)


def test_the_hover_card_is_the_model_card_with_its_nearest_models_escaped():
    card = next(trace for trace in marks(drawn()) if trace.name == "MAE").hovertext[1]
    assert "<b>MAE &lt;s&gt;</b> (100k)<br>ViT, MAE, after 1,000 steps<br>shares 50%" in card
    assert "nearest: GPT, GPT untrained" in card
    assert "mae-s</span>" in card


@pytest.mark.parametrize(("factor", "length"), [(1.0, 1.0), (0.01, 0.01), (4.0, 1.0), (5.0, 10.0)])
def test_a_map_of_distances_has_a_bar_of_a_round_one_as_its_scale(factor, length):
    table = points()  # as wide and as high as 4
    figure = model_map(
        table.assign(x=table["x"] * factor, y=table["y"] * factor),
        color="group",
        distance="−log(a)",
        mode="light",
    )
    bar = figure.data[-1]
    assert bar.x[1] - bar.x[0] == pytest.approx(length)
    assert bar.y[0] == bar.y[1] < table["y"].min()
    assert words(figure) == f"−log(a) {length:g}"


def small_tree(**changed):
    scores = np.array([[np.nan, 0.9, 0.1], [0.9, np.nan, 0.2], [0.1, 0.2, np.nan]])
    branches = pd.DataFrame(
        {
            "branch": [0] * 4 + [1] * 4,
            "x": [0, 0, 1, 1, 0.5, 0.5, 2, 2],
            "y": [0, 0.1, 0.1, 0, 0.1, 2, 2, 0],
        }
    )
    look = {"label": "alignment", "aligned_high": True, "mode": "light"}
    return tree(
        scores,
        branches,
        leaves(["A <a>", "B", "C" * 60], ["MAE", "MAE", "CLIP"]),
        **{**look, **changed},
    )


def leaves(titles, groups):
    return pd.DataFrame({"title": titles, "group": groups})


def test_the_tree_stands_beside_the_rows_of_the_matrix():
    brackets, cells = small_tree().data
    assert list(brackets.y) == [
        0,
        0,
        1,
        1,
        None,
        0.5,
        0.5,
        2,
        2,
        None,
    ]  # leaves run down, distances to the left
    assert list(brackets.x) == [0, 0.1, 0.1, 0, None, 0.1, 2, 2, 0, None]
    assert cells.z[0][1] == 0.9
    assert list(cells.x) == list(cells.y) == ["A &lt;a&gt;", "B", "C" * 60]
    figure = small_tree()
    assert figure.layout.yaxis.range == figure.layout.yaxis2.range == (2.5, -0.5)
    assert figure.layout.xaxis.autorange == "reversed"
