"""The Models page's figures from small tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.figures.theme import hue
from core.questions.models.figures import CHECKPOINT, NAMED, SCALED, STAR, model_map
from core.questions.models.map_table import NEAREST
from core.questions.models.points import map_points
from core.questions.models.tree_figures import shorten, tree
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
    competence = pd.DataFrame({"model": ["gpt", "raw"], "value": [0.4, -0.2]})
    solved = pd.DataFrame({"model": ["mae-s", "mae-s-100"], "solved": [0.5, 0.25]})
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
    assert table.loc["mae-s", "skill"] == "solves 50 % of the vision tasks"
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


def test_a_checkpoint_is_smaller_than_what_came_of_it():
    table = points()
    of_one = table.assign(parameters=1e6, copy=table["model"] == table["model"].iloc[0])
    figure = model_map(of_one, color="group", mode="light")
    sizes = {
        name: size
        for trace in marks(figure)
        for (name,), size in zip(trace.customdata, trace.marker.size, strict=True)
    }
    small, *others = (sizes[name] for name in of_one["model"])
    assert small == pytest.approx(CHECKPOINT * others[0])
    assert set(others) == {others[0], STAR}  # the world has no size


@pytest.mark.parametrize("color", [*NAMED, *SCALED])
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_every_color_draws_every_model_once_with_its_name_to_be_clicked(color, mode):
    figure = drawn(color=color, mode=mode)
    assert sorted(name for trace in marks(figure) for (name,) in trace.customdata) == sorted(
        points()["model"]
    )
    assert not figure.layout.xaxis.showticklabels
    assert not figure.layout.yaxis.showticklabels


def test_objective_and_family_are_hues_in_the_symbol_of_the_modality():
    by_name = {trace.name: trace for trace in marks(drawn())}
    assert by_name["MAE"].marker.color == hue("MAE", "light")
    assert set(by_name["MAE"].marker.symbol) == {"square"}
    assert set(by_name["GPT-2"].marker.symbol) == {"circle"}
    assert set(by_name["Reality"].marker.symbol) == {"star"}
    assert {trace.name for trace in marks(drawn(color="family"))} == {"ViT", "GPT-2", "World"}


def test_a_legend_of_many_names_is_cut_and_says_so():
    many = pd.concat([points()] * 5, ignore_index=True)
    many = many.assign(model=[f"m{i}" for i in range(25)], group=[f"group {i}" for i in range(25)])
    figure = model_map(many, color="group", mode="light")
    assert len(marks(figure)) == 25
    named = [trace.name for trace in figure.data if trace.showlegend is not False and trace.name]
    assert len(named) == 19
    assert named[-1] == "and 7 more: point at them"


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


def test_a_scale_of_which_nothing_is_known_is_not_shown():
    assert not model_map(
        points().assign(step=np.nan), color="step", mode="light"
    ).layout.coloraxis.showscale


def test_the_hover_card_is_the_model_card_with_its_nearest_models_escaped():
    card = next(trace for trace in marks(drawn()) if trace.name == "MAE").hovertext[1]
    assert "<b>MAE &lt;s&gt;</b> (100k)<br>ViT, MAE, after 1,000 steps<br>solves 50 %" in card
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


def test_named_models_get_their_title_and_no_ring():
    assert words(drawn()) == ""
    figure = drawn(named=["mae-s", "flat"])  # the second has no place
    assert words(figure) == "MAE &lt;s&gt;"
    assert len(figure.data) == len(drawn().data)


def test_the_world_is_a_star_that_can_be_seen():
    figure = drawn()
    stars = [trace for trace in figure.data if "star" in (trace.marker.symbol or ())]
    assert [trace.marker.size for trace in stars] == [(STAR,)]


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


def test_rows_are_named_in_the_color_of_their_group_and_long_names_are_cut():
    labels = small_tree().layout.yaxis2.ticktext
    assert labels[0] == f"<span style='color:{hue('MAE', 'light')}'>■</span> A &lt;a&gt;"
    assert "…" in labels[2]
    assert len(small_tree(narrow=True).layout.yaxis2.ticktext[2]) < len(labels[2])


def test_where_low_is_aligned_the_scale_is_turned():
    dark = small_tree().data[1].colorscale[-1][1]
    assert small_tree(aligned_high=False).data[1].colorscale[0][1] == dark


def test_150_names_are_at_least_ten_pixels_high():
    count = 150
    scores = np.full((count, count), 0.5)
    names = [f"model {i}" for i in range(count)]
    branches = pd.DataFrame({"branch": [0] * 4, "x": [0, 0, 1, 1], "y": [0, 1, 1, 0]})
    figure = tree(
        scores, branches, leaves(names, names), label="a", aligned_high=True, mode="light"
    )
    assert figure.layout.yaxis2.tickfont.size >= 10
    assert (figure.layout.height - 120) / count >= figure.layout.yaxis2.tickfont.size * 1.1


def test_no_alignment_draws_its_reason():
    nothing = tree(
        np.full((2, 2), np.nan),
        pd.DataFrame(),
        leaves(["a", "b"], ["a", "b"]),
        label="a",
        aligned_high=True,
        mode="dark",
    )
    assert "No two of these models" in words(nothing).replace("<br>", " ")


def test_titles_of_one_training_still_differ_when_cut():
    cut = {shorten(f"ViT S · supervised after {steps} steps", 20) for steps in (75, 200, 1500)}
    assert len(cut) == 3
    assert all(len(title) == 20 for title in cut)
    assert shorten("GPT", 20) == "GPT"
