"""The Library: what is in the store, its titles, and what a deletion takes away."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from core.store import Store, locked
from pages._shared.frame import UNSEEN
from tests.pages.seen import said
from tests.pages.world import NASTY


@pytest.fixture
def store(small, tmp_path) -> Path:
    return Path(shutil.copytree(small(40), tmp_path / "store"))


def texts(app) -> str:
    return " ".join(text.value for text in (*app.markdown, *app.caption)).replace("\\", "")


def headings(app) -> list[str]:
    return [one.value.replace("\\", "").replace(UNSEEN, "") for one in app.header]


def rows(app, column: str = "model") -> list[object]:
    return app.dataframe[0].value[column].tolist()


def state(root: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in root.rglob("*") if path.is_file()}


def delete(app, key: str):
    """Open the confirmation that a button asks for."""
    return app.button(key=key).click().run()


def rename(app, before: str, title: str) -> None:
    """Change a title in its field, which has the one before."""
    (field,) = (one for one in app.text_input if one.label == "Title")
    assert field.value == before
    field.set_value(title)
    next(one for one in app.button if one.label == "Rename").click().run()


def test_models_are_listed_and_searched(opened, demo):
    app = opened(demo, "data/models")
    table = app.dataframe[0].value
    assert len(table) == 13
    sizes = [path.stat().st_size for path in (demo / "embeddings" / "cave").glob("*.duckdb")]
    assert sorted(table["size"]) == sorted(sizes)
    row = table.set_index("model").loc["GPT-2 M"]
    assert row[["family", "modality", "parameters", "layers", "dims", "device"]].tolist() == [
        "GPT-2",
        "language",
        1_100_000,
        4,
        "9",
        "cpu",
    ]
    assert row["time"] == 0.1
    app.text_input(key="search").set_value("mae vit s").run()
    assert rows(app) == ["ViT S · MAE"]
    assert "1 of 13 models" in texts(app)
    app.text_input(key="search").set_value("no such model").run()
    assert "None of 13 models passes" in texts(app)
    assert not app.exception


def test_an_open_model_shows_its_card_layers_competence_recipe_and_command(opened, demo):
    app = opened(demo, "data/models", model="gpt-2-m")
    assert not app.exception
    assert headings(app) == ["GPT-2 M"]
    assert all(part in texts(app) for part in ("**Family** GPT-2", "**Parameters** 1.1M", "cpu"))
    layers, competence = (one.value for one in app.dataframe)
    assert layers["layer"].tolist() == ["embedding", "block 1", "block 2", "block 3"]
    assert layers["dims"].tolist() == [9] * 4
    assert competence["value"].between(0, 1).all()
    codes = [code.value for code in app.code]
    embed = "platoscope embed --dataset cave --model hf:gpt-2-m --caption-level 20 --store"
    assert any(code.startswith(embed) for code in codes)
    assert any('"model": "gpt-2-m"' in code for code in codes)
    app.selectbox(key="model").set_value("").run()
    assert len(rows(app)) == 13
    assert "model" not in app.query_params


def test_a_new_title_is_on_every_page_at_once(opened, store):
    app = opened(store, "data/models", model="gpt-2-m")
    rename(app, "GPT-2 M", f"  {NASTY[:60]} ")
    assert not app.exception
    assert Store(store).model("cave", "gpt-2-m").card.title == NASTY[:60]
    assert headings(app) == [NASTY[:60]]
    assert not any(one.value.startswith("<img") for one in app.markdown)
    assert NASTY[:60] in app.multiselect(key="chosen").options
    table = opened(store, "trends/across").dataframe[0].value
    assert NASTY[:60] in table["model x"].tolist()
    app = opened(store, "data/models", view="datasets")
    rename(app, "The Cave", "My cave")
    assert app.selectbox(key="dataset").options == ["My cave"]


@pytest.mark.slow
def test_a_deletion_names_what_goes_and_every_page_goes_on(opened, store):
    opened(store, "models/map", layout="mds")  # keeps neighbors, pairs and a map
    page = opened(store, "models/map", layout="mds", chosen="gpt-2-m")
    app = delete(opened(store, "data/models", model="gpt-2-m"), "delete-model")
    said_of_it = texts(app)
    assert "neighbors (1)" in said_of_it
    assert "kept answers (" in said_of_it
    command = f"platoscope model delete gpt-2-m --dataset cave --store {store} --yes"
    assert command in [code.value for code in app.code]
    app.button(key="confirm-deletion").click().run()
    assert not app.exception
    assert [one.card.name for one in Store(store).models("cave") if "gpt" in one.card.name] == [
        "gpt-2-s",
        "gpt-2-xs",
    ]
    assert "GPT-2 M" not in rows(app)
    assert "Deleted “GPT-2 M”" in app.toast[0].value.replace("\\", "")
    page.run()
    assert not page.exception
    assert "GPT-2 M" not in page.multiselect(key="chosen").options


def test_what_is_being_written_stays_and_says_so(opened, store):
    app = delete(opened(store, "data/models", model="gpt-2-m"), "delete-model")
    with locked(store / "embeddings" / "cave" / "gpt-2-m.duckdb"):
        app.button(key="confirm-deletion").click().run()
    assert "is writing 'gpt-2-m'" in said(app)
    assert headings(app) == ["GPT-2 M"]


def test_results_are_listed_and_stale_ones_deleted(opened, store):
    opened(store, "models/map", layout="mds")
    (store / "embeddings" / "cave" / "gpt-2-s.duckdb").unlink()
    app = opened(store, "data/models", view="results")
    assert {"fresh", "stale"} == set(rows(app, "state"))
    assert "How aligned is each pair of models, and do models form groups?" in rows(app, "result")
    app.button(key="delete-results").click().run()
    app.button(key="confirm-deletion").click().run()
    assert not app.exception
    assert set(rows(app, "state")) == {"fresh"}
    assert "Neighbors: gpt-2-m" in rows(app, "result")
