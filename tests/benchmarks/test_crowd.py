"""The crowd comes, over a small store that may change and over one that is only shown."""

from __future__ import annotations

import asyncio
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from core.settings import READ_ONLY
from tests.benchmarks.clicks import PAGES
from tests.benchmarks.crowd import Round, Visit, come, describe
from tests.benchmarks.visits import visit_pages
from tests.browser.server import CHROMIUM, serve
from tests.pages.world import SMALL, PaintedDataset, build

QUICK = ("/library", "/stimuli?view=gallery", "/jobs")
VISITS = 200
MOST = 500  # MB that a server holds more, once many have come
EITHER = pytest.mark.parametrize("read_only", ["0", "1"])


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("crowd") / "store", PaintedDataset(20), **SMALL)


def crowd(address: str, visitors: int, **how: object) -> Round:
    """Let visitors come, in a thread: a browser of another test may have left its loop running in
    this one.
    """
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(come(address, visitors, **how))).result()


def missed(told: Round) -> list[Visit]:
    """Return the visits that ended in an error, or brought less than a page."""
    return [one for one in told.visits if one.error or one.size <= 10_000]


@EITHER
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_eight_visitors_at_once_get_all_of_their_pages(store, tmp_path, read_only):
    with serve(store, log=tmp_path / "log", **{READ_ONLY: read_only}) as address:
        told = crowd(address, 8, pages=QUICK)
    assert len(told.visits) == 8
    assert missed(told) == []
    assert "Traceback" not in (tmp_path / "log").read_text()


@EITHER
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_fifty_visitors_at_once_get_all_of_their_pages(store, tmp_path, read_only):
    with serve(store, log=tmp_path / "log", **{READ_ONLY: read_only}) as address:
        before = crowd(address, 1)
        told = crowd(address, 50)
    assert len(told.visits) == 50
    assert missed(told) == []
    assert "Traceback" not in (tmp_path / "log").read_text()
    assert told.memory - before.memory < MOST


@EITHER
@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM, reason="no Chromium here")
def test_memory_stays_within_bounds_over_two_hundred_visits(tmp_path, read_only):
    store, log = build(tmp_path / "store", PaintedDataset(60)), tmp_path / "log"
    pages = [page for page in PAGES if page != "/captions"]  # which draws nothing over this store
    with (
        serve(store, log=log, **{READ_ONLY: read_only}) as address,
        ThreadPoolExecutor(1) as thread,
    ):
        visits = thread.submit(lambda: list(visit_pages(address, VISITS, pages=pages)))
        held = [memory for _, memory in visits.result()]
    assert "Traceback" not in log.read_text()
    assert max(held) - held[0] < MOST


def test_a_round_is_told_in_a_line_and_its_errors_in_one_each():
    visits = [Visit("/a", 1.0, 10, ""), Visit("/b", 3.0, 0, "TimeoutError")]
    assert describe(Round(visits, 900, 2.2, math.nan)).splitlines() == [
        "2 visitors: all of a page sent after 2.0 s (median), 2.9 s (95 %), 3.0 s (last); 1 error;"
        " the server worked 2 s and holds 900 MB",
        "/b: TimeoutError",
    ]
