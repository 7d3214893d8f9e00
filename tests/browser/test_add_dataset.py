"""A dataset comes in from the browser alone: uploaded, previewed, mended, queued, there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from core.jobs import queue
from core.store import Store
from tests.browser.server import serve
from tests.pages.test_add_dataset import files, zipped

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return tmp_path_factory.mktemp("empty")


@pytest.fixture(scope="module")
def address(store) -> Iterator[str]:
    """Serve a store in which there is nothing yet."""
    with serve(store, log=store / "server.log") as address:
        yield address


def test_the_first_dataset_of_a_store_is_uploaded_and_added(visit, store):
    page = visit("/library")
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
