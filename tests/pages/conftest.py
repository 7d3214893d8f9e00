"""Stores that pages are opened over, and a function that opens them as a link would."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import streamlit as st
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest

from core.settings import ROOT
from tests.pages.seen import dead_entries
from tests.pages.world import LANGUAGE, SMALL, VISION, PaintedDataset, build


@pytest.fixture(autouse=True)
def _fresh_caches() -> Iterator[None]:
    yield
    st.cache_data.clear()
    st.cache_resource.clear()


@pytest.fixture(autouse=True)
def _as_served(monkeypatch) -> None:
    """Run `app.py` for every address, as `pages/_server/serve.py` does: a test's app takes the
    folder of pages for Streamlit's old discovery otherwise.
    """
    make = PagesManager.__init__

    def make_without_discovery(manager: PagesManager, *parts: object, **more: object) -> None:
        make(manager, *parts, **more)
        PagesManager.uses_pages_directory = False

    monkeypatch.setattr(PagesManager, "__init__", make_without_discovery)


@pytest.fixture(scope="session")
def demo(tmp_path_factory) -> Path:
    return build(tmp_path_factory.mktemp("demo"), PaintedDataset(60))


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """Return a function that gives a small store of a size; it is built once, tests that change it
    take a copy.
    """

    @cache
    def of_size(size: int) -> Path:
        return build(tmp_path_factory.mktemp(f"small-{size}"), PaintedDataset(size), **SMALL)

    return of_size


@pytest.fixture(scope="session")
def three(tmp_path_factory) -> Path:
    """Return a store of three vision models of three objectives and one language model: the least
    that has every plot.
    """
    chosen = [
        one for one in VISION if one[:2] in (("MAE", "m"), ("CLIP", "m"), ("supervised", "s"))
    ]
    return build(
        tmp_path_factory.mktemp("three"),
        PaintedDataset(60),
        vision=chosen,
        language=LANGUAGE[4:5],
        reality=False,
    )


@pytest.fixture(scope="session")
def twice(tmp_path_factory) -> Path:
    """Return a small store in which each recipe was trained from two seeds."""
    return build(tmp_path_factory.mktemp("twice"), PaintedDataset(30), **SMALL, seeds=2)


@pytest.fixture
def opened(monkeypatch):
    """Return a function that opens a page over a store, as a link would; whatever legend it shows
    hides what it names.
    """
    # Every opened page would look for components of others in all installed packages: half of the
    # time of most tests
    monkeypatch.setattr("streamlit.components.v2.manifest_scanner.scan_component_manifests", list)

    def open_page(store: Path, page: str, **query: str) -> AppTest:
        monkeypatch.setenv("PLATOSCOPE_STORE", str(store))
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=180)
        app.query_params.update(query)
        if page != "overview":  # which comes first, and is not drawn
            with monkeypatch.context() as first:
                first.setattr("pages._shared.frame.draw", lambda *_: None)
                app.run()
            app.switch_page(f"pages/{page}.py")
        app.run()
        assert dead_entries(app) == []
        return app

    return open_page
