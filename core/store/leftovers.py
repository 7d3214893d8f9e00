"""What interrupted runs left behind: files half built, and batches of vectors that are whole by
now.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from itertools import chain
from pathlib import Path

from core.errors import StoreError
from core.settings import is_read_only
from core.store.publishing import locked
from core.store.schema import RESULT, SUFFIX


def remove_leftovers(root: Path) -> None:
    """Remove from a store what nobody is writing any more; batches that a run takes up again stay.

    Whatever cannot be removed now stays until the next time: it does no harm.
    """
    if is_read_only():
        return
    with suppress(OSError):
        for suffix in (SUFFIX, RESULT):
            built = (root.glob(f"{folders}/*.new{suffix}*") for folders in ("*", "*/*"))
            for new in chain(*built):  # DuckDB's log lies next to it
                name = new.name.partition(f".new{suffix}")[0]
                _remove(new, target=new.with_name(f"{name}{suffix}"))
        for parts in root.glob("embeddings/*/*.parts"):
            if (target := parts.with_suffix(SUFFIX)).exists():
                _remove(parts, target=target)


def _is_newer(parts: Path, target: Path) -> bool:
    """Return whether a batch was finished after the file was published: it is of the next one."""
    published = target.stat().st_mtime_ns
    return any(batch.stat().st_mtime_ns > published for batch in parts.glob("*/*"))


def _remove(path: Path, *, target: Path) -> None:
    with suppress(StoreError, OSError), locked(target):
        if not path.is_dir():
            path.unlink(missing_ok=True)
        elif not _is_newer(path, target):
            shutil.rmtree(path, ignore_errors=True)
