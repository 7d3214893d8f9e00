"""Jobs wait for a disk that is full, and the worker says so."""

from __future__ import annotations

import pytest

from core.errors import StoreWriteError
from core.jobs import queue
from core.jobs.worker import work


@pytest.mark.usefixtures("quiet")
def test_a_worker_says_once_why_jobs_wait_and_goes_on_when_they_need_not(
    store, monkeypatch, capsys
):
    number = queue.submit(store, ["align"]).id
    claim, refusals = queue.claim, [StoreWriteError("no room for jobs; free some")] * 3

    def claim_later(*arguments):
        if refusals:
            raise refusals.pop()
        queue.cancel(store, number)  # else a process would be started
        return claim(*arguments)

    monkeypatch.setattr(queue, "claim", claim_later)
    work(store, idle=0.9)
    assert refusals == []
    assert capsys.readouterr().err == (
        "platoscope: jobs wait and are tried again: no room for jobs; free some\n"
    )
