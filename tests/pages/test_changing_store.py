"""Two people change the store beneath a third, who clicks on: what was there a moment ago is gone,
renamed or another, and every page says so in a sentence.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.store import (
    Store,
    carry_out,
    delete_results,
    plan_dataset_deletion,
    plan_model_deletion,
    rename_dataset,
    rename_model,
)
from core.store.editing import results_over
from tests.pages.seen import said
from tests.pages.world import VISION, PaintedDataset, build

Change = Callable[[Path], object]


def delete_model(root: Path) -> None:
    carry_out(root, plan_model_deletion(root, "cave", "vit-clip-m"))


def delete_dataset(root: Path) -> None:
    carry_out(root, plan_dataset_deletion(root, "cave"))


def delete_answers(root: Path) -> None:
    made = {one.name: one.made_at for one in results_over(root, "cave")}
    delete_results(root, "cave", made)


def replace_dataset(root: Path) -> None:
    """Put a dataset of the same name and of another size in its place, without models."""
    build(root, PaintedDataset(12), vision=(), language=(), reality=False)


def vanish(root: Path) -> None:
    root.rename(root.with_name("elsewhere"))


CHANGES: dict[str, Change] = {
    "a model is deleted": delete_model,
    "the dataset is deleted": delete_dataset,
    "answers are deleted": delete_answers,
    "the dataset is renamed": lambda root: rename_dataset(root, "cave", "<b>Another</b>"),
    "a model is renamed": lambda root: rename_model(root, "cave", "vit-clip-m", "$x$ :red[x]"),
    "a model comes": lambda root: build(root, PaintedDataset(40), vision=VISION[:1], language=()),
    "another dataset takes its place": replace_dataset,
    "the store vanishes": vanish,
}
CLICKS: dict[str, tuple[str, dict[str, str], Callable[[AppTest], AppTest]]] = {
    "alignment": ("trends/across", {}, lambda app: app.number_input(key="k").set_value(7).run()),
    "models": (
        "models/table",
        {"chosen": "vit-clip-m"},
        lambda app: app.number_input(key="k").set_value(7).run(),
    ),
    "stimulus": (
        "images/explore",
        {"stimulus": "39"},
        lambda app: app.number_input(key="k").set_value(7).run(),
    ),
    "open model": (
        "data/models",
        {"model": "vit-clip-m"},
        lambda app: app.button(key="delete-model").click().run(),
    ),
    "dataset": (
        "data/datasets",
        {},
        lambda app: app.button(key="delete-dataset").click().run(),
    ),
    "results": ("data/results", {}, lambda app: app.run()),
    "form": ("data/models", {"add": "models", "models_from": "hub"}, lambda app: app.run()),
}
QUICK = {
    "open model": ("a model is deleted", "the dataset is deleted"),
    "dataset": ("another dataset takes its place",),
    "results": ("the store vanishes",),
}


@pytest.fixture
def store(small, tmp_path) -> Path:
    return Path(shutil.copytree(small(40), tmp_path / "store"))


@pytest.mark.parametrize(
    ("click", "changes"),
    [*QUICK.items(), *(pytest.param(one, CHANGES, marks=pytest.mark.slow) for one in CLICKS)],
)
def test_a_click_on_what_has_changed_meanwhile_is_answered(opened, small, tmp_path, click, changes):
    page, query, press = CLICKS[click]
    for change in changes:
        store = Path(shutil.copytree(small(40), tmp_path / change / "store"))
        app = opened(store, page, **query)
        assert not app.exception
        CHANGES[change](store)
        press(app)
        assert not app.exception, change
        assert app.title
        app.run()
        assert not app.exception, change


def test_a_deletion_is_refused_once_another_has_deleted_it(opened, store):
    app = opened(store, "data/models", model="vit-clip-m")
    app.button(key="delete-model").click().run()
    delete_model(store)
    app.button(key="confirm-deletion").click().run()
    assert not app.exception
    assert "vit-clip-m" in said(app)
    assert len(Store(store).models("cave")) == 6


def test_a_title_is_not_given_to_what_another_has_deleted(opened, store):
    app = opened(store, "data/models", model="vit-clip-m")
    title = next(one for one in app.text_input if one.label == "Title")
    title.set_value("mine")
    delete_model(store)
    next(one for one in app.button if one.label == "Rename").click().run()
    assert not app.exception
    assert "vit-clip-m" in said(app)


def test_a_store_that_vanishes_and_comes_back_is_shown_again(opened, store):
    app = opened(store, "trends/across")
    options = app.multiselect(key="y").options
    vanish(store)
    app.run()
    assert not app.exception
    assert "is empty" in said(app)
    store.with_name("elsewhere").rename(store)
    app.run()
    assert not app.exception
    assert not said(app)
    assert app.multiselect(key="y").options == options


def test_a_store_that_is_a_file_is_a_sentence(opened, tmp_path):
    (tmp_path / "store").write_text("no store")
    app = opened(tmp_path / "store", "trends")
    assert not app.exception
    assert said(app)
