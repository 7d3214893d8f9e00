"""Caption tables: what is written is read, and a table that cannot be read says why."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import StimuliError
from core.files import userfile
from core.stimuli.captions import read_level, type_values
from core.stimuli.table import find_table, read_table

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)
ROWS = st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=6)
EXAMPLES = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def write_csv(path: Path, rows: list[dict[str, object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(rows)


def write_jsonl(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_bytes("\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode())


def write_parquet(path: Path, rows: list[dict[str, object]]) -> None:
    pd.DataFrame(rows).to_parquet(path)


WRITERS = {".csv": write_csv, ".jsonl": write_jsonl, ".parquet": write_parquet}


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read Parquet without a process for each example; tests/files/test_parquet.py has those."""
    monkeypatch.setattr(userfile, "stream", lambda work, *given, **_: work(*given))


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("suffix", WRITERS)
@given(rows=ROWS)
@EXAMPLES
def test_any_text_comes_back_as_written(
    suffix: str, rows: list[tuple[str, str, str]], tmp_path: Path
) -> None:
    path = tmp_path / f"captions{suffix}"
    records: list[dict[str, object]] = [{"image": a, "caption": b, "mood": c} for a, b, c in rows]
    WRITERS[suffix](path, records)
    table = read_table(path)
    assert table.columns == ("image", "caption", "mood")
    assert [dict(row) for row in table.rows] == records
    assert table.factor_columns == ("mood",)


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_a_byte_order_mark_is_no_part_of_the_text(name: str, tmp_path: Path) -> None:
    text = "image,caption\na.png,x\n" if name == "t.csv" else '{"image": "a.png", "caption": "x"}\n'
    (tmp_path / name).write_text(text, encoding="utf-8-sig")
    assert read_table(tmp_path / name).rows == ({"image": "a.png", "caption": "x"},)


def test_keys_that_a_json_line_lacks_are_missing(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text(
        '{"image": "a", "caption": "x"}\n{"caption": "y", "image": "b", "mood": 1}'
    )
    table = read_table(tmp_path / "t.jsonl")
    assert table.columns == ("image", "caption", "mood")
    assert [row["mood"] for row in table.rows] == [None, 1]


def test_row_numbers_of_pandas_are_no_column(tmp_path: Path) -> None:
    pd.DataFrame({"image": ["a", "b"], "caption": ["x", "y"]}, index=[7, 3]).to_parquet(
        tmp_path / "t.parquet"
    )
    assert read_table(tmp_path / "t.parquet").columns == ("image", "caption")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_other_encodings_are_refused_with_the_byte(encoding: str, tmp_path: Path) -> None:
    data = "image,caption\na.png,café\n".encode(encoding)
    (tmp_path / "t.csv").write_bytes(data)
    at = data.index(0xE9) if encoding == "latin-1" else 0
    with pytest.raises(StimuliError, match=rf"t\.csv is not UTF-8: byte {at}, in line .*, is 0x"):
        read_table(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (
            "imagge,caption",
            (
                r"no column 'image'; it has 'imagge', 'caption'; did you mean 'imagge'\?"
                r" --image-column names the one"
            ),
        ),
        ("image,words", r"no column 'caption'; .*; --text-column names the one that holds"),
        ("", "no column 'image'; it has no columns$"),
        ("image,,caption", r"column 2 of t\.csv has no name; name or drop it"),
        (
            "image,caption,stimulus",
            "has a column 'stimulus', a name that is taken by the stimulus id; rename it",
        ),
        (
            "image,caption,Mood,mood",
            r"several columns named 'mood' \(upper and lower case are alike\); rename or drop one",
        ),
        ("image,caption,image", "several columns named 'image'"),
    ],
)
def test_wrong_columns_are_named(header: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(header + "\n")
    with pytest.raises(StimuliError, match=message):
        read_table(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.jsonl", "\n[1]\n", r"line 2 of t\.jsonl is not a JSON object; expected \{"),
        ("t.parquet", "", r"t\.parquet cannot be read \(.*\); expected a caption table"),
        (
            "t.doc",
            "",
            r"t\.doc is not a caption table; expected a name ending in \.csv, \.jsonl",
        ),
    ],
)
def test_broken_files_say_where(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(StimuliError, match=message):
        read_table(tmp_path / name)


def test_the_only_table_is_found(tmp_path: Path) -> None:
    for name in ("metadata.jsonl", "a.png", "._metadata.csv", "notes.txt"):
        (tmp_path / name).touch()
    assert find_table(tmp_path).name == "metadata.jsonl"


def test_no_table_several_tables_and_no_folder_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(
        StimuliError, match=r"no caption table in .*; expected one such as captions\.csv"
    ):
        find_table(tmp_path)
    for name in ("a.csv", "b.parquet"):
        (tmp_path / name).touch()
    with pytest.raises(
        StimuliError,
        match=r"has 2 tables: a\.csv, b\.parquet; say which one holds the captions \(--table\)",
    ):
        find_table(tmp_path)
    with pytest.raises(
        StimuliError, match=r"a\.csv is not a folder; expected one with image files"
    ):
        find_table(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("value", "level"),
    [(0, "0"), (5.0, "5"), (2.5, "2.5"), (" 10 ", "10"), (None, ""), (float("nan"), ""), ("", "")],
)
def test_levels_are_text(value: object, level: str) -> None:
    assert read_level(value) == level


@pytest.mark.parametrize(
    ("values", "typed"),
    [
        (["1", "2"], [1, 2]),
        (["1", "2.5", "-1e3"], [1.0, 2.5, -1000.0]),
        (["1", None], [1.0, None]),
        (["1", "two"], ["1", "two"]),
        (["007", "8"], ["007", "8"]),
        (["nan", "1"], ["nan", "1"]),
        (["inf"], ["inf"]),
        (["９"], ["９"]),
        (["999999999999999", None], [999_999_999_999_999.0, None]),
        (["1234567890123456", None], ["1234567890123456", None]),
        ([3, 4.5], [3.0, 4.5]),
        ([1.0, 2.0], [1.0, 2.0]),
        ([True, "x"], ["True", "x"]),
        ([None, None], [None, None]),
    ],
)
def test_factors_are_all_numbers_or_all_text(values: list[object], typed: list[object]) -> None:
    result = [None if pd.isna(value) else value for value in type_values(values).tolist()]
    assert result == typed
    assert [type(value) for value in result] == [type(value) for value in typed]
