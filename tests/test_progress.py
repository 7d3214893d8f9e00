"""Progress says what is done, the rate and the time left: a bar on a terminal, lines in a log."""

from __future__ import annotations

import io

import pytest

from core.progress import ConsoleProgress, Progress


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
