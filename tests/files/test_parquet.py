"""Parquet tables: what is written is read, and what the reader cannot stand is a sentence."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.errors import StimuliError
from core.files import parquet, userfile
from core.files.parquet import BATCH, read_parquet
from core.files.userfile import MB, UserFile
from core.settings import ROOT


@pytest.fixture(autouse=True)
def _found_by_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let it import the functions of this file, wherever pytest was started."""
    monkeypatch.syspath_prepend(str(ROOT))


def put(tmp_path: Path, table: pa.Table | bytes, **choices: object) -> UserFile:
    path = tmp_path / "t.parquet"
    if isinstance(table, bytes):
        path.write_bytes(table)
    else:
        pq.write_table(table, path, **choices)
    return UserFile(path, "a table", StimuliError)


def read(file: UserFile, columns: list[str] | None = None) -> pa.Table:
    return pa.Table.from_batches(read_parquet(file, check=lambda *_: None, columns=columns))


def test_what_is_written_is_read_without_pandas_row_numbers(tmp_path):
    rows = 2 * BATCH + 7
    table = pa.table(
        {
            "text": pa.array(["a", None, "é"] * rows)[:rows],
            "category": pa.array(["b", "c"] * rows)[:rows].dictionary_encode(),
            "lists": pa.array([[[1.0], [2.0]]] * rows),
            "number": pa.array(np.arange(rows), pa.int16()),
            "__index_level_0__": range(rows),
        }
    )
    expected = table.select(["text", "category", "lists", "number"])
    expected = expected.set_column(1, "category", expected["category"].cast(pa.string()))
    assert read(put(tmp_path, table, row_group_size=1000)).equals(expected)
    assert read(put(tmp_path, table), ["number"]).column_names == ["number"]


def test_first_rows_alone_end_the_reader(tmp_path):
    batches = read_parquet(put(tmp_path, pa.table({"a": range(9)})), check=lambda *_: None)
    assert next(batches).num_rows == 9
    batches.close()


def test_names_that_come_twice_and_names_that_do_not(tmp_path):
    file = put(tmp_path, pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]))
    with pytest.raises(StimuliError, match=r"t\.parquet has several columns named 'a'; rename"):
        read(file)
    with pytest.raises(StimuliError, match=r"t\.parquet has no column 'text'; rename the one"):
        read(put(tmp_path, pa.table({"a": [1]})), ["text"])


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is limited on Linux")
def test_a_long_text_that_is_named_often(tmp_path, monkeypatch):
    places = pa.array(np.zeros(20_000, np.int32))
    table = pa.table({"t": pa.DictionaryArray.from_arrays(places, ["x" * 900_000])})
    file = put(tmp_path, table)
    assert file.size < MB
    monkeypatch.setattr(userfile, "room", lambda: 500 * MB)
    with pytest.raises(StimuliError, match=r"t\.parquet.* takes more .*memory.*; expected a table"):
        read(file)
    monkeypatch.setattr(userfile, "room", lambda: 0)  # as little is always left
    assert read(put(tmp_path, pa.table({"a": range(100_000)}))).num_rows == 100_000


def abort(*_: object) -> Iterator[None]:
    os.abort()
    yield


def end(*_: object) -> Iterator[None]:
    os._exit(127)
    yield


def sleep(*_: object) -> Iterator[None]:
    time.sleep(600)
    yield


@pytest.mark.parametrize("crash", [abort, end])
def test_a_reader_that_crashes_is_a_sentence(tmp_path, monkeypatch, crash):
    monkeypatch.setattr(parquet, "read_batches", crash)
    with pytest.raises(StimuliError, match=r"t\.parquet cannot be read: .* or is damaged; expect"):
        read(put(tmp_path, pa.table({"a": [1]})))


def test_a_reader_that_does_not_end_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "read_batches", sleep)
    monkeypatch.setattr(userfile, "SECONDS", 0.1)
    with pytest.raises(StimuliError, match=r"t\.parquet was not read within 0 s; copy it to a dis"):
        read(put(tmp_path, pa.table({"a": [1]})))
