"""The Models page: the map, the tree, the table, and two models compared."""

from __future__ import annotations

import shutil

import pytest

from tests.pages.seen import charts, tiles
from tests.pages.world import NASTY, PaintedDataset, add_features


def texts(app) -> str:
    return " ".join(text.value for text in app.markdown).replace("\\", "")


def codes(app) -> list[str]:
    return [code.value for code in app.code]


def pick(app, key: str, value: str):
    return next(group for group in app.segmented_control if group.key == key).set_value(value)


@pytest.fixture
def on_the_map(opened, demo):
    return opened(demo, "models/map", layout="mds")


def test_it_draws_the_map_and_the_tree_and_says_how_far_they_can_be_believed(on_the_map):
    app = on_the_map
    assert not app.exception
    assert charts(app) == ["model-map"]
    assert "Stress of the map (0." in texts(app)
    assert "of models are closest to one of their own modality (" in texts(app)
    assert any("models map --store" in code for code in codes(app))
    pick(app, "tab", "tree").run()
    assert not app.exception
    assert charts(app) == ["tree"]
    assert "cophenetic correlation" in texts(app)


@pytest.mark.slow
def test_the_world_and_unfinished_models_can_be_left_out(on_the_map):
    app = on_the_map
    app.toggle(key="world").set_value(False).run()
    assert "n\u00a0=\u00a012)" in texts(app)
    assert any("models map --no-world --store" in code for code in codes(app))
    app.toggle(key="unfinished").set_value(False).run()
    assert "n\u00a0=\u00a011)" in texts(app)
    pick(app, "tab", "tree").run()
    assert any("models pairs --no-unfinished --no-world" in code for code in codes(app))
    assert not app.exception


def test_two_models_are_compared_by_every_metric_layer_and_image(opened, demo):
    app = opened(demo, "models/compare", chosen=["vit-mae-m", "gpt-2-m"], stimulus="3")
    assert not app.exception
    assert charts(app)[:2] == ["all-metrics", "layer-map"]
    assert [app.selectbox(key=key).value for key in "ab"] == ["vit-mae-m", "gpt-2-m"]
    assert "aligned than other pairs" in texts(app)
    assert [tile["index"] for tile in tiles(app, "asked")] == [3]
    first, second = (tiles(app, side) for side in "ab")
    assert len(first) == len(second) == 10
    both = {tile["index"] for tile in first} & {tile["index"] for tile in second}
    assert all(tile["marked"] == (tile["index"] in both) for tile in (*first, *second))
    facts = app.dataframe[0].value.set_index("")
    assert list(facts.columns) == ["ViT M · MAE", "GPT-2 M"]
    assert facts.loc["modality", "GPT-2 M"] == "language"
    assert any("1 - bits per byte" in task for task in facts.index)
    assert any("--layers all" in code and "--x vit-mae-m" in code for code in codes(app))
    app.selectbox(key="a").set_value("gpt-2-m").run()
    assert not app.exception
    assert "two different models" in " ".join(one.value for one in app.info)


@pytest.mark.slow
def test_an_imported_model_with_a_nasty_name_is_drawn_as_text_and_one_without_neighbors_is_left_out(
    opened, small, tmp_path
):
    dataset = PaintedDataset(40)
    shutil.copytree(small(40), tmp_path, dirs_exist_ok=True)
    add_features(tmp_path, dataset, dataset.reality, title=NASTY)
    add_features(tmp_path, dataset, dataset.reality * 0 + 1, name="flat", title="Flat")
    app = opened(tmp_path, "models/map", layout="mds", chosen="own")
    assert not app.exception
    assert charts(app) == ["model-map"]
    assert not any("onerror" in text.value for text in app.markdown)
    assert any(
        "Left out: Flat, no score with" in text.value.replace("\\", "") for text in app.caption
    )


@pytest.fixture
def tabulated(opened, demo):
    return opened(demo, "models/map", view="table")


def rows(app) -> list[str]:
    """Return the titles in the table of models."""
    return app.dataframe[0].value["title"].tolist()


def test_the_table_has_a_row_per_model_with_its_alignment_by_layer(tabulated):
    app = tabulated
    assert not app.exception
    assert charts(app) == []
    table = app.dataframe[0].value
    assert len(table) == 13
    assert {"reality", "vision models", "language models", "skill", "solved", "lines"} <= set(table)
    assert table.dropna(subset="rank")["ranks"].str.fullmatch(r"\d+–\d+").all()
    assert table.loc[table["lines"].isna(), "title"].tolist() == ["Reality"]  # it is the target
    assert all(len(line) > 1 for line in table["lines"].dropna())
    assert "Most similar pair of different setups" in texts(app)
    assert table["closest_score"].iloc[:-1].is_monotonic_decreasing  # the last is reality itself
    assert set(table["closest"].iloc[:-1]) <= set(table["title"].iloc[:-1])
    assert any(code.startswith("platoscope models table") for code in codes(app))


def test_two_models_are_at_first_the_closest_ones_of_the_table(opened, demo, tabulated):
    first = tabulated.dataframe[0].value.iloc[0]
    app = opened(demo, "models/compare")
    options = {key: app.selectbox(key=key) for key in "ab"}
    titles = {one.format_func(one.value) for one in options.values()}
    assert titles == {first["title"], first["closest"]}


def test_the_table_is_searched(tabulated):
    app = tabulated
    app.text_input(key="search").set_value("gpt").run()
    assert rows(app) == ["GPT-2 M", "GPT-2 S", "GPT-2 XS"]
    app.text_input(key="search").set_value("vision mae").run()
    assert rows(app) == ["ViT M · MAE", "ViT S · MAE"]
    assert not app.exception
