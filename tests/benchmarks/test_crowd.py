"""The crowd comes, over a small store."""

from __future__ import annotations

import asyncio
import math
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.benchmarks.crowd import Round, Visit, come, describe
from tests.browser.server import serve
from tests.pages.world import SMALL, PaintedDataset, build


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_eight_visitors_at_once_get_all_of_their_pages(tmp_path):
    store = build(tmp_path / "store", PaintedDataset(20), **SMALL)
    pages = ("/library", "/stimuli?view=gallery", "/jobs")
    # in a thread: a browser of another test may have left its loop running in this one
    with serve(store, log=tmp_path / "log") as address, ThreadPoolExecutor(1) as thread:
        told = thread.submit(lambda: asyncio.run(come(address, 8, pages=pages))).result()
    assert [one.error for one in told.visits] == [""] * 8
    assert all(one.size > 10_000 for one in told.visits)
    assert "Traceback" not in (tmp_path / "log").read_text()


def test_a_round_is_told_in_a_line_and_its_errors_in_one_each():
    visits = [Visit("/a", 1.0, 10, ""), Visit("/b", 3.0, 0, "TimeoutError")]
    assert describe(Round(visits, 900, 2.2, math.nan)).splitlines() == [
        "2 visitors: all of a page sent after 2.0 s (median), 2.9 s (95 %), 3.0 s (last); 1 error;"
        " the server worked 2 s and holds 900 MB",
        "/b: TimeoutError",
    ]
