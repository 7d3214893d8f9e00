"""From an empty store to full pages by the browser alone, over a server that is killed.

`python -m tests.browser.test_from_empty` renews the pictures of `docs/browser.md`.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, TimeoutError, sync_playwright

from core.jobs import queue
from core.jobs.queue import process_of
from core.settings import ROOT
from core.store import Store
from tests.browser.seen import click_until, repeat_until, settle
from tests.browser.server import CHROMIUM, FLAGS, PATIENCE, new_page, serve
from tests.encoders.tiny_models import make_language, make_vision

pytestmark = [pytest.mark.browser, pytest.mark.slow]
SIZE = 24
COLORS = {"red": 0, "yellow": 42, "green": 85, "blue": 170}  # hues of 256
SHOWING = {  # what of each page draws the models that came in
    "": "svg.canvas circle[data-model]",
    "trends": ".st-key-trend .main-svg",
    "images": ".tile img",
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


def state(page: Page, number: int, label: str) -> Locator:
    """Return what a job's card says of its state, if it is this one."""
    return card(page, number).locator("span", has_text=label).first


def click_on_card(page: Page, number: int, name: str, label: str) -> None:
    """Click a button on the card of a job until the card says the state that comes of it."""
    click_until(card(page, number).get_by_role("button", name=name), state(page, number, label))


def type_folder(form: Locator, folder: Path, shown: Locator) -> None:
    """Type a folder and wait for what its content shows; what is typed while a busy machine draws
    the form again may be lost, and is typed again.
    """
    box = form.get_by_role("textbox", name="Folder")
    for patience in (30_000, 60_000, PATIENCE):
        box.fill(str(folder))
        box.press("Enter")
        with suppress(TimeoutError):
            shown.wait_for(timeout=patience)
            return
    raise AssertionError(f"{folder} was not read")


def send(page: Page, kind: str, name: str) -> None:
    """Click the button that queues what a form says, which closes it."""
    form = f".st-key-{kind}-form"
    button = page.locator(form).get_by_role("button", name=name)
    repeat_until(page, f"!document.querySelector('{form}')", button.click)


def add_folder(page: Page, folder: Path, keep: Callable[[Page, str], object]) -> None:
    """Add a folder on the server as the first dataset, which is chosen at once."""
    page.get_by_role("button", name="Add a dataset").click()
    form = page.locator(".st-key-dataset-form")
    form.get_by_role("radio", name="Folder on the server").click()
    type_folder(form, folder, form.locator(".tile img").first)
    keep(page, "dataset")
    send(page, "dataset", "Add this dataset")
    state(page, 1, "done").wait_for()
    page.get_by_text("No model is embedded over this dataset yet").wait_for()


def add_model(
    page: Page, folder: Path, keep: Callable[[Page, str], object] = lambda *_: None
) -> None:
    """Queue the embedding of a model in a folder on the server."""
    page.get_by_role("button", name="Add models").click()
    form = page.locator(".st-key-models-form")
    form.get_by_role("radio", name="Folder on the server").click()
    type_folder(form, folder, form.locator("code", has_text=folder.name))  # not of one before
    keep(page, "models")
    send(page, "models", "Embed")


def add_features(page: Page, file: Path) -> None:
    """Upload features and queue their import."""
    page.get_by_role("button", name="Add models").click()
    form = page.locator(".st-key-models-form")
    form.get_by_role("radio", name="Feature file").click()
    form.locator("input[type=file]").set_input_files(file)
    form.get_by_text(f"1 × {SIZE} × 4").wait_for()
    send(page, "models", "Import")


@contextmanager
def held(store: Path, number: int) -> Iterator[None]:
    """Let a job rest in the midst of its work for as long as this lasts."""
    for _ in range(9000):
        if queue.job(store, number).state == "running" and process_of(store, number):
            break
        time.sleep(0.02)
    group = process_of(store, number)
    assert group
    os.killpg(group, signal.SIGSTOP)
    try:
        yield
    finally:
        os.killpg(group, signal.SIGCONT)


def tell(
    browser: Browser,
    folder: Path,
    keep: Callable[[Page, str], object] = lambda *_: None,
) -> Path:
    """Live the story in a folder and return its store. keep: takes a picture of it, by its name."""
    seeing = make_vision(folder / "seeing", "vit_tiny_patch16_224", img_size=32, depth=2)
    reading, late = make_language(folder / "reading", "gpt2"), folder / "late"
    features, store = folder / "mine.npy", folder / "store"
    np.save(features, np.random.default_rng(0).normal(size=(SIZE, 4)).astype(np.float32))
    page = new_page(browser, viewport={"width": 1280, "height": 800})

    with ExitStack() as until_later:
        with serve(store, log=folder / "first.log", end=signal.SIGKILL) as address:
            page.goto(f"{address}/data")
            add_folder(page, photos(folder / "photos"), keep)
            add_model(page, seeing, keep)
            until_later.enter_context(held(store, 2))
            add_model(page, reading)
            page.goto(f"{address}/data?tab=jobs")
            click_on_card(page, 3, "Cancel", "canceled")
            queue.submit(store, ["embed", "--dataset", "photos", "--model", f"hf:{late}"])
        assert queue.job(store, 2).state == "running"

    with serve(store, log=folder / "second.log") as address:
        page.goto(f"{address}/data?tab=jobs")
        state(page, 2, "done").wait_for()  # nobody has asked for it since the server was killed
        click_on_card(page, 3, "Retry", "done")
        card(page, 4).get_by_text(str(late)).last.wait_for()
        state(page, 4, "failed").wait_for()
        keep(page, "jobs")
        make_language(late, "llama")
        click_on_card(page, 4, "Retry", "done")
        page.goto(f"{address}/data?dataset=photos")
        add_features(page, features)
        page.goto(f"{address}/data?tab=jobs")
        state(page, 5, "done").wait_for()
        queue.submit(store, ["align", "--dataset", "photos", "--k", "3", "--null", "19"])
        state(page, 6, "done").wait_for()
        page.goto(f"{address}/data?dataset=photos&tab=results")
        asked = page.locator("canvas [role=gridcell]", has_text="k 3")  # the table of results
        asked.first.wait_for(state="attached")
        for path, drawn in SHOWING.items():
            page.goto(f"{address}/{path}")
            page.locator(drawn).first.wait_for()
            assert page.get_by_text("unexpected error").count() == 0
        page.goto(f"{address}/data?dataset=photos")
        page.get_by_text("4 of 4 models").first.wait_for()
        keep(page, "library")
    page.close()
    return store


def test_models_and_data_come_in_by_the_browser_and_work_outlives_its_server(
    browser: Browser, tmp_path: Path
) -> None:
    store = tell(browser, tmp_path)
    names = {entry.card.name for entry in Store(store).models("photos")}
    assert names == {"seeing", "reading", "late", "mine"}
    assert [job.state for job in queue.jobs(store)] == ["done"] * 6


def main() -> None:
    """Renew the pictures of `docs/browser.md`."""

    def keep(page: Page, name: str) -> None:
        settle(page, 1500)
        picture = Image.open(BytesIO(page.screenshot())).convert("RGB")
        picture.resize((800, 500), Image.Resampling.LANCZOS).quantize(128).save(
            ROOT / "docs" / "pictures" / f"browser-{name}.png", optimize=True
        )

    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        tell(browser, Path(folder), keep)
        browser.close()


if __name__ == "__main__":
    main()
