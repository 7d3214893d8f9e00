"""Progress says what is done, the rate and the time left: a bar on a terminal, lines in a log."""

from __future__ import annotations

import io
import time
from pathlib import Path
from threading import Thread

import pytest

from core.progress import (
    JOB_NOTE,
    ConsoleProgress,
    ProgressNote,
    heard_by,
    note_rows,
    read_note,
    tell,
    tell_each,
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("tqdm.std.time", lambda: now[0])
    return now


def test_a_log_gets_a_line_at_the_start_every_five_seconds_and_at_the_end(
    clock: list[float],
) -> None:
    log = io.StringIO()
    report = ConsoleProgress(log)
    for done in range(0, 13):
        report(done, 12, "texts")
        clock[0] += 1.0
    assert log.getvalue().splitlines() == [
        "texts: 0/12 (0%) [00:00<?, ?/s]",
        "texts: 5/12 (42%) [00:05<00:07,  1.00/s]",
        "texts: 10/12 (83%) [00:10<00:02,  1.00/s]",
        "texts: 12/12 (100%) [00:12<00:00,  1.00/s]",
    ]


def test_a_terminal_has_one_line_that_is_redrawn(clock: list[float]) -> None:
    screen = Terminal()
    report = ConsoleProgress(screen)
    for done in range(3):
        report(done, 2, "texts")
        clock[0] += 1.0
    assert screen.getvalue().count("\n") == 1
    assert screen.getvalue().split("\r")[-1].startswith("texts: 100%|")
    assert screen.getvalue().endswith("| 2/2 [00:02<00:00,  1.00/s]\n")


def test_a_resumed_run_is_timed_from_where_it_began(clock: list[float]) -> None:
    log = io.StringIO()
    report = ConsoleProgress(log)
    report(90, 100, "texts")
    clock[0] += 5.0
    report(95, 100, "texts")
    assert log.getvalue().splitlines()[-1] == "texts: 95/100 (95%) [00:05<00:05,  1.00/s]"


def test_a_job_notes_how_far_it_is_and_what_time_it_will_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note, now = tmp_path / "1.json", [50.0]
    monkeypatch.setattr("core.progress.time.monotonic", lambda: now[0])
    monkeypatch.setenv(JOB_NOTE, str(note))
    monkeypatch.setattr("core.progress._rows", [])  # of jobs before in this process
    assert read_note(note) is None
    report = ConsoleProgress(io.StringIO())
    report(40, 100, "texts")  # a resumed run
    assert read_note(note) == ProgressNote(40, 100, "texts", None)
    now[0] += 0.1
    report(41, 100, "texts")
    assert read_note(note) == ProgressNote(40, 100, "texts", None)  # not too often
    now[0] += 9.9
    report(60, 100, "texts")
    assert read_note(note) == ProgressNote(60, 100, "texts", 20.0)  # 20 in ten seconds
    note_rows(rows := [{"epoch": 1, "loss": 0.5}])
    report(100, 100, "texts")
    assert read_note(note) == ProgressNote(100, 100, "texts", 0.0, tuple(rows))
    note_rows([])
    report(0, 5, "images")
    assert read_note(note) == ProgressNote(0, 5, "images", None)
    assert [path.name for path in tmp_path.iterdir()] == ["1.json"]


def test_deep_work_is_heard_by_the_innermost_listener_of_its_thread() -> None:
    outer: list[tuple[int, int, str]] = []
    inner: list[tuple[int, int, str]] = []
    tell(0, 9, "nobody listens")
    with heard_by(lambda *told: outer.append(told)):
        tell(1, 9, "texts")
        with heard_by(lambda *told: inner.append(told)):
            tell(3, 9, "texts")
        elsewhere = Thread(target=tell, args=(4, 9, "texts"))
        elsewhere.start()
        elsewhere.join()
        tell(5, 9, "texts")
    tell(6, 9, "texts")
    assert [done for done, *_ in outer] == [1, 5]
    assert inner == [(3, 9, "texts")]


def test_work_within_other_work_is_heard_after_a_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[tuple[int, int, str]] = []
    clock = iter(float(second) for second in range(100))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    with heard_by(lambda *told: heard.append(told)):
        for _ in tell_each(range(2), "models"):
            assert sum(1 for _ in tell_each(range(3), "layers")) == 3
        assert sum(1 for _ in tell_each(range(7), "pairs")) == 7
    assert [told for told in heard if told[2] == "models"] == [
        (done, 2, "models") for done in range(3)
    ]
    assert not [told for told in heard if told[2] == "layers"]
    assert [done for done, _, what in heard if what == "pairs"] == list(range(8))
    with heard_by(lambda *told: heard.append(told)):
        heard.clear()
        tell(0, 2, "models")
        assert sum(1 for _ in tell_each(range(9), "layers")) == 9
    assert heard == [(0, 2, "models"), *((done, 9, "layers") for done in range(5, 10))]
