"""The figures of models from small tables."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist

from core.questions.models.figures import WIDE, map_names, tree, turned
from core.questions.models.question import Coloring, ModelMap


def placed() -> pd.DataFrame:
    rows = [
        ("mae-s", "MAE <s>", "vision", "ViT", "MAE", "MAE", 1e5, "mae-s", 1000.0, 1.0, ""),
        ("mae-s-100", "MAE after 100", "vision", "ViT", "MAE", "MAE", 1e5, "mae-s", 100.0, 0.0, ""),
        ("gpt", "GPT", "language", "GPT-2", "language", "GPT-2", 1e6, "gpt", 2000.0, 1.0, ""),
        ("raw", "GPT 0", "language", "GPT-2", "untrained", "untrained", 1e6, "raw", 0.0, 0.0, ""),
        ("reality", "Reality", "world", "world", "reality", "reality", *[np.nan] * 4, ""),
        ("flat", "Flat", "vision", "ViT", "MAE", "MAE", np.nan, "flat", np.nan, np.nan, "constant"),
    ]
    rows[4] = (*rows[4][:7], "reality", np.nan, np.nan, "")
    names = ["model", "title", "modality", "family", "objective", "group", "parameters", "run"]
    table = pd.DataFrame(rows, columns=[*names, "step", "rank", "reason"])
    table["copy"] = table["model"] == "mae-s-100"
    return table.assign(x=range(6), y=range(6), skill="shares 50%", near="GPT, <GPT> 0")


def drawn(mode: str = "light", **changed: str):
    return ModelMap(**{"color": "group", **changed}).plot(placed()).draw(mode)


def marks(figure) -> list:
    return [
        trace for trace in figure.data if trace.customdata is not None and len(trace.customdata)
    ]


def test_checkpoints_of_a_training_are_joined_in_the_order_of_their_steps():
    figure = drawn()
    line = next(trace for trace in figure.data if trace.mode == "lines")
    at = {
        name: x
        for trace in marks(figure)
        for (name,), x in zip(trace.customdata, trace.x, strict=True)
    }
    places = list(line.x)
    first = places.index(at["mae-s-100"])
    assert places[first : first + 2] == [at["mae-s-100"], at["mae-s"]]  # 100 steps, then 1000


def test_a_map_is_turned_into_its_frame_and_keeps_its_distances():
    rng = np.random.default_rng(0)
    tall = rng.normal(size=(30, 2)) * [1.0, 5.0]
    found = turned(tall)
    np.testing.assert_allclose(pdist(found), pdist(tall))
    across, up = np.ptp(found, axis=0)
    assert across > WIDE * up
    assert len(turned(tall[:1])) == 1


def test_the_map_names_modalities_groups_reality_the_model_nearest_to_it_and_the_selected():
    table = placed()[:5].assign(named=[False] * 3 + [True, False], nearest_1="gpt")
    names = map_names(table, "group").set_index("model")["label"]
    assert names["mae-s"] == "MAE"  # of its largest fully trained model
    assert (names["mae-s-100"], names["raw"]) == ("", "GPT 0")  # selected
    assert (names["reality"], names["gpt"]) == ("Reality", "GPT")  # the nearest to reality
    unknown = table.assign(group=table["group"].replace("MAE", "vision models"))
    own = map_names(unknown, "group").set_index("model")["label"]
    assert own["mae-s"] == unknown.set_index("model")["title"]["mae-s"]  # of no known kind
    heads = map_names(table, "group").query("head")
    assert list(heads["label"]) == ["VISION", "LANGUAGE"]
    texts = [text for trace in drawn().data if trace.text is not None for text in trace.text]
    assert {"Reality", "<b>VISION</b>"} <= set(texts)


@pytest.mark.parametrize("color", get_args(Coloring))
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_every_color_draws_every_placed_model_once_with_its_name_to_be_clicked(color, mode):
    figure = drawn(mode, color=color)
    assert sorted(name for trace in marks(figure) for (name,) in trace.customdata) == sorted(
        ["mae-s", "mae-s-100", "gpt", "raw", "reality"]
    )
    assert not figure.layout.xaxis.showticklabels
    assert figure.layout.yaxis.scaleanchor == "x"


def test_what_was_not_measured_is_hollow_and_steps_are_logarithmic():
    for color, hollow in (("rank", {"reality"}), ("step", {"reality", "raw"})):
        found = {
            name
            for trace in marks(drawn(color=color))
            if isinstance(trace.marker.color, str)
            for (name,) in trace.customdata
        }
        assert found == hollow
    axis = drawn(color="step").layout.coloraxis
    assert (axis.cmin, axis.cmax) == pytest.approx((2.0, np.log10(2000)))
    assert axis.colorbar.ticktext[0] == "100"


def test_the_hover_card_has_the_nearest_models_escaped():
    card = next(trace for trace in marks(drawn()) if trace.legendgroup == "MAE").hovertext
    assert any("MAE &lt;s&gt;" in one and "after 1,000 steps" in one for one in card)
    assert all("nearest: GPT, &lt;GPT&gt; 0" in one for one in card)


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
