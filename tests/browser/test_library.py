"""The Library in a real Chromium: searched, opened by a click, renamed, and less one model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.seen import rest
from tests.browser.server import serve
from tests.pages.world import SMALL, PaintedDataset, build

pytestmark = pytest.mark.browser
TABLE = ".st-key-library-models"


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> Iterator[str]:
    """Serve a store of its own, which the test changes."""
    store = build(tmp_path_factory.mktemp("library"), PaintedDataset(20), **SMALL)
    with serve(store, log=store / "server.log") as address:
        yield address


def test_a_model_is_found_opened_renamed_and_deleted(visit):
    page = visit("/library?view=models")
    page.get_by_text("7 of 7 models").wait_for()
    search = page.get_by_role("textbox", name="Search")
    search.fill("gpt-2 m")
    search.press("Enter")
    page.get_by_text("1 of 7 models").wait_for()
    for _ in range(2):  # the same row opens again
        page.get_by_role("button", name="All models").wait_for(state="detached")
        rest(page)
        page.locator(f"{TABLE} canvas tbody tr").first.wait_for(state="attached")  # it is drawn
        page.locator(f"{TABLE} .dvn-scroller").click(position={"x": 60, "y": 52})
        page.get_by_role("heading", name="GPT-2 M").wait_for()
        page.wait_for_url("**/library?*model=gpt-2-m*")
        page.get_by_role("button", name="All models").click()
    page.locator(TABLE).wait_for()
    page.wait_for_url(lambda url: "model=" not in url)
    page.go_back()
    page.get_by_text("platoscope embed --dataset cave --model hf:gpt-2-m").wait_for()

    page.get_by_role("button", name="Rename").click()
    title = page.get_by_role("textbox", name="Title")
    title.fill("The best <model>")
    title.press("Enter")
    page.get_by_role("heading", name="The best <model>").wait_for()

    page.get_by_role("button", name="Delete", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Deleted with it: 1 kept answer, 1 list of neighbors.").wait_for()
    dialog.get_by_text("platoscope model delete gpt-2-m --dataset cave").wait_for()
    dialog.get_by_role("button", name="Delete this model").click()
    dialog.wait_for(state="detached")
    page.get_by_text("6 of 6 models").wait_for()
    page.wait_for_function("!location.search.includes('model=')")
    expect(page.locator(TABLE)).to_be_visible()
    page.go_back()
    page.get_by_text("Not in this view: no model named").wait_for()
