"""Progress says what is done, the rate and the time left, and keeps quiet in a log."""

from __future__ import annotations

import io

import pytest

from core import progress
from core.progress import ConsoleProgress, progress_line


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize(
    ("done", "gained", "seconds", "line"),
    [
        (0, 0, 0.0, "a: 0/200 (0%)"),
        (50, 50, 10.0, "a: 50/200 (25%), 5/s, 30 s left"),
        (150, 50, 250.0, "a: 150/200 (75%), 0.2/s, 4 min 10 s left"),
        (100, 10, 1000.0, "a: 100/200 (50%), 0.01/s, 2 h 46 min left"),
        (200, 100, 50.0, "a: 200/200 (100%), 2/s, took 50 s"),
    ],
)
def test_a_line_counts_what_was_gained_here(
    done: int, gained: int, seconds: float, line: str
) -> None:
    assert progress_line(done, 200, "a", gained=gained, seconds=seconds) == line


def test_a_log_gets_a_line_every_five_seconds_and_one_at_the_end(clock: list[float]) -> None:
    log = io.StringIO()
    report = ConsoleProgress(log)
    for done in range(0, 13):
        report(done, 12, "texts")
        clock[0] += 1.0
    assert log.getvalue().splitlines() == [
        "texts: 5/12 (42%), 1/s, 7 s left",
        "texts: 10/12 (83%), 1/s, 2 s left",
        "texts: 12/12 (100%), 1/s, took 12 s",
    ]


def test_a_terminal_has_one_line_that_is_redrawn(clock: list[float]) -> None:
    screen = Terminal()
    report = ConsoleProgress(screen)
    for done in range(3):
        report(done, 2, "texts")
        clock[0] += 1.0
    assert screen.getvalue().count("\n") == 1
    assert screen.getvalue().split("\r")[-1] == "texts: 2/2 (100%), 1/s, took 2 s\033[K\n"


def test_a_resumed_run_is_timed_from_where_it_began(clock: list[float]) -> None:
    log = io.StringIO()
    report = ConsoleProgress(log)
    report(90, 100, "texts")
    clock[0] += 5.0
    report(95, 100, "texts")
    assert log.getvalue() == "texts: 95/100 (95%), 1/s, 5 s left\n"


def test_it_speaks_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    ConsoleProgress()(1, 1, "texts")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "texts: 1/1 (100%)\n")
