"""The worker runs jobs one after the other; whatever is killed, nothing is lost and nothing is half
written.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from filelock import lock_descriptor
from store_fakes import CountedDataset, CountingEncoder, contents

from core.embedding.runner import embed
from core.errors import StoreBusyError
from core.jobs import queue
from core.jobs import worker as workers
from core.jobs.queue import Job, has_worker, lock_file
from core.jobs.worker import work
from core.settings import ROOT
from core.store.schema import embedding_file

pytestmark = pytest.mark.usefixtures("quiet", "quick")
COMMANDS = (sys.executable, str(Path(__file__).with_name("commands.py")))
SIZE = 40
QUICK = {"idle": 1.0, "grace": 60.0}  # seconds; a command that was asked to stop needs some


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let jobs run the quick commands."""
    monkeypatch.setattr(workers, "PROGRAM", COMMANDS)


@pytest.fixture
def at_work(store: Path) -> Iterator[Callable[..., None]]:
    """Give what starts a worker in a thread; it has ended when the test ends."""
    started: list[threading.Thread] = []

    def begin(*, grace: float = QUICK["grace"]) -> None:
        quick = QUICK | {"grace": grace}
        started.append(threading.Thread(target=work, args=(store,), kwargs=quick))
        started[-1].start()

    yield begin
    for each in started:
        each.join(180)
        assert not each.is_alive()


def wait_for(condition: Callable[[], object], seconds: float = 180.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_jobs_run_in_turn_and_each_keeps_how_it_ended(store):
    words = [["steps", "3", "0"], ["mistake"], ["crash"], ["killed"]]
    ids = [queue.submit(store, each).id for each in words]
    elsewhere = queue.submit(store, ["steps", "1", "0"], folder=store / "gone").id
    work(store, **QUICK)
    done, mistake, crash, killed = (queue.job(store, number) for number in ids)
    assert (done.state, done.exit_code, done.failure) == ("done", 0, "")
    assert "platoscope steps 3 0\n" in queue.log_of(done)
    assert "steps: 3/3 (100%)" in queue.log_of(done)
    assert (mistake.state, mistake.exit_code) == ("failed", 2)
    assert mistake.failure == "one: no model; name another; two: no disk; free some"
    assert (crash.state, crash.exit_code) == ("failed", 1)
    assert crash.failure.startswith("it failed unexpectedly (exit code 1); retry")
    assert str(crash.log) in crash.failure
    assert "RuntimeError: a mistake of ours" in queue.log_of(crash)
    assert killed.failure.startswith("it was killed")
    assert queue.job(store, elsewhere).failure.startswith("it cannot be started in")
    order = [queue.job(store, number).started_at for number in ids]
    assert order == sorted(order)
    assert not has_worker(store)


def test_neither_a_busy_queue_nor_words_that_are_no_text_stop_the_worker(store, monkeypatch):
    strange, plain = (queue.submit(store, words) for words in (["\udcff"], ["steps", "1", "0"]))
    claim, refusals = queue.claim, iter([StoreBusyError("another process holds it")])

    def claim_later(*parts: object) -> Job | None:
        for refusal in refusals:
            raise refusal
        return claim(*parts)

    monkeypatch.setattr(queue, "claim", claim_later)
    work(store, idle=1.0, grace=0.5)
    assert queue.job(store, strange.id).state == "failed"
    assert queue.job(store, plain.id).state == "done"


def test_a_failing_job_is_retried_with_its_log_kept(store):
    job = queue.submit(store, ["mistake"])
    for attempt in (1, 2):
        work(store, **QUICK)
        failed = queue.job(store, job.id)
        assert failed.state == "failed"
        assert failed.failure.count("no disk") == 1  # of the last attempt alone
        assert queue.log_of(failed).count("platoscope mistake\n") == attempt
        queue.retry(store, job.id)


def test_progress_is_seen_while_a_job_runs_and_a_cancel_stops_it(at_work, store):
    job = queue.submit(store, ["unending"])
    at_work()
    wait_for(  # one that was held up at first expects too much
        lambda: (note := queue.job(store, job.id).progress) and 0 < (note.seconds_left or 0) < 60
    )
    note = queue.job(store, job.id).progress
    assert (note.total, note.what) == (1000, "steps")
    assert note.done > 0
    queue.cancel(store, job.id)
    wait_for(lambda: queue.job(store, job.id).is_finished)
    canceled = queue.job(store, job.id)
    assert (canceled.state, canceled.failure, canceled.progress) == ("canceled", "", None)
    assert "KeyboardInterrupt" in queue.log_of(canceled)  # it was asked, not killed


def test_a_command_that_does_not_stop_is_killed(at_work, store, tmp_path):
    ready = tmp_path / "ready"
    job = queue.submit(store, ["deaf", str(ready)])
    at_work(grace=0.5)
    wait_for(ready.exists)
    queue.cancel(store, job.id)
    wait_for(lambda: queue.job(store, job.id).is_finished)
    canceled = queue.job(store, job.id)
    assert (canceled.state, canceled.exit_code) == ("canceled", -signal.SIGKILL)
    assert not workers.is_alive(store, job.id)


def test_a_store_has_one_worker(at_work, store):
    job = queue.submit(store, ["steps", "10000", "0.01"])
    at_work()
    wait_for(lambda: has_worker(store))
    with pytest.raises(StoreBusyError, match="wait until it is done, or stop it"):
        work(store, **QUICK)
    queue.cancel(store, job.id)


def test_a_job_whose_lock_is_held_waits_and_says_for_what(store, at_work, capfd):
    number = queue.submit(store, ["steps", "1", "0"]).id
    with lock_file(store, number).open("ab") as held:
        assert lock_descriptor(held.fileno(), blocking=False)
        at_work()
        wait_for(lambda: "jobs wait" in capfd.readouterr().err)
    wait_for(lambda: queue.job(store, number).state == "done")


@pytest.fixture
def uninterrupted(tmp_path: Path) -> Path:
    """Return the file of an embedding that nothing stopped."""
    return embed(tmp_path / "whole", CountedDataset(SIZE), CountingEncoder(), batch_size=4)


def start_worker(store: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMANDS, "worker", str(store)], env={**os.environ, "PYTHONPATH": str(ROOT)}
    )


@pytest.mark.slow
def test_an_embedding_that_is_canceled_and_then_loses_its_worker_ends_as_the_same_file(
    at_work, store, uninterrupted, tmp_path
):
    gate = tmp_path / "gate"
    target = embedding_file(store, "counted", "counting")
    batches = partial(target.parent.glob, "*.parts/*/*.npz")
    job = queue.submit(store, ["embed", str(gate)])
    worker = start_worker(store)
    wait_for(lambda: len(list(batches())) > 1)
    queue.cancel(store, job.id)
    wait_for(lambda: queue.job(store, job.id).is_finished)
    assert queue.job(store, job.id).state == "canceled"
    assert not target.exists()

    kept = len(list(batches()))
    queue.retry(store, job.id)
    wait_for(lambda: len(list(batches())) > kept)
    worker.kill()
    worker.wait()
    assert queue.job(store, job.id).state == "running"
    assert workers.is_alive(store, job.id)  # its command outlived it
    assert not target.exists()

    at_work()
    wait_for(lambda: queue.log_of(job).count("KeyboardInterrupt") == 2)  # asked to stop twice
    gate.touch()
    wait_for(lambda: queue.job(store, job.id).state == "done")
    assert queue.log_of(job).count("KeyboardInterrupt") == 2
    assert contents(target) == contents(uninterrupted)
    assert [path.name for path in target.parent.glob("counting*")] == ["counting.duckdb"]


def test_a_worker_that_is_stopped_hands_back_what_it_runs(store):
    job = queue.submit(store, ["steps", "100000", "0.01"])
    worker = start_worker(store)
    wait_for(lambda: queue.job(store, job.id).progress)
    worker.send_signal(signal.SIGINT)
    worker.wait()
    assert queue.job(store, job.id).state == "queued"
    assert not workers.is_alive(store, job.id)
    assert not has_worker(store)
