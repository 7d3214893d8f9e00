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
from core.jobs import job as table
from core.jobs import queue
from core.jobs.job import blockers, queue_file
from core.jobs.queue import Outcome, lanes, named_device, takes, visible

pytestmark = pytest.mark.usefixtures("quiet")
WORDS = ["embed", "--dataset", "my photos", "--model", "timm:vit"]


def claim(store: Path, lane: str = "cpu"):
    return queue.claim(store, lane, lambda _: True)


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
        claim(store)
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
    "claim": lambda store, _: claim(store),
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
    claim(store)
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
    assert [claim(store).words[1] for _ in range(3)] == ["b", "c", "a"]
    assert claim(store) is None


def test_a_command_waits_for_other_commands_before_it_and_runs_beside_its_own(store):
    for words in (["dataset", "add"], ["embed", "a"], ["embed", "b"], ["align"], ["embed", "c"]):
        queue.submit(store, words)
    taken = []
    while job := claim(store):
        beside = []
        while other := claim(store):
            beside.append(other.id)
        taken.append([job.id, *beside])
        for number in taken[-1]:
            queue.end(store, number, Outcome("done", 0))
    assert taken == [[1], [2, 3], [4], [5]]


def test_a_waiting_job_names_those_of_other_commands_before_it_or_who_has_its_device(store):
    for words in (["embed", "a"], ["embed", "b"], ["align"], ["embed", "c"]):
        queue.submit(store, words)
    jobs = queue.jobs(store)
    assert [blockers(job, jobs) for job in reversed(jobs)] == [[], [], [1, 2], [3]]
    claim(store)
    jobs = queue.jobs(store)
    assert [blockers(job, jobs) for job in reversed(jobs)][1:] == [[1], [1, 2], [3]]


def test_a_job_that_has_no_device_free_is_overtaken_by_its_own_command_alone(store):
    for words in (["embed", "--device", "cuda:1"], ["embed", "--device", "cpu"], ["align"]):
        queue.submit(store, words)
    job = queue.claim(store, "cpu", lambda device: device != "cuda:1")
    assert job.words[-1] == "cpu"
    assert queue.claim(store, "cpu", lambda device: device != "cuda:1") is None


def test_many_at_once_make_one_job_and_take_it_once(store, monkeypatch):
    monkeypatch.setattr(table, "PATIENCE", 60.0)  # a busy disk takes its time
    with ThreadPoolExecutor(8) as pool:
        numbers = set(pool.map(lambda _: queue.submit(store, WORDS).id, range(40)))
        taken = [job for job in pool.map(lambda _: claim(store), range(40)) if job]
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
    with pytest.raises(StoreVersionError, match="version 9, but this program reads 1"):
        queue.jobs(store)
    queue_file(store).write_bytes(b"text" * 999)
    with pytest.raises(StoreDamagedError, match="does not hold a queue; move it away"):
        queue.jobs(store)
    (tmp_path / "file").touch()
    with pytest.raises(StoreWriteError, match=r"cannot be made .*choose another store"):
        queue.submit(tmp_path / "file", WORDS)


def test_a_writer_that_does_not_end_is_not_waited_for_for_ever(store, monkeypatch):
    queue.submit(store, WORDS)
    monkeypatch.setattr(table, "PATIENCE", 0.05)
    with table.writing(store), pytest.raises(StoreBusyError, match="another process holds"):
        queue.cancel(store, 1)
    assert queue.cancel(store, 1).state == "canceled"


@pytest.mark.parametrize(
    ("words", "device"),
    [
        ("embed --model m", "auto"),
        ("embed --device cpu --model m", "cpu"),
        ("embed --device=cuda:1", "cuda:1"),
        ("embed --device", "auto"),
    ],
)
def test_the_device_of_a_job_is_the_one_that_its_words_name(words, device):
    assert named_device(words.split()) == device


def test_every_device_has_the_lanes_that_take_it():
    taken = {
        (gpus, device): [lane for lane in lanes(gpus) if takes(lane, device, lanes(gpus))]
        for gpus in (0, 2)
        for device in ("auto", "cpu", "cuda", "cuda:1", "cuda:7", "mps")
    }
    assert {lane for (gpus, _), lane in taken.items() if gpus == 0 for lane in lane} == {"cpu"}
    assert taken[2, "auto"] == taken[2, "cuda"] == ["cuda:0", "cuda:1"]
    assert (taken[2, "cpu"], taken[2, "cuda:1"]) == (["cpu"], ["cuda:1"])
    assert taken[2, "cuda:7"] == taken[2, "mps"] == ["cuda:0"]
    assert all(taken.values())


def test_a_job_for_any_gpu_sees_that_of_its_lane_alone(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert visible("cuda:1", "auto") == {"CUDA_VISIBLE_DEVICES": "1"}
    assert visible("cuda:1", "cuda:1") == visible("cpu", "auto") == {}
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,6")
    assert visible("cuda:1", "cuda") == {"CUDA_VISIBLE_DEVICES": "6"}
