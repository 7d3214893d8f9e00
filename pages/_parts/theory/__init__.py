"""The Theory page: simulations that the server holds, each run once for all visitors."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

from core.progress import heard_by
from pages._shared import queries

T = TypeVar("T")


def held(key: Hashable, run: Callable[[], T]) -> T:
    """Return what a run has given before, or run it under a bar of its progress."""
    results: dict[Hashable, T] = queries.computed()
    if key not in results:
        with queries.bar() as report, heard_by(report):
            results[key] = run()
    return results[key]
