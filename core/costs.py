"""What work takes, said before it begins: more memory than is free is refused."""

from __future__ import annotations

import psutil

from core.errors import DeviceError

GB = 10**9


def free_memory() -> int:
    """Return how many bytes this process can still take: what the machine has free, or less where
    the process has a limit (`ulimit -v`).
    """
    free = int(psutil.virtual_memory().available)
    if not hasattr(psutil, "RLIMIT_AS"):  # not on Linux
        return free
    process = psutil.Process()
    limit, _ = process.rlimit(psutil.RLIMIT_AS)
    return free if limit == psutil.RLIM_INFINITY else min(free, limit - process.memory_info().vms)


def check_memory(needed: int, what: str, advice: str) -> None:
    """Refuse work that takes more bytes than are free; raises DeviceError.

    what: the work, as the subject of a sentence in the plural. advice: what to do instead.
    """
    free = free_memory()
    if needed > free:
        raise DeviceError(
            f"{what} take {needed / GB:,.1f} GB of memory, and {free / GB:,.1f} GB are free:"
            f" {advice}"
        )
