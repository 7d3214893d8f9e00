"""Cores and threads: what the system allows, and a share of it."""

from __future__ import annotations

import os

import pytest

from core.machine.cores import SHARE, count_cores, count_threads


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system has no affinity")
def test_cores_are_those_that_the_process_may_run_on():
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert count_cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert count_cores() == len(allowed)


@pytest.mark.parametrize(
    ("share", "threads"),
    [(None, 8), ("", 8), ("3", 3), ("8", 8), ("64", 8), ("0", 1), ("many", 8), ("-2", 8)],
)
def test_a_share_limits_threads(share, threads, monkeypatch):
    monkeypatch.setattr("core.machine.cores.count_cores", lambda: 8)
    monkeypatch.delenv(SHARE, raising=False)
    if share is not None:
        monkeypatch.setenv(SHARE, share)
    assert count_threads() == threads
