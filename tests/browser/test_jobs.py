"""What changes while people watch, in a real Chromium: one queue of jobs, which nobody has to
reload, and a page over a store that is still being filled.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from core.jobs import queue
from core.jobs.queue import queue_file, worker_lock
from core.store import add_dataset, locked
from tests.browser.seen import chart, click_until
from tests.browser.server import new_page, serve
from tests.browser.test_every_page import check_headings
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build

pytestmark = [pytest.mark.browser, pytest.mark.slow]
SIZE = 40
CARDS = """() => (document.querySelector(".st-key-chart-trend .js-plotly-plot")?._fullData ?? [])
  .flatMap(one => one.hovertext ?? []).join()"""
NARROW = "document.querySelector('[data-testid=stMain]').scrollWidth <= 390"


def submit(store: Path, file: Path) -> None:
    kind = ["--dataset", "cave", "--modality", "vision"]
    queue.submit(store, ["import", str(file), "--name", file.stem, *kind], owner="ada")


def badge(page, job: int, state: str):
    return page.locator(f".st-key-job-{job} .stBadge, .st-key-job-{job} span", has_text=state).first


def add_features(page, link: str, file: Path) -> None:
    """Upload and import features on the page Data, and see that they are there."""
    page.goto(link)
    page.locator(".st-key-models-form input[type=file]").set_input_files(file)
    page.get_by_text(f"1 × {SIZE} × 4").wait_for()
    page.get_by_text("platoscope import").wait_for()
    page.get_by_role("button", name="Import").click()
    badge(page, 3, "done").wait_for()
    page.get_by_text("6 of 6 models").wait_for()


def test_jobs_move_fail_and_are_retried_before_everybodys_eyes(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(queue, "ensure_worker", lambda _: None)
    store = build(
        tmp_path / "store",
        PaintedDataset(SIZE),
        vision=VISION[1:3],
        language=LANGUAGE[:1],
        reality=False,
    )
    late, there, more = (tmp_path / f"{name}.npy" for name in ("late", "there", "more"))
    for seed, file in enumerate((there, more)):
        np.save(file, np.random.default_rng(seed).normal(size=(SIZE, 4)).astype(np.float32))
    at_work = ExitStack()
    at_work.enter_context(locked(worker_lock(store)))  # as a worker does, which takes no job yet
    with serve(store, log=tmp_path / "server.log") as address, at_work:
        page, elsewhere = new_page(browser), new_page(browser)
        page.goto(f"{address}/data?tab=jobs")
        page.get_by_text("No jobs yet").wait_for()
        elsewhere.goto(f"{address}/models?tab=table")
        elsewhere.locator("[data-testid=stDataFrame] canvas").first.wait_for()
        for file in (late, there):
            submit(store, file)
        badge(page, 2, "waiting").wait_for()  # nobody has clicked
        elsewhere.get_by_role("link", name="Data: 2 waiting").wait_for()
        at_work.close()  # it has died: the server starts another
        badge(page, 2, "done").wait_for()
        page.locator(".st-key-job-1").get_by_text("there is no file").first.wait_for()
        elsewhere.get_by_role("button", name="New data: show it").wait_for()
        assert "tab=table" in elsewhere.url
        np.save(late, np.load(there))
        click_until(page.get_by_role("button", name="Retry"), badge(page, 1, "done"))
        log = page.locator(".st-key-job-1").get_by_role("button", name="Log")
        click_until(log, page.get_by_text(f"late: 1 layer of {SIZE} stimuli"))
        page.wait_for_url("**/data?tab=jobs&log=1")
        add_features(page, f"{address}/data?add=models&models_from=features", more)
        check_headings(page)
        page.set_viewport_size({"width": 390, "height": 844})
        page.wait_for_function(NARROW)
        for each in (page, elsewhere):
            assert each.get_by_text("unexpected error").count() == 0
            each.close()
    queue_file(store).unlink()  # so that the worker ends


def test_a_page_that_waits_for_models_fills_and_one_that_shows_some_offers_more(browser, tmp_path):
    dataset = PaintedDataset(40)
    add_dataset(store := tmp_path / "store", dataset)
    with serve(store, log=tmp_path / "server.log") as address:
        page = new_page(browser)
        page.goto(f"{address}/trends")
        page.get_by_text("is embedded over this dataset yet").wait_for()
        build(store, dataset, vision=VISION[1:3], language=LANGUAGE[2:3], reality=False)
        chart(page, "trend")  # nobody has clicked
        build(store, dataset, vision=(), language=LANGUAGE[4:5], reality=False)
        more = page.get_by_role("button", name="New data: show it")
        more.wait_for()
        assert "LLaMA" not in page.evaluate(CARDS)
        more.click()
        page.wait_for_function(f"({CARDS})().includes('LLaMA')")
        page.close()
