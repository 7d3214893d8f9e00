"""Whether files in the hub's cache hold what the hub has: their names there are digests."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from core.hub.repository import Repository


def files_of(wanted: Repository) -> frozenset[Path]:
    """Return the files of a repository that are in the cache, under the names of their content."""
    folder = str(wanted.cache / "blobs")
    names = os.listdir(folder) if os.path.isdir(folder) else []  # of any length, and no error
    return frozenset(Path(folder, name) for name in names if is_digest(name))


def remove_damaged(wanted: Repository, files: frozenset[Path]) -> list[str]:
    """Remove the files whose content is not what their name says, so that the next run fetches them
    anew; return what the repository calls them.
    """
    damaged = {path for path in files if path.exists() and digest_of(path) != path.name}
    if not damaged:
        return []
    names: set[str] = set()
    for link in (wanted.cache / "snapshots").glob("*/**/*"):
        if link.is_symlink() and link.resolve() in {path.resolve() for path in damaged}:
            names.add("/".join(link.relative_to(wanted.cache / "snapshots").parts[1:]))
            link.unlink()
    for path in damaged:
        path.unlink(missing_ok=True)
    return sorted(names)


def is_digest(name: str) -> bool:
    """Return whether a name is a digest: SHA-256 of a large file, or git's SHA-1 of a small one."""
    return re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", name) is not None


def digest_of(path: Path) -> str:
    """Return the digest of a file by which the hub would name it, of the kind of its name."""
    total = hashlib.sha256()
    if len(path.name) == 40:
        total = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            total.update(part)
    return total.hexdigest()
