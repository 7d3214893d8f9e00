"""Memory: how much is free, and work that takes more is refused before it begins."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock

import psutil

from core.errors import DeviceError, PlatoscopeError

OWN_GROUPS, GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
_SHARE = 0.85
_BOUNDED = RLock()  # the limit is the process's
OUT_OF_MEMORY = (
    "out of memory",
    "can't allocate memory",
    "cannot allocate memory",
    "not enough memory",
    "failed to map segment",
)  # CUDA and MPS say, the CPU's allocator on Linux and elsewhere, and the linker


def size_text(size: float | None) -> str:
    """Return a number of bytes for people; an em dash if unknown.

    >>> size_text(798_720), size_text(1_585_152), size_text(96e12), size_text(None)
    ('799 kB', '1.59 MB', '96,000 GB', '—')
    """
    if size is None:
        return "—"
    for step, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= 1_000 * step:
            return f"{size / step:,.0f} {unit}"
        if size >= step:
            return f"{size / step:.3g} {unit}"
    return f"{size:.0f} bytes"


def free_memory() -> int:
    """Return how many bytes this process can still take, within the machine, its container and
    `ulimit -v`.
    """
    free = min([int(psutil.virtual_memory().available), *_free_in_groups()])
    if not hasattr(psutil, "RLIMIT_AS"):  # not on Linux
        return free
    process = psutil.Process()
    limit, _ = process.rlimit(psutil.RLIMIT_AS)
    return free if limit == psutil.RLIM_INFINITY else min(free, limit - process.memory_info().vms)


def _free_in_groups() -> list[int]:
    """Return how many bytes are free in each control group around this process that has a limit;
    the cache of files counts as free.
    """

    def lines(path: Path) -> list[str]:
        try:
            return path.read_text().splitlines()
        except OSError:
            return []

    own = [GROUPS / line[3:].lstrip("/") for line in lines(OWN_GROUPS) if line.startswith("0::")]
    free = []
    for group in (around for first in own for around in (first, *first.parents)):
        limit, held = lines(group / "memory.max"), lines(group / "memory.current")
        if limit and held and limit[0].isdecimal():
            parts = dict(line.split() for line in lines(group / "memory.stat"))
            files = sum(int(parts.get(kind, 0)) for kind in ("active_file", "inactive_file"))
            free.append(max(0, int(limit[0]) - int(held[0]) + files))
    return free


def check_memory(needed: int, what: str, advice: str) -> None:
    """Raise DeviceError for work that takes more bytes than are free. what: the work, in the
    plural.
    """
    free = free_memory()
    if needed > free:
        raise DeviceError(
            f"{what} take {size_text(needed)} of memory, but only {size_text(free)} is free;"
            f" {advice}"
        )


@contextmanager
def bounded(device: object) -> Iterator[None]:
    """Let what computes on the CPU take most of the memory that is free, so that too much is an
    error and not a kill; on Linux alone.
    """
    if not hasattr(psutil, "RLIMIT_AS") or str(device) != "cpu":
        yield
        return
    process = psutil.Process()
    with _BOUNDED:
        old, hard = process.rlimit(psutil.RLIMIT_AS)
        most = process.memory_info().vms + int(_SHARE * free_memory())  # never over an old limit
        process.rlimit(psutil.RLIMIT_AS, (most, hard))
        try:
            yield
        finally:
            process.rlimit(psutil.RLIMIT_AS, (old, hard))


def is_out_of_memory(error: BaseException | None) -> bool:
    """Return whether an error of any library means too little memory."""
    if error is None or isinstance(error, PlatoscopeError):
        return False
    named = getattr(error, "filename", None)  # may be called anything
    return (
        isinstance(error, MemoryError)
        or "OutOfMemory" in type(error).__name__
        or getattr(error, "errno", None) == errno.ENOMEM
        or (named is None and any(part in str(error).lower() for part in OUT_OF_MEMORY))
        or is_out_of_memory(error.__cause__)
    )
