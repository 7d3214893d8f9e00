"""Whatever happens to the files of a command that writes, the store reads, and the next run ends as
one that nothing disturbed: killed, a full, read-only or forbidden disk, a file that vanishes or has
a bit flipped, at every opening, lock, flush, renaming and removal.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.cli import make_parser
from tests.faults.striking import Striker, open_striker
from tests.faults.table import CARELESS, LIKE_ALIGN, READING, ROWS, TABLE, Row

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it looks files up in /proc")


@pytest.fixture(scope="module")
def striker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Striker]:
    with open_striker(tmp_path_factory.mktemp("faults")) as striker:
        yield striker


def commands(parser: argparse.ArgumentParser, words: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield every command's words."""
    groups = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    for group in groups:
        for word, below in group.choices.items():
            yield from commands(below, (*words, word))
    if not groups:
        yield " ".join(words)


def test_every_command_that_writes_has_a_row() -> None:
    rows = [row.name for row in TABLE if row.deed is None]
    assert sorted([*rows, *READING, *LIKE_ALIGN]) == sorted(commands(make_parser()))


@pytest.mark.slow
def test_a_writer_that_changes_a_file_in_place_is_found(striker: Striker) -> None:
    wrong = striker.strike_all(CARELESS).wrong
    (killed,) = [
        said for case, said in wrong.items() if case.startswith("killed after at 1 (fsync")
    ]
    assert "titles.json does not hold titles" in killed[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", [row.name for row in TABLE])
def test_no_fault_harms_anything(striker: Striker, name: str) -> None:
    outcome = striker.strike_all(ROWS[name])
    assert outcome.cases > 5
    assert outcome.wrong == {}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Return a folder on a disk of 24 MB of its own; only root may make one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", folder],
        capture_output=True,
        check=False,
    )
    if not mounted or mounted.returncode:
        pytest.skip("this user may not mount a small disk")
    yield folder
    subprocess.run(["umount", folder], check=True)


def begin_on(disk: Path, striker: Striker, row: Row) -> Path:
    """Begin a case on a disk of its own; what is printed goes elsewhere."""
    case = disk / "case"
    shutil.copytree(striker.world / "stores" / row.base, case / "store")
    for name in ("out", "err"):
        (case / name).symlink_to(disk.parent / name)
    return case


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "free"),
    [
        (name, free)
        for name in ("import", "embed", "summarize", "upload a dataset", "competence import")
        for free in (0, 4_096, 40_000, 300_000, 700_000)
    ],
)
def test_a_disk_that_is_really_full(striker: Striker, disk: Path, name: str, free: int) -> None:
    row = ROWS[name]
    striker.whole(row)
    case = begin_on(disk, striker, row)
    with (disk / "rest").open("wb", buffering=0) as rest:
        os.posix_fallocate(rest.fileno(), 0, shutil.disk_usage(disk).free - free)
    code = striker.do(row, case, "strike")
    said = (disk.parent / "err").read_text()
    assert code == 2
    assert "no room for" in said
    (disk / "rest").unlink()
    assert striker.judge(row, case, "full", 0, code) == []


@pytest.mark.slow
def test_a_disk_that_is_really_read_only(striker: Striker, disk: Path) -> None:
    row = ROWS["import"]
    striker.whole(row)
    case = begin_on(disk, striker, row)
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    code = striker.do(row, case, "strike")
    subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
    assert code == 2
    assert "is read-only; choose another store" in (disk.parent / "err").read_text()
    assert striker.judge(row, case, "full", 0, code) == []
