"""The clock of pages runs, over a small store."""

import pytest

from tests.benchmarks.page_times import main
from tests.pages.world import SMALL, PaintedDataset, build


@pytest.mark.slow
def test_it_prints_both_runs_of_a_page(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("PLATOSCOPE_STORE", "")  # is set, and put back
    main(build(tmp_path, PaintedDataset(20), **SMALL), ["library"])
    head, row, *_ = capsys.readouterr().out.splitlines()
    assert head.split() == ["page", "first", "second", "worked", "sent", "memory"]
    page, first, _, second, *_ = row.split()
    assert page == "library"
    assert 0 < float(second) < 60
    assert 0 < float(first) < 60
