"""How many of this machine's cores a process may use."""

from __future__ import annotations

import os

SHARE = "OMP_NUM_THREADS"  # as many threads may a process compute with; Ray sets it, too


def count_cores() -> int:
    """Return how many cores this process may run on, which a cluster may have limited."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def count_threads() -> int:
    """Return how many threads this process may compute with: one for each of its cores, or as many
    as its share is of those that it has in common with others.
    """
    share = os.environ.get(SHARE, "")
    return max(1, min(count_cores(), int(share))) if share.isdecimal() else count_cores()
