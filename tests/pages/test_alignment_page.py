"""The Alignment page: its axis, panels and colors follow the person, its layers have names."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.pages.seen import charts
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build


def spec(app, key: str) -> dict:
    return json.loads(next(one for one in app.get("plotly_chart") if one.key == key).proto.spec)


def heads(app) -> list[str]:
    """Return the headings of the trend's panels."""
    texts = [note["text"] for note in spec(app, "trend")["layout"]["annotations"]]
    return [text.partition("</b>")[0].removeprefix("<b>") for text in texts if "<b>" in text]


def test_the_axis_may_hold_parameters_on_a_logarithmic_scale(opened, demo):
    app = opened(demo, "alignment", axis="parameters")
    assert not app.exception
    assert app.title[0].value == "Does alignment rise with size?"
    layout = spec(app, "trend")["layout"]
    assert layout["xaxis"]["type"] == "log"
    assert '"text": "parameters"' in json.dumps(layout)
    cards = [card for trace in spec(app, "trend")["data"] for card in trace.get("hovertext", [])]
    assert any("parameters 100k" in card or "parameters 1" in card for card in cards)


def test_panels_and_colors_group_by_what_is_chosen(opened, demo):
    app = opened(demo, "alignment", panels="none", color="size", y=["vit-clip-m", "vit-mae-m"])
    assert not app.exception
    assert heads(app) == ["All models"]
    names = {
        trace["name"]
        for trace in spec(app, "trend")["data"]
        if trace.get("showlegend", True) and "name" in trace
    }
    assert "no size known" in names  # these models were made without a config


def test_symbols_group_by_something_else_than_colors(opened, demo):
    app = opened(demo, "alignment", symbol="objective")
    assert not app.exception
    groups = {trace["legendgroup"] for trace in spec(app, "trend")["data"] if "customdata" in trace}
    assert groups
    assert all(", " in group for group in groups)


def test_vision_models_may_stand_on_the_axis_and_language_models_in_panels(opened, demo):
    chosen = {"axis_models": "vision", "axis": "parameters", "y": ["gpt-2-m", "gpt-2-s"]}
    app = opened(demo, "alignment", **chosen)
    assert not app.exception
    assert heads(app) == ["GPT-2"]
    groups = {trace["legendgroup"] for trace in spec(app, "trend")["data"] if "customdata" in trace}
    assert {"MAE", "CLIP"} <= groups
    (line,) = (code.value for code in app.code if code.value.startswith("platoscope align --y"))
    assert "--axis-models vision --axis parameters" in line


def test_the_test_of_fine_tuned_copies_is_linked_where_there_are_any(opened, demo, tmp_path):
    tuned = [*VISION[2:4], ("CLIP-fine-tuned", "s", 0.8)]
    store = build(tmp_path, PaintedDataset(30), vision=tuned, language=LANGUAGE[:2])
    linked = [
        [link.proto.label for link in opened(root, "alignment").main.get("page_link")]
        for root in (demo, store)
    ]
    assert linked == [[], ["Does fine-tuning cost alignment?"]]


def test_what_no_model_has_is_said(opened, demo):
    app = opened(demo, "alignment", axis="step", unfinished="false")
    assert not app.exception
    assert charts(app) == ["trend", "layer-map"]


def test_the_ceiling_is_drawn_where_recipes_were_trained_twice(opened, twice):
    app = opened(twice, "alignment", vertical="share")
    assert not app.exception
    entries = [trace["name"] for trace in spec(app, "trend")["data"] if trace.get("name")]
    assert any(name.startswith("ceiling 1") for name in entries)
    table = app.dataframe[0].value
    shared = table["share of the way"].notna()
    assert shared.any()
    assert set(table.loc[~shared, "compared with"]) == {"Reality"}


def test_without_replicates_a_page_says_why_there_is_no_ceiling(opened, demo):
    app = opened(demo, "alignment", axis_models="vision")
    assert app.title[0].value == "Do better vision models agree more with language models?"
    text = " ".join(one.value for one in app.markdown)
    assert "There is no ceiling: no recipe of these models was trained with several seeds" in text


@pytest.mark.parametrize("view", ["map", "profiles"])
def test_all_layers_side_by_side_are_a_layer_of_the_map_and_stand_for_no_other_model(
    opened, demo, view
):
    chosen = {"layer_view": view, "pair_x": "gpt-2-m", "pair_y": "vit-clip-m"}
    app = opened(demo, "alignment", **chosen, **{"as": "paper"})
    assert not app.exception
    assert "layer-map" in charts(app)
    assert all("side by side" not in one for one in app.selectbox(key="layer_x").options)


def test_layers_have_profiles_over_depth_and_two_of_them_stand_for_all_models(opened, demo):
    app = opened(demo, "alignment", layer_view="profiles", pair_x="gpt-2-m", pair_y="vit-clip-m")
    assert not app.exception
    lines = [trace for trace in spec(app, "layer-map")["data"] if trace["mode"] == "lines+markers"]
    assert [line["name"] for line in lines] == ["GPT-2 M", "ViT M · CLIP"]
    app.selectbox(key="layer_x").set_value(1).run()
    app.selectbox(key="layer_y").set_value(0).run()
    next(one for one in app.button if one.label.startswith("Compare all")).click().run()
    assert not app.exception
    assert app.selectbox(key="layers").value == "1:0"
    table = app.dataframe[0].value
    assert set(zip(table["layer"], table["its layer"], strict=True)) - {(1, 0)} <= {
        (1, np.int64(0))
    }
