"""How much processor time each test file took, its processes included:

    python -m pytest -p tests.processor

A fixture counts for the file that asks for it first. Processes count once they have ended.
"""

from __future__ import annotations

from collections import Counter
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

import pytest

spent: Counter[str] = Counter()  # seconds, by file


def used() -> float:
    usages = [getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def pytest_collection_finish() -> None:
    spent["(imports and collecting)"] += used()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item):
    before = used()
    try:
        return (yield)
    finally:
        spent[item.location[0]] += used() - before


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["spent"] = dict(spent)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node) -> None:
    spent.update(node.workeroutput["spent"])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    write = terminalreporter.write_line
    write(f"{sum(spent.values()):8.1f} s of processor time")
    for name, seconds in spent.most_common():
        if seconds >= 1:
            write(f"{seconds:8.1f} s {name}")
