"""What a hub hosts: repositories of models and datasets, commit by commit."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

LARGE = 1_000  # bytes, from which a file lies on the CDN, as those of git's large file storage do


@dataclass(frozen=True)
class HostedFile:
    """A file at one commit."""

    path: str
    data: bytes

    @property
    def is_large(self) -> bool:
        return len(self.data) >= LARGE

    @cached_property
    def digest(self) -> str:
        """Return the SHA-256, by which a large file is named."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def blob(self) -> str:
        """Return git's SHA-1, by which a small file is named."""
        return hashlib.sha1(f"blob {len(self.data)}\0".encode() + self.data).hexdigest()

    def listed(self) -> dict[str, object]:
        """Return its entry in a listing of the tree."""
        entry = {"type": "file", "path": self.path, "size": len(self.data), "oid": self.blob}
        large = {"oid": self.digest, "size": len(self.data), "pointerSize": 134}
        return {**entry, "lfs": large} if self.is_large else dict(entry)


@dataclass
class HostedRepository:
    """A repository of one kind, `models` or `datasets`. branches: the last commit of each. gated:
    whether its files are only for those who have accepted its terms.
    """

    kind: str
    name: str
    commits: dict[str, Mapping[str, HostedFile]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    gated: bool = False

    def commit(self, folder: Path, branch: str = "main") -> str:
        """Take a folder's files as the next commit of a branch and return its name."""
        files = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
        hosted = {path: HostedFile(path, data) for path, data in files.items()}
        named = "\n".join(f"{path} {file.digest}" for path, file in hosted.items())
        before = self.branches.get(branch, "")
        commit = hashlib.sha1(f"{before}\n{named}".encode()).hexdigest()
        self.branches[branch], self.commits[commit] = commit, hosted
        return commit

    def find(self, revision: str) -> str | None:
        """Return the commit that a revision means."""
        revision = self.branches.get(revision, revision)
        return revision if revision in self.commits else None

    @property
    def prefix(self) -> str:
        """Return what its addresses begin with."""
        return self.name if self.kind == "models" else f"{self.kind}/{self.name}"
