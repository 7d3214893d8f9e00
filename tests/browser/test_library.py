"""The Library in a real Chromium: models are searched, opened by a click, renamed and deleted; a
dataset comes in from the browser alone.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from core.jobs import queue
from core.store import Store
from tests.browser.seen import rest
from tests.browser.server import serve
from tests.pages.test_add_dataset import files, zipped
from tests.pages.world import SMALL, PaintedDataset, build

pytestmark = [pytest.mark.browser, pytest.mark.slow]
TABLE = ".st-key-library-models"


@pytest.fixture
def store(tmp_path):
    """Return an empty store, which the test fills and changes."""
    return tmp_path / "store"


@pytest.fixture
def log(tmp_path):
    return tmp_path / "server.log"


@pytest.fixture
def address(store, log):
    """Serve a store of the test's own."""
    with serve(store, log=log) as address:
        yield address


def test_a_model_is_found_opened_renamed_and_deleted(store, visit):
    build(store, PaintedDataset(20), **SMALL)
    page = visit("/data")
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
        page.wait_for_url("**/data?*model=gpt-2-m*")
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
    dialog.get_by_text("Deletion cannot be undone").wait_for()
    dialog.get_by_text("platoscope model delete gpt-2-m --dataset cave").wait_for()
    dialog.get_by_role("button", name="Delete this model").click()
    dialog.wait_for(state="detached")
    page.get_by_text("6 of 6 models").wait_for()
    page.wait_for_function("!location.search.includes('model=')")
    expect(page.locator(TABLE)).to_be_visible()
    page.go_back()
    page.get_by_text("Not in this view: no model named").wait_for()


def test_the_first_dataset_of_a_store_is_uploaded_and_added(visit, store):
    page = visit("/data")
    page.get_by_role("button", name="Add a dataset").click()
    form = page.locator(".st-key-dataset-form")
    data = zipped({f"birds/{name}": data for name, data in files(broken=True).items()})
    entry = {"name": "birds.zip", "mimeType": "application/zip", "buffer": data}
    form.locator("input[type=file]").set_input_files(entry)
    form.get_by_text("1 problem").wait_for()
    form.locator(".tile img").nth(5).wait_for()
    assert form.locator(".tile img").count() == 6
    add = form.get_by_role("button", name="Add this dataset")
    assert add.is_disabled()
    assert Store(store).datasets() == []

    form.get_by_text("Skip broken").click()
    form.get_by_text("platoscope dataset add birds --folder").wait_for()
    form.get_by_text("--skip-broken").wait_for()
    page.wait_for_url("**skip_broken=*")
    page.reload()  # the form, the upload and its options are in the address
    form.locator(".tile img").first.wait_for()
    add.click()
    hide = page.get_by_role("button", name="Hide", exact=True)
    hide.wait_for()
    assert [job.state for job in queue.jobs(store)] == ["done"]
    assert Store(store).dataset("birds").size == 6
    page.get_by_text("No model is embedded over this dataset yet").wait_for()
    hide.click()
    page.locator("[class*=st-key-job-]").wait_for(state="detached")
    assert "add=" not in page.url
