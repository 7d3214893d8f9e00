"""The crowd comes, over a small store that may change and over one that is only shown."""

from __future__ import annotations

import asyncio
import math
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.jobs import queue
from core.settings import READ_ONLY
from tests.benchmarks.crowd import Round, Visit, come, describe
from tests.browser.server import serve
from tests.footprint import footprint
from tests.navigation import PAGES
from tests.pages.levels import retell
from tests.pages.world import SMALL, PaintedDataset, build

LINKS = [page.link for page in PAGES]
MOST = 500  # MB that a server holds more after two hundred visits


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.benchmarks.crowd.PATIENCE", 1800.0)  # a busy machine is slow


def crowd(address: str, visitors: int) -> Round:
    """Let visitors come, in a thread: a browser of another test may have left its loop running in
    this one.
    """
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(come(address, visitors, links=LINKS))).result()


def missed(told: Round) -> list[Visit]:
    """Return the visits that ended in an error, or brought less than a page."""
    return [one for one in told.visits if one.error or one.size <= 10_000]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_fifty_visitors_at_once_get_all_of_their_pages_and_two_hundred_leave_no_memory(tmp_path):
    dataset, log = PaintedDataset(60), tmp_path / "log"
    store = retell(build(tmp_path / "store", dataset, **SMALL), dataset, ["gpt-2-m"])
    with serve(store, log=log) as address:
        told = [crowd(address, len(PAGES)), *(crowd(address, 50) for _ in range(4))]
    assert [missed(one) for one in told] == [[]] * 5
    assert "Traceback" not in log.read_text()
    assert max(one.memory for one in told) - told[0].memory < MOST


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_server_that_only_shows_a_store_leaves_it_as_it_was(tmp_path, monkeypatch):
    monkeypatch.setattr(queue, "ensure_worker", lambda _: None)
    store, log = build(tmp_path / "store", PaintedDataset(40), **SMALL), tmp_path / "log"
    queue.submit(store, ["import", "/nowhere.npy", "--name", "x", "--dataset", "cave"])
    before = footprint(store)
    with serve(store, log=log, **{READ_ONLY: "1"}) as address:
        told = crowd(address, len(PAGES))
    assert missed(told) == []
    assert "Traceback" not in log.read_text()
    assert footprint(store) == before
    assert [job.state for job in queue.jobs(store)] == ["queued"]  # and no worker took it


def test_a_round_is_told_in_a_line_and_its_errors_in_one_each():
    visits = [Visit("/a", 1.0, 10, ""), Visit("/b", 3.0, 0, "TimeoutError")]
    assert describe(Round(visits, 900, 2.2, math.nan)).splitlines() == [
        "2 visitors: all of a page sent after 2.0 s (median), 2.9 s (95%), 3.0 s (last); 1 error;"
        " the server worked 2 s and holds 900 MB",
        "/b: TimeoutError",
    ]
