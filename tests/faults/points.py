"""The points at which a writer's files can fail: every opening, lock, flush, renaming and removal
below a folder, counted as they come, and one of them made to fail.
"""

from __future__ import annotations

import builtins
import errno
import fcntl
import io
import os
import signal
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any

import duckdb

KILLS = ("killed before", "killed after")
ERRORS = {"full": errno.ENOSPC, "read-only": errno.EROFS, "denied": errno.EACCES}
DAMAGES = ("vanished", "flipped")
KINDS = (*KILLS, *ERRORS, *DAMAGES)
FREEING = ("unlink", "remove", "rmdir")  # which a full disk lets pass
FINISHING = ("fsync", "replace", "rename")  # after which a file is as its writer wants it
QUEUE_FULL = {
    "full": sqlite3.SQLITE_FULL,
    "read-only": sqlite3.SQLITE_READONLY,
    "denied": sqlite3.SQLITE_CANTOPEN,
}


@dataclass(frozen=True)
class Fault:
    """What happens at a point, the first being 0. A disk that is full or read-only stays so; a
    kill, a vanished and a flipped file happen once.
    """

    kind: str
    point: int


@dataclass
class Points:
    """Counts the points below a folder once `watch` was called; never undone, since it is the
    whole of a process that ends with its command.
    """

    root: Path
    fault: Fault | None = None
    met: list[str] = field(default_factory=list)
    bases: dict[int, str] = field(default_factory=dict)  # DuckDB's open files, by connection

    def watch(self) -> None:
        """Take the place of every call that changes a file."""
        for name in ("replace", "rename"):
            self._replace(os, name, lambda _, target, **__: target)
        for name in ("mkdir", "rmdir", "unlink", "remove", "truncate"):
            self._replace(os, name, _within)
        self._replace(os, "fsync", _of_handle)
        self._replace(fcntl, "flock", _locked)
        self._replace(os, "open", _written_by_flags)
        self._replace(io, "open", _written_by_mode)
        builtins.open = io.open
        self._watch_duckdb()
        self._watch_sqlite()

    def _replace(self, module: Any, name: str, path_of: Callable[..., Any]) -> None:
        call = getattr(module, name)

        @wraps(call)
        def watched(*arguments: Any, **options: Any) -> Any:
            path = path_of(*arguments, **options)
            return self._meet(name, path, lambda: call(*arguments, **options))

        setattr(module, name, watched)

    def _watch_duckdb(self) -> None:
        connect, kind = duckdb.connect, duckdb.DuckDBPyConnection
        execute, close = kind.execute, kind.close

        def connect_watched(database: str, **options: Any) -> duckdb.DuckDBPyConnection:
            connection = self._meet(
                "duckdb.connect", database, lambda: connect(database, **options), _as_duckdb
            )
            self.bases[id(connection)] = database
            return connection

        def execute_watched(connection: Any, query: str, *more: Any) -> Any:
            path = self.bases.get(id(connection)) if query == "CHECKPOINT" else None
            call = lambda: execute(connection, query, *more)  # noqa: E731
            return self._meet("duckdb.checkpoint", path, call, _as_duckdb)

        def close_watched(connection: Any) -> None:
            path = self.bases.pop(id(connection), None)
            self._meet("duckdb.close", path, lambda: close(connection), _as_duckdb)

        duckdb.connect, kind.execute, kind.close = connect_watched, execute_watched, close_watched

    def _watch_sqlite(self) -> None:
        connect, meet = sqlite3.connect, self._meet

        class Watched(sqlite3.Connection):
            path = ""

            def execute(self, query: str, *values: Any) -> sqlite3.Cursor:
                path = None if query.startswith("SELECT") else self.path
                call = lambda: sqlite3.Connection.execute(self, query, *values)  # noqa: E731
                return meet(f"sqlite.{query.split()[0].lower()}", path, call, _as_sqlite)

        def connect_watched(database: Any, **options: Any) -> sqlite3.Connection:
            connection = connect(database, factory=Watched, **options)
            connection.path = str(database)
            return connection

        sqlite3.connect = connect_watched

    def _meet(
        self,
        name: str,
        path: Any,
        call: Callable[[], Any],
        as_error: Callable[[str, str], Exception] | None = None,
    ) -> Any:
        """Pass a point: do the call, and what the fault says of it."""
        place = self._place(path)
        if place is None:
            return call()
        number, fault = len(self.met), self.fault
        self.met.append(f"{name} {place.relative_to(self.root)}")
        if fault is None or number < fault.point:
            return call()
        here = number == fault.point
        if here and fault.kind == "killed before":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault.kind in ERRORS and not (fault.kind == "full" and name in FREEING):
            raise (as_error or _as_os_error)(fault.kind, str(place))
        result = call()
        if here and fault.kind == "killed after":
            os.kill(os.getpid(), signal.SIGKILL)
        if here and name in FINISHING and fault.kind in DAMAGES:
            harm(place, fault.kind, whole=name != "fsync")
        return result

    def _place(self, path: Any) -> Path | None:
        """Return a path below the watched folder, None for any other."""
        if path is None or isinstance(path, int) or path == ":memory:":
            return None
        place = Path(os.path.abspath(os.fsdecode(path)))
        return place if place.is_relative_to(self.root) and place != self.root else None


def harm(path: Path, kind: str, *, whole: bool) -> None:
    """Let a file vanish, or flip one bit in its middle; of a folder that was put in its place
    (`whole`) all of it, or a bit of its first file.
    """
    if path.is_dir():
        files = [one for one in sorted(path.rglob("*")) if one.is_file()] if whole else []
        for file in files[: None if kind == "vanished" else 1]:
            harm(file, kind, whole=True)
        return
    with suppress(FileNotFoundError):
        data = bytearray(path.read_bytes())
        path.unlink()  # another name of the same file stays as it is
        if kind == "flipped":
            data[len(data) // 2] ^= 1 << (7 if path.suffix == ".json" else 3)
            path.write_bytes(data)


def _as_os_error(kind: str, path: str) -> OSError:
    return OSError(ERRORS[kind], os.strerror(ERRORS[kind]), path)


def _as_duckdb(kind: str, path: str) -> Exception:
    return duckdb.IOException(f'IO Error: Cannot open file "{path}": {os.strerror(ERRORS[kind])}')


def _as_sqlite(kind: str, path: str) -> Exception:
    error = sqlite3.OperationalError(f"{path}: {os.strerror(ERRORS[kind])}")
    error.sqlite_errorcode = QUEUE_FULL[kind]
    return error


def _of_handle(handle: Any, *_: Any) -> str:
    number = handle if isinstance(handle, int) else handle.fileno()
    return os.readlink(f"/proc/self/fd/{number}").removesuffix(" (deleted)")


def _locked(handle: Any, how: int) -> str | None:
    return None if how & fcntl.LOCK_UN else _of_handle(handle)


def _within(path: Any, *_: Any, dir_fd: int | None = None, **__: Any) -> Any:
    return path if dir_fd is None else f"{_of_handle(dir_fd)}/{os.fsdecode(path)}"


def _written_by_flags(path: Any, flags: int, *_: Any, dir_fd: int | None = None) -> Any:
    if not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        return None
    return _within(path, dir_fd=dir_fd)


def _written_by_mode(path: Any, mode: str = "r", *_: Any, **__: Any) -> Any:
    return path if set(mode) & set("wax+") else None
