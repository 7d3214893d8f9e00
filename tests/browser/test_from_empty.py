"""From an empty store to every page by the browser alone, over a server that is killed."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page

from core.jobs import queue
from core.store import Store
from tests.browser.server import serve
from tests.encoders.tiny_models import make_language, make_vision

pytestmark = pytest.mark.browser
SIZE = 24
COLORS = {"red": 0, "yellow": 42, "green": 85, "blue": 170}  # hues of 256
SHOWING = {  # what of each page draws the models that came in
    "/": ".js-plotly-plot .main-svg",
    "/alignment": ".st-key-trend .main-svg",
    "/models?view=table": "[data-testid=stDataFrame]",
    "/stimuli": ".tile img",
    "/metrics": ".st-key-agreement .main-svg",
    "/library": "text=4 of 4 models",
}


def photos(folder: Path) -> Path:
    """Write plain pictures of a few colors with captions that name them."""
    folder.mkdir()
    rows = []
    for number in range(SIZE):
        name, hue = list(COLORS.items())[number % len(COLORS)]
        light = 60 + 8 * number
        Image.new("HSV", (32, 32), (hue, 200, light)).convert("RGB").save(folder / f"{number}.png")
        rows.append((f"{number}.png", f"a {name} picture, the {number}th, brightness {light}"))
    pd.DataFrame(rows, columns=["image", "caption"]).to_csv(folder / "captions.csv", index=False)
    return folder


def card(page: Page, number: int) -> Locator:
    return page.locator(f".st-key-job-{number}")


def state(page: Page, number: int, label: str) -> None:
    """Wait until a job is in a state, as its card says it."""
    card(page, number).locator("span", has_text=label).first.wait_for()


def add_folder(page: Page, folder: Path) -> None:
    """Add a folder on the server as a dataset, and choose it."""
    page.get_by_role("button", name="Add a dataset").click()
    form = page.locator(".st-key-dataset-form")
    form.get_by_role("radio", name="Folder on the server").click()
    form.get_by_role("textbox", name="Folder").fill(str(folder))
    form.get_by_role("textbox", name="Folder").press("Enter")
    form.locator(".tile img").first.wait_for()
    form.get_by_role("button", name="Add this dataset").click()
    state(page, 1, "done")
    page.get_by_role("button", name="Show it").click()
    page.get_by_text("No model is embedded over this dataset yet").wait_for()


def add_model(page: Page, folder: Path) -> None:
    """Queue the embedding of a model in a folder on the server."""
    page.get_by_role("button", name="Add models").click()
    form = page.locator(".st-key-models-form")
    form.get_by_role("radio", name="Folder on the server").click()
    form.get_by_role("textbox", name="Folder").fill(str(folder))
    form.get_by_role("textbox", name="Folder").press("Enter")
    form.get_by_text("platoscope embed").wait_for()
    form.get_by_role("button", name="Embed").click()
    form.wait_for(state="detached")


def add_features(page: Page, file: Path) -> None:
    """Upload features and queue their import."""
    page.get_by_role("button", name="Add models").click()
    form = page.locator(".st-key-models-form")
    form.get_by_role("radio", name="Feature file").click()
    form.locator("input[type=file]").set_input_files(file)
    form.get_by_text(f"1 × {SIZE} × 4").wait_for()
    form.get_by_role("button", name="Import").click()
    form.wait_for(state="detached")


def type_command(page: Page, command: str) -> None:
    """Queue a command that is typed on the page Jobs."""
    form = page.get_by_test_id("stExpander").filter(has_text="Queue a command")
    if not form.get_by_role("textbox").is_visible():
        form.locator("summary").click()
    form.get_by_role("textbox").fill(command)
    form.get_by_role("button", name="Queue").click()
    page.get_by_text("Queued as job").first.wait_for()


def test_models_and_data_come_in_by_the_browser_and_work_outlives_its_server(
    browser: Browser, tmp_path: Path
) -> None:
    seeing = make_vision(tmp_path / "seeing", "vit_tiny_patch16_224", img_size=32, depth=2)
    reading, late = make_language(tmp_path / "reading", "gpt2"), tmp_path / "late"
    features, store = tmp_path / "mine.npy", tmp_path / "store"
    np.save(features, np.random.default_rng(0).normal(size=(SIZE, 4)).astype(np.float32))
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(90_000)

    with serve(store, log=tmp_path / "first.log", end=signal.SIGKILL) as address:
        page.goto(f"{address}/library")
        add_folder(page, photos(tmp_path / "photos"))
        add_model(page, seeing)
        add_model(page, reading)
        page.goto(f"{address}/jobs")
        card(page, 3).get_by_role("button", name="Cancel").click()
        state(page, 3, "canceled")
        type_command(page, f"platoscope embed --dataset photos --model hf:{late}")

    with serve(store, log=tmp_path / "second.log") as address:
        page.goto(f"{address}/jobs")
        state(page, 2, "done")  # nobody has asked for it since the server was killed
        card(page, 3).get_by_role("button", name="Retry").click()
        state(page, 3, "done")
        card(page, 4).get_by_text(str(late)).last.wait_for()
        state(page, 4, "failed")
        make_language(late, "llama")
        card(page, 4).get_by_role("button", name="Retry").click()
        state(page, 4, "done")
        page.goto(f"{address}/library?dataset=photos")
        add_features(page, features)
        page.goto(f"{address}/jobs")
        state(page, 5, "done")
        type_command(page, "platoscope align --dataset photos --k 3 --null 19")
        state(page, 6, "done")
        page.goto(f"{address}/library?dataset=photos&view=results")
        page.get_by_text("align").first.wait_for()
        for link, drawn in SHOWING.items():
            page.goto(address + link)
            page.locator(drawn).first.wait_for()
            assert page.get_by_test_id("stException").count() == 0
    page.close()
    assert {entry.card.name for entry in Store(store).models("photos")} == {
        "seeing",
        "reading",
        "late",
        "mine",
    }
    assert {job.state for job in queue.jobs(store)} == {"done"}
