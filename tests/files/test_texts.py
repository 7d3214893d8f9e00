"""Tables and records as text: each limit is told, and what is within it is read."""

from __future__ import annotations

import pytest

from core.errors import InputError
from core.files import texts, userfile
from core.files.texts import csv_rows, json_lines
from core.files.userfile import UserFile


def put(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return UserFile(tmp_path / name, "a table", InputError)


def test_rows_as_they_are_without_blank_lines(tmp_path):
    file = put(tmp_path, "t.csv", '\ufeffa,b\r\n\n"1\n2",é\n,\n')
    assert csv_rows(file) == (["a", "b"], [["1\n2", "é"], ["", ""]])


@pytest.mark.parametrize(
    "text", ["image,caption\na.png,a;b\n", "image;caption\na.png;a;b", "image\tcaption\na.png\ta;b"]
)
def test_the_first_line_says_what_separates_fields(tmp_path, text):
    text = text.replace("a;b", '"a;b"')
    assert csv_rows(put(tmp_path, "t.csv", text)) == (["image", "caption"], [["a.png", "a;b"]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1\n", r"row 1 of t\.csv has 1 fields, and the header has 2; put texts with commas"),
        (
            f"a\n{'x' * (userfile.FIELD + 1)}\n",
            r"larger than field limit \(1000000\) at line 2",
        ),
        (
            "a" + ",a" * userfile.COLUMNS,
            r"t\.csv has 20,001 columns; at most 20,000 are",
        ),
        ('a\n"b', r"t\.csv is not a CSV table: unexpected end of data at line 2"),
    ],
)
def test_what_is_no_table(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        csv_rows(put(tmp_path, "t.csv", text))


def test_cells_are_counted_before_they_fill_the_memory(tmp_path, monkeypatch):
    file = put(tmp_path, "t.csv", "a,b\n" + "1,2\n" * 60_000)
    monkeypatch.setattr(userfile, "SMALL", 0)
    monkeypatch.setattr(userfile, "room", lambda: 100_000 * texts.CELL)
    with pytest.raises(InputError, match=r"t\.csv takes 9\.\d+ MB of memory, and 6\.4 MB may"):
        csv_rows(file)


def test_a_line_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(texts, "RECORD", 100)
    with pytest.raises(InputError, match=r"line 2 of t\.jsonl has over 100 bytes; expected"):
        list(json_lines(put(tmp_path, "t.jsonl", "{}\n" + " " * 101)))


def test_records_with_the_numbers_of_their_lines(tmp_path):
    file = put(tmp_path, "t.jsonl", '\ufeff{"a": 1}\n\n{"a": "é\u2028"}')
    assert list(json_lines(file)) == [(1, {"a": 1}), (3, {"a": "é\u2028"})]


def test_an_error_of_whoever_takes_the_lines_is_not_the_files(tmp_path):
    lines = json_lines(put(tmp_path, "t.jsonl", "{}\n"))
    next(lines)
    with pytest.raises(OSError, match="full"):
        lines.throw(OSError("full"))
