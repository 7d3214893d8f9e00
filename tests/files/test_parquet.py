"""Parquet tables: what a footer says is held against what there is room for, and texts are
measured before they are spelled out.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.errors import StimuliError
from core.files import footers, limits, parquet, userfile
from core.files.footers import read_sizes
from core.files.limits import MB
from core.files.parquet import read_parquet
from core.files.userfile import UserFile

SAID_OF_FOOTERS = (
    r"t\.parquet (cannot be read \(.+\); expected a table|has .+ at most .+ read|takes .+ split)"
)


def put(tmp_path: Path, table: pa.Table | bytes, **choices: object) -> UserFile:
    path = tmp_path / "t.parquet"
    if isinstance(table, bytes):
        path.write_bytes(table)
    else:
        pq.write_table(table, path, **choices)
    return UserFile(path, "a table", StimuliError)


def read(file: UserFile, **choices: object) -> pa.Table:
    return pa.Table.from_batches(list(read_parquet(file, check=lambda *_: None, **choices)))


def test_sizes_are_those_that_pyarrow_reads(tmp_path):
    table = pa.table(
        {
            "a": np.arange(10.0),
            "b": [[1, 2]] * 10,
            "c": [{"x": "é", "y": None}] * 10,
            "d": pa.array([b"1234567890123456"] * 10, pa.binary(16)),
        }
    )
    for rows in (3, 100):
        file = put(tmp_path, table, row_group_size=rows, compression="gzip")
        metadata = pq.read_metadata(file.path)
        with file.open() as opened:
            sizes = read_sizes(opened, file)
        assert (sizes.rows, sizes.columns) == (metadata.num_rows, metadata.num_columns)
        groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
        expected = [
            sum(
                max(part.total_uncompressed_size, part.num_values * (16 if name == "d" else 8))
                for name, part in zip("abxyd", map(group.column, range(5)), strict=False)
            )
            for group in groups
        ]
        named = [group.column(at).path_in_schema for group in groups[:1] for at in range(5)]
        assert named == ["a", "b.list.element", "c.x", "c.y", "d"]
        assert list(sizes.groups) == expected


def test_what_is_written_is_read_without_pandas_row_numbers(tmp_path):
    texts = pa.array(["a", None, "", "é"] * 600)
    table = pa.table({"t": texts, "n": range(2400), "__index_level_0__": range(2400)})
    assert read(put(tmp_path, table, row_group_size=1000)).equals(table.select(["t", "n"]))
    assert read(put(tmp_path, table), columns=["n"]).column_names == ["n"]


def test_a_long_text_that_is_named_often_is_measured_first(tmp_path, monkeypatch):
    places = pa.array(np.zeros(20_000, np.int32))
    table = pa.table({"t": pa.DictionaryArray.from_arrays(places, ["x" * 900_000])})
    file = put(tmp_path, table)
    assert file.size < MB
    monkeypatch.setattr(userfile, "room", lambda: 500 * MB)
    with pytest.raises(StimuliError, match=r"t\.parquet takes 9\d\d MB of memory, and 500 MB may"):
        read(file)


def test_a_text_that_is_too_long(tmp_path):
    file = put(tmp_path, pa.table({"t": ["x" * (limits.FIELD + 1)]}))
    with pytest.raises(
        StimuliError, match=r"column 't' of t\.parquet holds a text of 1,000,001 byt"
    ):
        read(file)
    assert read(file, longest=limits.RECORD).num_rows == 1


def test_names_that_come_twice_and_names_that_do_not(tmp_path):
    file = put(tmp_path, pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]))
    with pytest.raises(StimuliError, match=r"t\.parquet has several columns named 'a'; rename"):
        read(file)
    with pytest.raises(StimuliError, match=r"t\.parquet has no column 'text'; rename the one"):
        read(put(tmp_path, pa.table({"a": [1]})), columns=["text"])


@pytest.mark.parametrize("limit", ["COLUMNS", "ROWS", "CHUNKS"])
def test_more_than_is_read(tmp_path, limit, monkeypatch):
    monkeypatch.setattr(parquet, limit, 3)
    table = pa.table({name: [1, 2, 3, 4] for name in "abcd"})
    with pytest.raises(StimuliError, match=r"t.parquet has (4|8) .*; at most 3 are read: split it"):
        read(put(tmp_path, table, row_group_size=2))


def test_a_footer_that_is_too_long(tmp_path, monkeypatch):
    monkeypatch.setattr(footers.limits, "FOOTER", 100)
    with pytest.raises(StimuliError, match=r"has a footer of \d+ bytes; expected .* at most 100"):
        read(put(tmp_path, pa.table({"a": [1]})))


ENDLESS = b"\xff" * 8 + b"\x3f"  # a list or a map of 2⁶² − 1 values


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PAR1",
        b"PAR1" + bytes(20) + b"\xff\xff\xff\x7fPAR1",
        b"PAR1" + b"\x15" * 20 + b"\x14\0\0\0PAR1",
        b"PAR1" + b"\x19\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" + b"\x0b\0\0\0PAR1",
        b"PAR1" + b"\x1c" * 5000 + b"\x88\x13\0\0PAR1",
        *(
            b"PAR1" + head + ENDLESS + bytes(8) + (len(head) + 17).to_bytes(4, "little") + b"PAR1"
            for head in (b"\x29\xf3", b"\x19\xf8", b"\x29\xf7", b"\x29\xfd", b"\x19\xf1")
        ),
        b"PAR1\x1b" + ENDLESS + b"\x11" + bytes(8) + b"\x13\0\0\0PAR1",
    ],
)
def test_what_is_no_footer(tmp_path, data):
    with pytest.raises(StimuliError, match=r"t\.parquet cannot be read \(.*\); expected a table"):
        read(put(tmp_path, data))


def test_a_histogram_that_does_not_fit_ends_in_a_sentence_and_not_the_process(tmp_path):
    """Asked for a column of such a footer, pyarrow 26 calls std::terminate."""
    table, buffer = pa.table({"a": [[1, 2], [], None, [3]]}), io.BytesIO()
    pq.write_table(table, buffer)
    data = buffer.getvalue()
    length = int.from_bytes(data[-8:-4], "little")
    refused = []
    for at in range(len(data) - 8 - length, len(data) - 8):
        broken = data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]
        try:
            assert read(put(tmp_path, broken)).num_rows <= table.num_rows
        except StimuliError as error:
            refused.append(str(error))
    assert len(refused) > length / 4  # most bytes are names, statistics and versions
    assert all(re.search(SAID_OF_FOOTERS, sentence) for sentence in refused), refused
