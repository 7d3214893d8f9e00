"""Progress says what is done, the rate and the time left: a bar on a terminal, lines in a log."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from core import progress
from core.progress import (
    JOB_NOTE,
    ConsoleProgress,
    Patient,
    Progress,
    ProgressNote,
    heard_by,
    in_job,
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


def test_it_is_what_long_work_reports_to() -> None:
    assert isinstance(ConsoleProgress(), Progress)


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


def test_slow_reports_after_fast_ones_are_not_skipped(clock: list[float]) -> None:
    log = io.StringIO()
    report = ConsoleProgress(log)
    for done in range(0, 500, 5):
        report(done, 1000, "texts")
        clock[0] += 0.06
    before = log.getvalue().count("\n")
    for done in (496, 497, 498):
        clock[0] += 6.0
        report(done, 1000, "texts")
    assert log.getvalue().count("\n") == before + 3


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


def test_other_work_and_a_new_beginning_get_a_line_of_their_own(clock: list[float]) -> None:
    log = io.StringIO()
    report = ConsoleProgress(log)
    for done, what in ((1, "texts"), (1, "images"), (0, "images")):
        report(done, 4, what)
        clock[0] += 5.0
    begun = [line.partition(" (")[0] for line in log.getvalue().splitlines()]
    assert [line for place, line in enumerate(begun) if line not in begun[:place]] == [
        "texts: 1/4",
        "images: 1/4",
        "images: 0/4",
    ]


def test_it_speaks_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    ConsoleProgress()(1, 1, "texts")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("texts: 1/1 (100%)")


def test_a_job_notes_how_far_it_is_and_what_time_it_will_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note, now = tmp_path / "1.json", [50.0]
    monkeypatch.setattr("core.progress.time.monotonic", lambda: now[0])
    monkeypatch.setenv(JOB_NOTE, str(note))
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
    report(100, 100, "texts")
    assert read_note(note) == ProgressNote(100, 100, "texts", 0.0)
    report(0, 5, "images")
    assert read_note(note) == ProgressNote(0, 5, "images", None)
    assert [path.name for path in tmp_path.iterdir()] == ["1.json"]


def test_only_a_job_notes_its_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(JOB_NOTE, raising=False)
    monkeypatch.chdir(tmp_path)
    ConsoleProgress(io.StringIO())(1, 2, "texts")
    assert not in_job()
    assert list(tmp_path.iterdir()) == []


def test_deep_work_is_heard_by_the_innermost_listener_of_its_thread() -> None:
    outer: list[tuple[int, int, str]] = []
    inner: list[tuple[int, int, str]] = []
    tell(0, 9, "nobody listens")
    with heard_by(lambda *told: outer.append(told)):
        tell(1, 9, "texts")
        with heard_by(None):
            tell(2, 9, "texts")
        with heard_by(lambda *told: inner.append(told)):
            tell(3, 9, "texts")
        elsewhere = Thread(target=tell, args=(4, 9, "texts"))
        elsewhere.start()
        elsewhere.join()
        tell(5, 9, "texts")
    tell(6, 9, "texts")
    assert [done for done, *_ in outer] == [1, 2, 5]
    assert inner == [(3, 9, "texts")]


def test_items_are_told_before_the_first_and_after_each() -> None:
    heard: list[tuple[int, int, str]] = []
    with heard_by(lambda *one: heard.append(one)):
        assert list(tell_each("ab", "letters")) == ["a", "b"]
    assert heard == [(0, 2, "letters"), (1, 2, "letters"), (2, 2, "letters")]


def test_deep_work_is_shown_once_it_takes_long_also_within_other_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, shown = 0.0, list[tuple[int, int, str]]()
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    report = Patient(lambda *one: shown.append(one))
    for pair in range(3):
        report(pair, 3, "pairs")
        for layer in range(11):
            report(layer, 10, "layers")
            now += 0.3  # all layers of a pair take 3.3 s, and no 5 s
    report(3, 3, "pairs")
    assert shown == [(2, 3, "pairs"), (3, 3, "pairs")]
    for layer in range(4):
        report(layer, 3, "layers")
        now += 3
    assert shown[2:] == [(2, 3, "layers"), (3, 3, "layers")]


def test_a_command_without_a_word_says_that_it_is_still_at_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress, "SILENCE", 0.01)
    log = io.StringIO()
    shown = ConsoleProgress(log)
    with shown.awake():
        wait_until(lambda: re.search(r"still at work after \d+ s", log.getvalue()))
        shown(1, 4, "pairs")
        wait_until(lambda: log.getvalue().count("pairs: 1/4") > 2)
    said = log.getvalue()
    time.sleep(0.05)
    assert log.getvalue() == said


def wait_until(holds: Callable[[], object]) -> None:
    """Wait until something holds, three minutes at most."""
    end = time.monotonic() + 180
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)
