"""The queue keeps every job, passes it from state to state, and never holds one twice."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import pytest

from core.errors import (
    InputError,
    StoreBusyError,
    StoreDamagedError,
    StoreVersionError,
    StoreWriteError,
)
from core.jobs import queue
from core.jobs.queue import Outcome, queue_file

pytestmark = pytest.mark.usefixtures("quiet")
WORDS = ["embed", "--dataset", "my photos", "--model", "timm:vit"]


def test_a_store_without_jobs_has_none_and_stays_as_it_is(store):
    assert queue.jobs(store) == []
    with pytest.raises(InputError, match="no job has the number 7; `platoscope jobs list`"):
        queue.job(store, 7)
    assert not store.exists()


@pytest.mark.parametrize("words", [[], ["embed", "a\0b"]])
def test_what_is_no_command_is_refused(store, words):
    with pytest.raises(InputError, match="a job is the words of one platoscope command"):
        queue.submit(store, words)
    assert queue.jobs(store) == []


def reach(store: Path, state: str) -> int:
    """Bring a job into a state and return its number."""
    number = queue.submit(store, WORDS).id
    if state in ("running", "stopping", "done", "failed"):
        queue.claim(store)
    if state in ("done", "failed"):
        failure = "why" if state == "failed" else ""
        queue.end(store, number, Outcome(state, 2 if failure else 0, failure))
    if state in ("stopping", "canceled"):
        queue.cancel(store, number)
    return number


STATES = ("queued", "running", "stopping", "done", "failed", "canceled")
STEPS = {
    "submit": lambda store, _: queue.submit(store, WORDS),
    "cancel": queue.cancel,
    "retry": queue.retry,
    "claim": lambda store, _: queue.claim(store),
    "done": lambda store, number: queue.end(store, number, Outcome("done", 0)),
    "failed": lambda store, number: queue.end(store, number, Outcome("failed", 1, "why")),
    "lost": queue.hand_back,
}
LEADS_TO = {  # by hand; a step that is not here leaves the job as it is
    ("queued", "cancel"): "canceled",
    ("queued", "claim"): "running",
    ("running", "cancel"): "stopping",
    ("running", "done"): "done",
    ("running", "failed"): "failed",
    ("running", "lost"): "queued",
    ("stopping", "done"): "done",
    ("stopping", "failed"): "failed",
    ("stopping", "lost"): "canceled",
    ("failed", "retry"): "queued",
    ("canceled", "retry"): "queued",
}


@pytest.mark.parametrize(("state", "step"), [*product(STATES, STEPS)])
def test_each_step_leads_from_each_state_where_it_should(store, state, step):
    number = reach(store, state)
    if (state, step) == ("done", "retry"):
        with pytest.raises(InputError, match="job 1 is done; to run it again, add its command"):
            queue.retry(store, number)
    else:
        STEPS[step](store, number)
    job = queue.job(store, number)
    assert ("stopping" if job.is_stopping else job.state) == LEADS_TO.get((state, step), state)
    if job.state != "canceled":  # before or after it was started
        assert (job.started_at is None) == (job.state == "queued")
    assert (job.ended_at is not None) == job.is_finished
    assert bool(job.failure) == (job.state == "failed")


def test_the_same_words_are_one_job_until_it_has_finished(store, tmp_path):
    first = queue.submit(store, WORDS)
    queue.claim(store)
    assert queue.submit(store, WORDS).id == first.id
    assert queue.submit(store, WORDS, folder=tmp_path).id == 2  # paths lead elsewhere from there
    queue.end(store, first.id, Outcome("done", 0))
    assert queue.submit(store, WORDS).id == 3
    assert [job.id for job in queue.jobs(store)] == [3, 2, 1]


def test_jobs_are_taken_in_the_order_in_which_they_were_queued(store, monkeypatch):
    seconds = iter(range(10, 60))
    monkeypatch.setattr(queue, "now", lambda: f"2026-01-01T00:00:{next(seconds)}+00:00")
    for name in "abc":
        queue.submit(store, ["embed", name])
    queue.cancel(store, 1)
    queue.retry(store, 1)
    taken = []
    while job := queue.claim(store):
        assert queue.claim(store) is None  # one at a time
        taken.append(job.words[1])
        queue.end(store, job.id, Outcome("done", 0))
    assert taken == ["b", "c", "a"]


def test_many_at_once_make_one_job_and_take_it_once(store, monkeypatch):
    monkeypatch.setattr(queue, "PATIENCE", 60.0)  # a busy disk takes its time
    with ThreadPoolExecutor(8) as pool:
        numbers = set(pool.map(lambda _: queue.submit(store, WORDS).id, range(40)))
        taken = [job for job in pool.map(lambda _: queue.claim(store), range(40)) if job]
    assert numbers == {1}
    assert [job.id for job in taken] == [1]


def test_finished_jobs_are_forgotten_after_the_latest_two_hundred(store, monkeypatch):
    monkeypatch.setattr(queue, "KEPT", 3)
    waiting = queue.submit(store, ["waiting"])
    for name in "abcde":
        job = queue.submit(store, [name])
        job.log.write_text(name)
        queue.cancel(store, job.id)
    queue.submit(store, ["last"])
    assert [job.words[0] for job in queue.jobs(store)] == ["last", "e", "d", "waiting"]
    assert {path.name for path in job.log.parent.glob("*.log")} == {"5.log", "6.log"}
    assert queue.job(store, waiting.id).state == "queued"


def test_a_queue_that_cannot_be_used_says_what_to_do(store, tmp_path):
    queue.submit(store, WORDS)
    with sqlite3.connect(queue_file(store)) as connection:
        connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(StoreVersionError, match="version 9, but this program reads 2"):
        queue.jobs(store)
    queue_file(store).write_bytes(b"text" * 999)
    with pytest.raises(StoreDamagedError, match="does not hold a queue; move it away"):
        queue.jobs(store)
    (tmp_path / "file").touch()
    with pytest.raises(StoreWriteError, match=r"cannot be made .*choose another store"):
        queue.submit(tmp_path / "file", WORDS)


def test_a_writer_that_does_not_end_is_not_waited_for_for_ever(store, monkeypatch):
    queue.submit(store, WORDS)
    monkeypatch.setattr(queue, "PATIENCE", 0.05)
    with queue.writing(store), pytest.raises(StoreBusyError, match="another process holds"):
        queue.cancel(store, 1)
    assert queue.cancel(store, 1).state == "canceled"


def test_a_queue_of_the_version_before_keeps_its_jobs(store):
    queue.submit(store, WORDS)
    with sqlite3.connect(queue_file(store)) as connection:
        for column in ("device", "lane"):
            connection.execute(f"ALTER TABLE jobs ADD COLUMN {column} TEXT")
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    assert [job.words for job in queue.jobs(store)] == [tuple(WORDS)]
    assert queue.submit(store, ["align"]).id == 2
    assert queue.claim(store).words == tuple(WORDS)
