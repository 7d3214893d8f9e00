"""A store that is only shown, in a real Chromium: every page is visited, what is offered is
clicked, and no file of the store has changed.
"""

from __future__ import annotations

import re

import pytest

from core.jobs import queue
from core.settings import READ_ONLY
from tests.browser.seen import rest
from tests.browser.server import new_page, serve
from tests.browser.test_every_page import PAGES
from tests.footprint import footprint
from tests.pages.world import SMALL, PaintedDataset, build

pytestmark = pytest.mark.browser
FURTHER = ("/stitching", "/jobs?log=1", "/library?add=models", "/theory-attention")


@pytest.fixture
def shown(tmp_path, monkeypatch):
    """Return a store with a job that waits, beside nobody to run it."""
    monkeypatch.setattr(queue, "ensure_worker", lambda _: None)
    store = build(tmp_path / "store", PaintedDataset(40), **SMALL)
    queue.submit(store, ["import", "/nowhere.npy", "--name", "x", "--dataset", "cave"])
    return store


def open_page(browser, link: str):
    page = new_page(browser)
    page.goto(link)
    page.wait_for_selector("h1")
    rest(page)
    return page


def check_calm(page) -> None:
    """Check that a page shows no error and offers nothing that would write."""
    assert page.get_by_test_id("stException").count() == 0
    assert page.locator("input[type=file]").count() == 0
    offered = re.compile(r"^(Add|Queue|Build|Delete|Rename|Cancel|Retry|Import|Load)")
    texts = page.get_by_role("button").all_inner_texts()
    names = [text.split("\n")[-1] for text in texts]
    assert [name for name in names if offered.match(name)] == []


def test_what_people_change_elsewhere_is_shown_and_not_offered(browser, shown, tmp_path):
    before = footprint(shown)
    with serve(shown, log=tmp_path / "server.log", **{READ_ONLY: "1"}) as address:
        for link in ("/library", "/jobs?log=1", "/library?model=gpt-2-s"):
            page = open_page(browser, f"{address}{link}")
            page.get_by_text("This store is only shown").first.wait_for()
            check_calm(page)
            page.close()
    assert footprint(shown) == before
    assert [job.state for job in queue.jobs(shown)] == ["queued"]  # and no worker took it


@pytest.mark.slow
def test_every_page_leaves_the_store_as_it_was(browser, shown, tmp_path):
    before = footprint(shown)
    with serve(shown, log=tmp_path / "server.log", **{READ_ONLY: "1"}) as address:
        for link in (*PAGES, *FURTHER):
            page = open_page(browser, f"{address}{link}")
            check_calm(page)
            page.close()
    assert footprint(shown) == before
