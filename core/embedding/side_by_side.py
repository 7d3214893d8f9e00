"""Small models side by side: they leave most of a core idle when they share several, so on the CPU
each has one of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import torch

T = TypeVar("T")
R = TypeVar("R")


def count_jobs(items: int, device: torch.device) -> int:
    """Return how many models work at a time: as many as there are cores, one on another device."""
    return max(1, min(os.cpu_count() or 1, items)) if device.type == "cpu" else 1


def map_models(work: Callable[[T], R], items: Sequence[T], device: torch.device) -> Iterator[R]:
    """Yield what `work` makes of each item, in their order, `count_jobs` at a time."""
    jobs = count_jobs(len(items), device)
    with _threads_shared(jobs), ThreadPoolExecutor(jobs) as pool:
        try:
            yield from pool.map(work, items)
        finally:  # whoever stops waits for no more than what has begun
            pool.shutdown(cancel_futures=True)


@contextmanager
def _threads_shared(jobs: int) -> Iterator[None]:
    """Give each of `jobs` its share of torch's threads for a while."""
    all_threads = torch.get_num_threads()
    torch.set_num_threads(max(1, all_threads // jobs))
    try:
        yield
    finally:
        torch.set_num_threads(all_threads)
