"""What a folder holds, as it lies on the disk: whoever only reads leaves it as it was."""

from __future__ import annotations

import hashlib
from pathlib import Path

Footprint = dict[str, tuple[int, str]]  # by path: when it was changed, and a digest of its content


def footprint(folder: Path) -> Footprint:
    """Return all files and folders below a folder, hidden ones and itself too."""
    return {path.relative_to(folder).as_posix(): _of(path) for path in [folder, *folder.rglob("*")]}


def _of(path: Path) -> tuple[int, str]:
    content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    return path.lstat().st_mtime_ns, content
