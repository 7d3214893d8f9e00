"""Tables of scores: what is written is read, and whatever cannot be read says in which line."""

from __future__ import annotations

import csv
import io
from contextlib import suppress
from math import isfinite

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.competence.scores import read_sheet
from core.errors import InputError

REQUIRED, OPTIONAL = ("model", "task", "value", "unit"), ("low", "high", "chance", "n", "source")
HEADER = "model,task,value,unit\n"
SHOWN = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=10)
WORDS = st.lists(SHOWN, min_size=1, max_size=2).map(" ".join)


def read(data: str | bytes):
    return read_sheet(
        data.encode() if isinstance(data, str) else data,
        name="s.csv",
        required=REQUIRED,
        optional=OPTIONAL,
    )


@given(
    rows=st.lists(
        st.tuples(
            WORDS,
            WORDS,
            st.floats(allow_nan=False, allow_infinity=False),
            st.just("points"),
            WORDS | st.just(""),
        ),
        min_size=1,
        max_size=5,
        unique_by=lambda row: row[:2],
    )
)
@settings(max_examples=40)
def test_any_table_comes_back_as_written(rows):
    file = io.StringIO()
    csv.writer(file, quoting=csv.QUOTE_ALL).writerows(
        [("model", "task", "value", "unit", "source"), *rows]
    )
    table = read(file.getvalue())
    assert (
        list(
            zip(
                *(table[name] for name in ("model", "task", "value", "unit", "source")), strict=True
            )
        )
        == rows
    )
    assert table[["low", "high", "chance", "n"]].isna().all(axis=None)


@given(
    data=st.binary(max_size=60)
    | st.text(max_size=60).map(lambda text: (HEADER + text).encode("utf-8", "surrogatepass"))
)
def test_whatever_the_bytes_a_table_is_whole_or_refused(data):
    with suppress(InputError):
        table = read(data)
        assert len(table)
        assert all(map(isfinite, table["value"]))
        assert (table[["model", "task", "unit"]] != "").all(axis=None)


@pytest.mark.parametrize(
    "text",
    ["=1+1", "=HYPERLINK(0)", "+cmd", "@SUM(A1)", "<b>x</b>", "007", "NA", "nan", "x" * 1000],
)
def test_a_text_is_never_taken_for_anything_else(text):
    assert read(f'{HEADER}"{text}","{text}",1,"{text}"\n')[
        ["model", "task", "unit"]
    ].to_numpy().tolist() == [[text] * 3]


@pytest.mark.parametrize(
    "value",
    ["NaN", "-Infinity", "=1+1", "81.2%", "1_000", "0x1F", "good", "1,5", "１２", "- 1", "1e"],
)
def test_only_plain_decimals_are_numbers(value):
    with pytest.raises(
        InputError,
        match=r"nothing of s\.csv was taken: row 2: value is not a plain number such as 81\.2",
    ):
        read(f'{HEADER}a,x,1,points\nb,x,"{value}",points\n')


@pytest.mark.parametrize(
    ("value", "unit", "range_"),
    [
        ("81.2", "top-1", "0 … 1"),
        ("-0.1", "top-1", "0 … 1"),
        ("100.5", "%", "0 … 100"),
        ("-1", "bits per byte", "0 … inf"),
        ("1.01", "1 - bits per byte", "-inf … 1"),
    ],
)
def test_values_outside_a_known_unit_are_refused(value, unit, range_):
    with pytest.raises(
        InputError,
        match=rf"row 1: value is outside {range_}, the range of '{unit}'",
    ):
        read(f"{HEADER}a,x,{value},{unit}\n")


@pytest.mark.parametrize(
    ("row", "mistake"),
    [
        (",x,1,points,,,,", "row 1: model is empty"),
        ("a,x,,points,,,,", "row 1: value is empty"),
        ("a,x,0.5,top-1,0.6,0.7,,", "row 1: value is outside its interval"),
        ("a,x,0.5,top-1,,0.4,,", "row 1: value is outside its interval"),
        ("a,x,0.5,top-1,,,25,", "row 1: chance is outside 0 … 1"),
        ("a,x,0.5,top-1,,,,1.5", "row 1: n is not a number of samples, 1 or more"),
        ("a,x,0.5,top-1,,,,0", "row 1: n is not a number of samples"),
        ("a,x,1e999,points,,,,", "row 1: value is not a plain number"),
        ("a,x,0.5,top-1,low,,,", "row 1: low is not a plain number"),
        ('"a\x07",x,0.5,top-1,,,,', "row 1: model has characters that cannot be shown"),
        ("a,x,1,p,,,,\na,x,2,p,,,,", "row 2: this model has a value of this task already"),
    ],
)
def test_a_wrong_cell_is_named(row, mistake):
    with pytest.raises(InputError, match=mistake):
        read(f"model,task,value,unit,low,high,chance,n\n{row}\n")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "has no column 'model' .* and needs model, task, value, unit"),
        (HEADER, "has no rows below its header; give one per model and task"),
        ("model;task;value;unit\na;x;1,5;points\n", "row 1: value is not a plain number"),
        ("model,task,value,unit,sauce\na,x,1,points,\n", "'sauce'; did you mean so"),
        ("model,task,value,unit,Unit\na,x,1,points,\n", "has two columns of one name"),
        (HEADER + "a,x,1,points,more\n", "row 1 of .* has 5 fields, and the header has 4"),
        (HEADER + 'a,"x,1,points\n', "is not a CSV table: unexpected end of data"),
        (HEADER + f"a,{'x' * 2_000_000},1,points\n", "field larger than field limit"),
        (f"{HEADER}a,café,1,points\n".encode("latin-1"), "byte 27, in line 2, is 0xe9"),
        (f"{HEADER}a,x,1,points\n".encode("utf-16-le"), "has a NUL character at byte 1"),
    ],
)
def test_what_is_no_table_of_scores_says_why(data, message):
    with pytest.raises(InputError, match=message):
        read(data)
