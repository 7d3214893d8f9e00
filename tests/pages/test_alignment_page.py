"""The Alignment page: its axis, panels and colors follow the person, its layers have names."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from core.study.selections import encode
from tests.pages.seen import charts
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, add_features, build


def spec(app, key: str) -> dict:
    return json.loads(next(one for one in app.get("plotly_chart") if one.key == key).proto.spec)


def heads(app) -> list[str]:
    """Return the headings of the trend's panels."""
    texts = [note["text"] for note in spec(app, "trend")["layout"]["annotations"]]
    return [text.partition("</b>")[0].removeprefix("<b>") for text in texts if "<b>" in text]


def test_the_axis_may_hold_parameters_on_a_logarithmic_scale(opened, demo):
    app = opened(demo, "trends/across", axis="parameters")
    assert not app.exception
    layout = spec(app, "trend")["layout"]
    assert layout["xaxis"]["type"] == "log"
    assert '"text": "parameters"' in json.dumps(layout)
    cards = [card for trace in spec(app, "trend")["data"] for card in trace.get("hovertext", [])]
    assert any("parameters 100k" in card or "parameters 1" in card for card in cards)


def test_panels_and_colors_group_by_what_is_chosen(opened, demo):
    app = opened(demo, "trends/across", panels="none", color="size", y=["vit-clip-m", "vit-mae-m"])
    assert not app.exception
    assert heads(app) == ["All models"]
    names = {
        trace["name"]
        for trace in spec(app, "trend")["data"]
        if trace.get("showlegend", True) and "name" in trace
    }
    assert "no size known" in names  # these models were made without a config


def test_vision_models_may_stand_on_the_axis_and_language_models_in_panels(opened, demo):
    chosen = {"axis_models": "vision", "axis": "parameters", "y": ["gpt-2-m", "gpt-2-s"]}
    app = opened(demo, "trends/across", **chosen)
    assert not app.exception
    assert heads(app) == ["GPT-2"]
    groups = {trace["legendgroup"] for trace in spec(app, "trend")["data"] if "customdata" in trace}
    assert {"MAE", "CLIP"} <= groups
    (line,) = (code.value for code in app.code if code.value.startswith("platoscope align --y"))
    assert "--axis-models vision --axis parameters" in line


@pytest.mark.slow
def test_the_ceiling_is_drawn_where_recipes_were_trained_twice(opened, twice):
    app = opened(twice, "trends/across", vertical="share")
    assert not app.exception
    entries = [trace["name"] for trace in spec(app, "trend")["data"] if trace.get("name")]
    assert any(name.startswith("ceiling 1") for name in entries)
    table = app.dataframe[0].value
    shared = table["share of the way"].notna()
    assert shared.any()
    assert set(table.loc[~shared, "compared with"]) == {"Reality"}


@pytest.mark.parametrize("view", ["map", "profiles"])
def test_all_layers_side_by_side_are_a_layer_of_the_map_and_stand_for_no_other_model(
    opened, demo, view
):
    chosen = {"layer_view": view, "pair_x": "gpt-2-m", "pair_y": "vit-clip-m"}
    app = opened(demo, "trends/across", **chosen, **{"as": "paper"})
    assert not app.exception
    assert "layer-map" in charts(app)
    assert all("side by side" not in one for one in app.selectbox(key="layer_x").options)


@pytest.mark.slow
def test_layers_have_profiles_over_depth_and_two_of_them_stand_for_all_models(opened, demo):
    app = opened(
        demo, "trends/across", layer_view="profiles", pair_x="gpt-2-m", pair_y="vit-clip-m"
    )
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


def test_alignment_draws_the_trend_and_the_layers_of_the_best_pair(opened, demo):
    app = opened(demo, "trends/across")
    assert len(app.get("plotly_chart")) == 2
    assert app.selectbox(key="pair_x").value == "llama-m"
    assert app.selectbox(key="pair_y").value == "vit-clip-m"
    assert app.number_input(key="k").max == 59


def test_reality_is_one_of_the_models_to_compare_with(opened, demo):
    app = opened(demo, "trends/across")
    assert "Reality" in app.multiselect(key="y").options
    assert "Reality" in set(app.dataframe[0].value["compared with"])
    app.multiselect(key="y").set_value(["reality"]).run()
    assert set(app.dataframe[0].value["compared with"]) == {"Reality"}
    assert any("--y reality" in code.value for code in app.code)


@pytest.mark.slow
def test_a_dataset_with_fewer_stimuli_pulls_k_down(opened, tmp_path):
    for size, name in ((40, "cave"), (5, "few")):
        dataset = PaintedDataset(size, name=name, title=name.title())
        build(tmp_path, dataset, vision=VISION[:1], language=LANGUAGE[:1], reality=False)
    app = opened(tmp_path, "trends/across")
    app.number_input(key="k").set_value(30).run()
    app.selectbox(key="dataset").set_value("few").run()
    assert not app.exception
    assert app.number_input(key="k").value <= 4


@pytest.mark.slow
def test_alignment_by_any_metric_on_a_part_of_the_stimuli_calibrated(opened, demo, tmp_path):
    store = tmp_path / "store"
    shutil.copytree(demo, store)
    app = opened(store, "trends/across")
    app.selectbox(key="metric").set_value("cka")
    app.selectbox(key="null").set_value(100)
    app.multiselect(key="where").set_value(["scene=forest"]).run()
    assert not app.exception
    assert charts(app) == ["trend", "layer-map"]
    command = app.get("code")[0].value
    assert "--metric cka" in command
    assert "--null 100" in command
    assert "--where scene=forest" in command
    assert "--k" not in command
    table = app.dataframe[0].value
    assert table["p"].between(1 / 101, 1).all()
    assert (table["stimuli"] == 20).all()


def test_alignment_on_a_set_of_stimuli_from_a_link_which_can_be_left(opened, demo):
    app = opened(demo, "trends/across", stimuli=encode(range(25), 60))
    assert not app.exception
    assert (app.dataframe[0].value["stimuli"] == 25).all()
    assert f"--stimuli {encode(range(25), 60)}" in app.get("code")[0].value
    assert app.button(key="drop-stimuli").label == "25 of 60 stimuli"
    app.button(key="drop-stimuli").click().run()
    assert (app.dataframe[0].value["stimuli"] == 60).all()


@pytest.mark.parametrize("modality", [pytest.param("vision", marks=pytest.mark.slow), "language"])
def test_a_model_that_holds_one_vector_only_is_left_out_once_with_its_reason(
    opened, small, tmp_path, modality
):
    shutil.copytree(small(40), tmp_path, dirs_exist_ok=True)
    dataset = PaintedDataset(40)
    add_features(
        tmp_path, dataset, dataset.reality * 0 + 1, title="Flat", name="flat", modality=modality
    )
    app = opened(tmp_path, "trends/across")
    assert not app.exception
    reasons = [one.value for one in app.caption if "flat" in one.value]
    assert ["this space has no neighbors" in reason for reason in reasons] == [True]
