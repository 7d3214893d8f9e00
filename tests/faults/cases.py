"""One case: a command whose files fail at one point, then what is left of the store, then the
command once more.
"""

from __future__ import annotations

import filecmp
import hashlib
import json
import os
import re
import signal
import sqlite3
import sys
import traceback
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from core.store.publishing import UNPLACED
from tests.faults.points import DAMAGES, ERRORS, Fault, Points
from tests.faults.table import ROWS, Row

TIMES = ("seconds", "queued_at", "made_at")
# A leftover lock is held by nobody: the next writer of its file takes and removes it, and a
# second run that finds the file whole needs none. Logs tell what happened, checkpoints when; the
# training pool is named by digests. Parts and `.new` files are compared as all others, but not what
# `write_file` could not put in place nor remove: it may be another writer's, and stays, hidden.
UNREAD = (".lock", ".log", ".pt", ".npy")
RESULTS = "store/results/"  # kept to save time alone: whoever needs one makes it again
SPARED = ("neighbors-", "head-")  # results that nobody needs any more once an answer is kept
WRITTEN = ("store/titles.json",)  # by people: what is lost of them is lost
PASSED = "weights/gpt2-xs-step"  # by a training that has gone on, and cannot go back


def strike(row: Row, world: Path, case: Path, fault: Fault | None) -> int:
    """Run a row, let a fault happen to it, and return its exit code; which points it met is left in
    the world's folder.
    """
    points = Points(case, fault)
    with _in(case, world):
        points.watch()
        code = row.run(world)
    points.fault = None
    (world / "points").write_text("\n".join(points.met))
    return code


def judge(row: Row, world: Path, case: Path, fault: Fault, code: int) -> list[str]:
    """Say what is wrong with what a struck command said and left, and with a second run of it;
    nothing where it held. code: its exit code.
    """
    waited = row.patient and code == -signal.SIGALRM and fault.kind in ERRORS
    wrong = list(_judge_waiting(case) if waited else _judge_words(case, fault, code))
    base, lossy = world / "stores" / row.base, fault.kind in DAMAGES
    wrong += _judge_reading(case, base, lossy=lossy)
    whole = snapshot(world / "wholes" / row.name, base)
    if code == 0 and fault.kind in ERRORS:
        left = snapshot(case, base)
        due = {name for name in whole if not (row.quiet and name.startswith(RESULTS))}
        expected = {name: whole[name] for name in due}
        present = {name: left[name] for name in left.keys() & due}
        wrong += _differences(expected, present, "it ended well, but")
    wrong += _judge_again(row, world, case, lossy=lossy)
    left = snapshot(case, base)
    if row.quiet:
        spared = _spared(world / "wholes" / row.name, answers=lossy and row.in_steps) - left.keys()
        whole = {name: one for name, one in whole.items() if name not in spared}
    if row.goes_on:
        others = {name for name in left.keys() - whole.keys() if _is_answer(name)}
        left = {name: one for name, one in left.items() if name not in others}
    differing = _mendable(whole, lossy=lossy), _mendable(left, lossy=lossy)
    return wrong + _differences(*differing, "after a second run")


def _spared(whole: Path, *, answers: bool) -> set[str]:
    """Return the results of an undisturbed run that nobody needs any more once its last one is
    kept; answers: also those on which that one is built.
    """
    results = sorted(whole.glob(f"{RESULTS}*/*.duckdb"), key=lambda path: path.stat().st_mtime_ns)
    helping = [path for path in results if path.name.startswith(SPARED)]
    earlier = [path for path in results[:-1] if _is_answer(str(path.relative_to(whole)))]
    return {str(path.relative_to(whole)) for path in (*helping, *(earlier if answers else ()))}


def _is_answer(name: str) -> bool:
    return name.startswith(RESULTS) and Path(name).name.startswith("answer-")


def _mendable(files: dict[str, Any], *, lossy: bool) -> dict[str, Any]:
    """Return the files that a second run makes again: where some were lost, not what people
    wrote.
    """
    return {
        name: one
        for name, one in files.items()
        if not (lossy and (name in WRITTEN or name.startswith(PASSED)))
    }


def snapshot(case: Path, base: Path) -> dict[str, Any]:
    """Return what the files of a case hold, but for when they were made; base: the store that it
    began with, whose untouched files need not be read.
    """
    names = [path for path in case.rglob("*") if path.is_file()]
    return {
        str(path.relative_to(case)): "as it was" if _is_as_in(base, case, path) else _content(path)
        for path in names
        if path.suffix not in UNREAD
        and path.name not in ("out", "err")
        and not path.name.startswith(UNPLACED)
    }


def _is_as_in(base: Path, case: Path, path: Path) -> bool:
    """Return whether a file is that of the store that a case began with."""
    if not path.is_relative_to(case / "store"):
        return False
    before = base / path.relative_to(case / "store")
    return before.exists() and filecmp.cmp(before, path, shallow=False)


def _content(path: Path) -> Any:
    from store_fakes import contents

    if path.suffix == ".duckdb":
        return contents(path) | {"name": ""}
    if path.suffix == ".sqlite":
        with closing(sqlite3.connect(path)) as table:
            return table.execute("SELECT words, state, exit_code, failure FROM jobs").fetchall()
    if path.suffix == ".json":
        with suppress(ValueError):  # a flipped bit's
            return _timeless(json.loads(path.read_text()))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(one) for key, one in value.items() if key not in TIMES}
    return value


def _judge_words(case: Path, fault: Fault, code: int) -> Iterator[str]:
    """Yield what is wrong with how a command ended: well, killed as it should be, or by a sentence
    with a remedy.
    """
    said = (case / "err").read_text(errors="replace")
    lines = [line for line in said.splitlines() if line.startswith("platoscope: ")]
    if (fault.kind.startswith("killed") and code == -9) or code == 0:
        return
    if code != 2:
        yield f"exit code {code}: {said[-1500:]}"
    elif "Traceback" in said:
        yield f"a traceback: {said[-600:]}"
    elif not lines:
        yield f"no sentence: {said[-300:]}"
    elif ";" not in lines[-1] or "results could not be printed" in lines[-1]:
        yield f"no remedy: {lines[-1]}"


def _judge_waiting(case: Path) -> Iterator[str]:
    """Yield what is wrong with a command that waited until it was ended: it must have said why."""
    said = (case / "err").read_text(errors="replace")
    if not re.search(r"^platoscope: jobs wait and are tried again: .+; .+", said, re.MULTILINE):
        yield f"it waits without a word: {said[-300:]}"


def _judge_reading(case: Path, base: Path, *, lossy: bool) -> Iterator[str]:
    """Yield what is wrong with reading a store after a fault; where a file may be damaged, delete
    what a sentence names, as it says.
    """
    from core.errors import StoreError
    from core.store import Store
    from core.store.notes.titles import read_titles

    store = case / "store"
    for path in sorted(store.glob("*/**/*.duckdb")):
        if path.name.endswith(".new.duckdb") or _is_as_in(base, case, path):
            continue
        try:
            _read_all(path)
        except StoreError as error:
            if not lossy or str(path) not in str(error) or ";" not in str(error):
                yield f"unreadable: {error}"
            path.unlink()
    try:
        read_titles(store)
    except StoreError as error:
        if not lossy or "move it away" not in str(error):
            yield f"unreadable: {error}"
        (store / "titles.json").unlink()
    for problem in Store(store).problems():
        if not lossy:
            yield f"left out: {problem}"


def _read_all(path: Path) -> None:
    from core.store.examine import examine
    from core.store.tables import reading

    examine(path)
    with reading(path) as connection:
        names = connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE database_name = 'file'"
        ).fetchall()
        for (name,) in names:
            connection.execute(f"SELECT * FROM file.{name}").fetchall()


def _judge_again(row: Row, world: Path, case: Path, *, lossy: bool) -> Iterator[str]:
    """Yield what is wrong with a second run, which nothing disturbs; where it says that a damaged
    file is to be deleted, do so and run it once more.
    """
    code, said = _run(row, world, case)
    if code and lossy and (damaged := re.search(r"platoscope: (\S+) is damaged; delete it", said)):
        (case / damaged[1]).unlink()
        code, said = _run(row, world, case)
    if code and not (row.once and code == 2):
        yield f"a second run ends with {code}: {said[-600:]}"


def _run(row: Row, world: Path, case: Path) -> tuple[int, str]:
    with _in(case, world):
        code = row.run(world)
    return code, (case / "err").read_text(errors="replace")


def _differences(whole: dict[str, Any], left: dict[str, Any], when: str) -> list[str]:
    missing, more = sorted(whole.keys() - left.keys()), sorted(left.keys() - whole.keys())
    other = [name for name in whole.keys() & left.keys() if whole[name] != left[name]]
    pairs = (("missing", missing), ("left over", more), ("other content", other))
    return [f"{when} {what}: {', '.join(names)}" for what, names in pairs if names]


@contextmanager
def _in(case: Path, world: Path) -> Iterator[None]:
    """Work in a case's folder, over its store, what is printed going to files there."""
    os.chdir(case)
    os.environ |= {"PLATOSCOPE_STORE": str(case / "store"), "FAULTS_WORLD": str(world)}
    sys.stdout.flush(), sys.stderr.flush()
    for number, name in ((1, "out"), (2, "err")):
        handle = os.open(case / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(handle, number)
        os.close(handle)
    try:
        yield
    finally:
        sys.stdout.flush(), sys.stderr.flush()


def run_case(name: str, world: str, case: str, what: str, more: list[Any]) -> int:
    """Do what a line that `tests.faults.warm` reads asks for, and return an exit code."""
    row, place = ROWS[name], Path(case)
    if what == "strike":
        return strike(row, Path(world), place, Fault(*more) if more else None)
    kind, point, code = more
    try:
        wrong = judge(row, Path(world), place, Fault(kind, point), code)
    except Exception:
        wrong = [traceback.format_exc()]
    (Path(world) / "wrong").write_text(json.dumps(wrong))
    return 0
