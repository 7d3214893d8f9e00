"""Threads that do one thing each: what is compared in many small parts gains more by them than by
cores within a part.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from core.machine.processes import count_threads


@contextmanager
def one_core_each() -> Iterator[ThreadPoolExecutor]:
    """Give as many threads as there are cores, and keep linear algebra to one core in each.

    Decompositions gain little from more cores and lose much where those are busy; and no result
    then depends on their number.
    """
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(count_threads()) as pool:
        yield pool
