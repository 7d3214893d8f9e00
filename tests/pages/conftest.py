"""Stores that pages are opened over, and a function that opens them as a link would."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from core.questions.color import question as color
from core.questions.color import sources as color_sources
from core.questions.dispersion.effect import Trial
from core.settings import ROOT
from core.statistics.layouts import LAYOUTS
from pages._parts.images import language as dispersion
from pages._shared import runner
from tests.navigation import PAGES
from tests.pages import printed
from tests.pages.seen import dead_entries
from tests.pages.world import LANGUAGE, SMALL, VISION, PaintedDataset, build

MADE_APART = (  # plots of several answers, or kept ones
    "transfer/adapters",
    "implications",
    "color",
    "transfer/prefixes",
    "transfer/probes",
)


@pytest.fixture(autouse=True)
def _fresh_caches() -> Iterator[None]:
    yield
    st.cache_data.clear()
    st.cache_resource.clear()


@pytest.fixture(autouse=True)
def _quick(monkeypatch) -> None:
    """Offer what takes long, and make the rest quickly: lay out without UMAP, draw few random sets
    and halves, shuffle colors once and count few pixels.
    """
    lay_out, permuted = color.lay_out, color.permuted
    rank_agreement, count = color.rank_agreement, color_sources.count_colors
    monkeypatch.setattr(runner, "LONGEST_WAIT", 0.0)
    monkeypatch.setitem(LAYOUTS, "umap", LAYOUTS["mds"])
    monkeypatch.setattr(
        "core.questions.stimuli.question.neighbor_plane", lambda joint, *, seed: joint[:, :2] + seed
    )
    monkeypatch.setattr(dispersion, "Trial", partial(Trial, repeats=3, draws=4))
    monkeypatch.setattr(
        color, "lay_out", lambda matrix, **how: lay_out(matrix, **(how | {"starts": 1}))
    )
    monkeypatch.setattr(
        color,
        "rank_agreement",
        lambda x, y, **how: rank_agreement(
            x, y, **(how | {"permutations": 1, "draws": min(1, how.get("draws", 0))})
        ),
    )
    monkeypatch.setattr(
        color, "permuted", lambda score, n, **how: permuted(score, n, **(how | {"permutations": 1}))
    )
    monkeypatch.setattr(
        color_sources,
        "count_colors",
        lambda pictures, **how: count(pictures, **(how | {"pairs": 40_000})),
    )


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
    """Return a function that opens a page over a store, as a link would: whatever legend it shows
    hides what it names, and each plot is of a question that was asked.
    """
    # Every opened page would look for components of others in all installed packages: half of the
    # time of most tests
    monkeypatch.setattr("streamlit.components.v2.manifest_scanner.scan_component_manifests", list)
    monkeypatch.setattr("pages._shared.frame.FOLDED", False)  # what is closed is tested, too
    paths = {page.name.partition("/")[0]: page.path for page in PAGES}
    record = printed.record(monkeypatch)

    def open_page(store: Path, page: str, **query: str) -> AppTest:
        """Open a page, or one of its tabs: "trends", "trends/within"."""
        script, _, tab = page.partition("/")
        monkeypatch.setenv("PLATOSCOPE_STORE", str(store))
        app = AppTest.from_file(str(ROOT / "pages" / "frame.py"), default_timeout=180)
        app.query_params.update(({"tab": tab} if tab else {}) | query)
        app._page_hash = calc_hash(paths[script])  # `switch_page` would draw the first page before
        record.asked.clear()
        record.drawn.clear()
        app.run()
        assert dead_entries(app) == []
        drawn = {question for question, _ in record.drawn.values()}
        assert page in MADE_APART or drawn <= {*record.asked}
        return app

    return open_page
