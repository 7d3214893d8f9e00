"""What cannot be read is left out and explained; what cannot be written harms nothing."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from store_fakes import CountedDataset, CountingEncoder, vectors

from core.errors import (
    StoreBusyError,
    StoreDamagedError,
    StoreVersionError,
    StoreWriteError,
    UnknownNameError,
)
from core.recipe import Recipe
from core.store import Embedding, Store, add_dataset, publishing, write_embedding, write_result
from core.store.files import examine
from core.store.publishing import locked, publish
from core.store.schema import VERSIONS

RECIPE = Recipe.of("embedding", version=VERSIONS["embedding"], pooling="mean")


def write(root: Path, name: str, *, size: int = 20, dims: int = 4, revision: str = "r1") -> Path:
    return write_embedding(
        root,
        Embedding(
            dataset=CountedDataset(size, revision=revision).card,
            card=replace(CountingEncoder(layers=1).card, name=name),
            level="20",
            layers=[vectors(range(size), layer=0, dims=dims)],
            bits=None,
            bytes=None,
            recipe=RECIPE,
            device="cpu",
            seconds=0.0,
        ),
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("made")
    add_dataset(root, CountedDataset())
    write(root, "good")
    return root


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    """Return a store of one's own with the dataset and the embedding `good` in it."""
    return shutil.copytree(made, tmp_path / "store")


def only_good(root: Path) -> str:
    """Return the one problem of a store in which everything else can still be read."""
    store = Store(root)
    assert [entry.card.name for entry in store.models("counted")] == ["good"]
    np.testing.assert_array_equal(
        store.space("counted", "good", 0), vectors(range(20), layer=0, dims=4)
    )
    (problem,) = store.problems()
    return problem


def change_meta(path: Path, key: str, value: str | None) -> None:
    with closing(duckdb.connect(str(path))) as connection:
        if value is None:
            connection.execute("DELETE FROM meta WHERE key = ?", [key])
        else:
            connection.execute("UPDATE meta SET value = ? WHERE key = ?", [value, key])


@pytest.mark.parametrize("left", [0, 5, 100, 5_000, 12_288, -300_000, -4_096, -1])
def test_a_truncated_file_is_left_out(root: Path, left: int) -> None:
    path = write(root, "cut", dims=2_000)
    whole = path.read_bytes()
    path.write_bytes(whole[:left])
    problem = only_good(root)
    assert str(path) in problem
    assert problem.count("delete it and make it again") == 1
    with pytest.raises(
        StoreDamagedError, match=r"cut.duckdb is (truncated|damaged|not a DuckDB file)"
    ):
        examine(path)
    write(root, "cut")
    assert Store(root).problems() == []


def test_a_file_with_a_broken_block_is_refused_when_it_is_read(root: Path) -> None:
    path = write(root, "rotten", dims=5_000)
    data = bytearray(path.read_bytes())
    data[100_000:100_008] = b"\xff" * 8
    path.write_bytes(data)
    with pytest.raises(
        StoreDamagedError,
        match=r"rotten.duckdb is damaged; delete it and make it again \(.*checksum",
    ):
        Store(root).space("counted", "rotten", 0)


@pytest.mark.parametrize(
    "content", [b"a note to myself\n" * 900, b"\x89PNG\r\n\x1a\n", b"PK\x03\x04" + bytes(500)]
)
def test_a_foreign_file_is_left_out(root: Path, content: bytes) -> None:
    (root / "embeddings" / "counted" / "foreign.duckdb").write_bytes(content)
    assert "(truncated, or made by another program)" in only_good(root)


def test_a_duckdb_file_of_another_program_is_left_out(root: Path) -> None:
    with closing(
        duckdb.connect(str(root / "embeddings" / "counted" / "other.duckdb"))
    ) as connection:
        connection.execute("CREATE TABLE prices (a INTEGER)")
    assert (
        "other.duckdb is a DuckDB file, but none of Platoscope's; move it out of the store"
        in only_good(root)
    )


def test_another_schema_is_left_out_and_named(root: Path) -> None:
    path = write(root, "newer")
    change_meta(path, "schema", "2")
    assert "newer.duckdb has schema 2, this Platoscope reads 1; make it again" in only_good(root)
    with pytest.raises(StoreVersionError, match="has schema 2"):
        examine(path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("card", None),
        ("card", '{"name": "x"}'),
        ("card", "[" * 100_000),
        ("recipe", '{"pooling":"last"}'),
        ("dims", "3"),
        ("dims", "{"),
    ],
)
def test_a_file_that_does_not_say_what_it_holds_is_left_out(
    root: Path, key: str, value: str | None
) -> None:
    change_meta(write(root, "mute"), key, value)
    assert "it does not say what it holds" in only_good(root)


def test_an_embedding_of_another_revision_is_left_out(root: Path) -> None:
    write(root, "stale", revision="r0")
    assert (
        "stale.duckdb was made over revision r0 of 'counted', which is at r1 now; make it again"
        in only_good(root)
    )


def test_a_copy_under_another_name_is_left_out(root: Path) -> None:
    shutil.copy(
        root / "embeddings" / "counted" / "good.duckdb",
        root / "embeddings" / "counted" / "copy.duckdb",
    )
    assert (
        "copy.duckdb holds the embedding 'good' of dataset 'counted'; move it to where that belongs"
        in only_good(root)
    )


def test_a_damaged_dataset_hides_its_embeddings_until_it_is_added_again(root: Path) -> None:
    (root / "datasets" / "counted.duckdb").write_bytes(b"")
    assert Store(root).datasets() == []
    assert len(Store(root).problems()) == 2
    with pytest.raises(UnknownNameError, match="no dataset named 'counted'"):
        Store(root).space("counted", "good", 0)
    add_dataset(root, CountedDataset())
    assert Store(root).problems() == []
    assert len(Store(root).models("counted")) == 1


def test_a_folder_without_the_right_to_read_is_explained(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, "secret")
    original = Path.open

    def refuse(self: Path, mode: str = "r", **how: str) -> object:
        if self.name == "secret.duckdb":
            raise PermissionError(errno.EACCES, "Permission denied")
        return original(self, mode, **how)

    monkeypatch.setattr(Path, "open", refuse)
    assert "secret.duckdb cannot be read: Permission denied" in only_good(root)


HOLD = """
import sys
from pathlib import Path
from core.store.publishing import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(root: Path) -> Iterator[subprocess.Popen[str]]:
    """Return another process that is writing `good`."""
    target = root / "embeddings" / "counted" / "good.duckdb"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(target)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    with process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


@pytest.mark.usefixtures("holder")
def test_a_second_writer_is_refused(root: Path) -> None:
    with pytest.raises(
        StoreBusyError,
        match=(
            r"another process is writing 'good' in .*counted; wait until it is done, or stop it"
        ),
    ):
        write(root, "good", dims=7)
    write(root, "another")
    assert Store(root).space("counted", "good", 0).shape == (20, 4)


def test_a_killed_writer_blocks_nobody(root: Path, holder: subprocess.Popen[str]) -> None:
    holder.kill()
    holder.wait()
    write(root, "good", dims=7)
    assert Store(root).space("counted", "good", 0).shape == (20, 7)
    assert [path.name for path in (root / "embeddings" / "counted").iterdir()] == ["good.duckdb"]


def test_only_one_of_many_threads_writes_at_a_time(tmp_path: Path) -> None:
    inside, most, busy, barrier = [0], [0], [0], threading.Barrier(8)

    def compete() -> None:
        barrier.wait()
        for _ in range(60):
            try:
                with locked(tmp_path / "a.duckdb"):
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                    inside[0] -= 1
            except StoreBusyError:
                busy[0] += 1

    threads = [threading.Thread(target=compete) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]
    assert busy[0] < 8 * 60
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES])
def test_a_read_only_store_says_so(root: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def refuse(*_: object) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(publishing.os, "open", refuse)
    with pytest.raises(
        StoreWriteError,
        match="counted is read-only; choose another store with --store, or change its rights",
    ):
        write(root, "new")
    monkeypatch.undo()
    assert len(Store(root).models("counted")) == 1


def test_a_disk_that_fills_up_while_publishing_harms_nothing(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(publishing.os, "fsync", refuse)
    with pytest.raises(StoreWriteError, match="the disk has no room for"):
        write(root, "good", dims=7)
    monkeypatch.undo()
    assert Store(root).space("counted", "good", 0).shape == (20, 4)


def test_an_error_while_filling_leaves_nothing_behind(tmp_path: Path) -> None:
    def fill(connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute("CREATE TABLE a (b INTEGER)")
        raise KeyboardInterrupt("pressed")

    with pytest.raises(KeyboardInterrupt, match=r"^pressed$"):
        publish(tmp_path / "a.duckdb", fill)
    assert list(tmp_path.iterdir()) == []


def test_many_threads_read_while_files_are_replaced(root: Path) -> None:
    wrong: list[str] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            store = Store(root)
            space = store.space("counted", "good", 0)
            if not np.array_equal(space, vectors(range(20), layer=0, dims=space.shape[1])):
                wrong.append(str(space))
            store.result("counted", "table")
            time.sleep(0.001)  # readers that never rest would starve the writer of Python's lock

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for dims in range(5, 8):
        write(root, "good", dims=dims)
        write_result(
            root,
            dataset=CountedDataset().card,
            name="table",
            table=pd.DataFrame({"a": [dims]}),
            recipe=RECIPE,
        )
        assert Store(root).space("counted", "good", 0).shape == (20, dims)
        assert Store(root).result("counted", "table")[0]["a"][0] == dims
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []
