"""What killed writers left is removed where nobody writes it any more, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.settings import READ_ONLY
from core.store import writer
from core.store.publishing import locked
from core.store.writer import remove_leftovers


def touch(path: Path, *, age: float = 0.0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")
    os.utime(path, (1e9 - age, 1e9 - age))
    return path


def files(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def test_what_is_half_built_goes_with_its_log(tmp_path: Path) -> None:
    kept = touch(tmp_path / "results" / "photos" / "neighbors-vit.parquet")
    touch(kept.with_name("neighbors-vit.new.parquet"))
    touch(kept.with_name("head-vit.new.duckdb"))
    touch(kept.with_name("head-vit.new.duckdb.wal"))
    remove_leftovers(tmp_path)
    assert files(tmp_path) == {"results/photos/neighbors-vit.parquet"}


def test_what_somebody_writes_stays(tmp_path: Path) -> None:
    new = touch(tmp_path / "results" / "photos" / "head.new.duckdb")
    with locked(new.with_name("head.duckdb")):
        remove_leftovers(tmp_path)
        assert new.exists()
    remove_leftovers(tmp_path)
    assert files(tmp_path) == set()


@pytest.mark.parametrize(
    ("published", "age", "stays"),
    [(True, 5.0, False), (True, -5.0, True), (False, 5.0, True)],
    ids=["of the file", "of the next one", "of none yet"],
)
def test_batches_go_once_their_file_is_there(
    tmp_path: Path, published: bool, age: float, stays: bool
) -> None:
    folder = tmp_path / "embeddings" / "photos"
    batch = touch(folder / "vit.parts" / "d323" / "00000000.npz", age=age)
    if published:
        touch(folder / "vit.duckdb")
    remove_leftovers(tmp_path)
    assert batch.exists() == stays
    assert (folder / "vit.duckdb").exists() == published


def test_batches_that_come_before_the_lock_is_held_stay(tmp_path: Path, monkeypatch) -> None:
    folder = tmp_path / "embeddings" / "photos"
    old = touch(folder / "vit.parts" / "d323" / "00000000.npz", age=5.0)
    touch(folder / "vit.duckdb")

    @contextmanager
    def locked_late(target: Path) -> Iterator[None]:
        touch(old.with_name("00000001.npz"), age=-5.0)
        with locked(target):
            yield

    monkeypatch.setattr(writer, "locked", locked_late)
    remove_leftovers(tmp_path)
    assert old.exists()


def test_a_store_that_is_only_shown_keeps_them(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv(READ_ONLY, "1")
    new = touch(tmp_path / "results" / "photos" / "head.new.duckdb")
    remove_leftovers(tmp_path)
    assert new.exists()


def test_a_store_that_is_not_there_has_none(tmp_path: Path) -> None:
    remove_leftovers(tmp_path / "none")
    assert files(tmp_path) == set()
