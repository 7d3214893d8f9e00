"""A fourth modality, known by one line, on every page."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.audio import NAMES, build_with_audio, register
from tests.pages.seen import said
from tests.pages.test_pages import SPEAKS, assert_calm, each_page

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        register(patch)
        return build_with_audio(tmp_path_factory.mktemp("audio"))


@each_page
def test_every_page_opens_over_a_store_with_a_fourth_modality(opened, store, monkeypatch, page):
    register(monkeypatch)
    monkeypatch.setattr("pages._shared.runner.LONGEST_WAIT", 10.0)
    app = opened(store, page.name)
    assert_calm(app)
    assert not said(app) or page.name in SPEAKS


def test_convergence_asks_whether_they_meet(opened, store, monkeypatch):
    register(monkeypatch)
    app = opened(store, "trends/within")
    assert "All modalities" in [one.label for one in app.expander]
    assert any("chance: shuffled" in one.proto.spec for one in app.get("plotly_chart"))


def test_the_overview_counts_its_models(opened, store, monkeypatch):
    register(monkeypatch)
    app = opened(store, "overview")
    assert any("2 audio" in text.value for text in app.caption)


def test_alignment_can_compare_with_its_models_and_does_not_unasked(opened, store, monkeypatch):
    register(monkeypatch)
    app = opened(store, "trends/across")
    assert set(NAMES) < set(app.multiselect(key="y").options)
    assert not set(NAMES) & set(app.dataframe[0].value["model y"])
    app.multiselect(key="y").set_value([NAMES[0]]).run()
    assert set(app.dataframe[0].value["model y"]) == {NAMES[0]}
