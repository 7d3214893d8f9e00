"""Exports: what is taken away is what was shown, needs no network, and runs nothing."""

from __future__ import annotations

import csv
import html
import io
import json
import re

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.figures.exports import file_name, to_csv, to_html, to_recipe_json
from core.recipe import Recipe

ATTACK = "</script></pre></title><script>document.title = 'owned'</script>"
RECIPE = Recipe.of("alignment", k=10, dataset="cave", models=["a", ATTACK, "ü"])
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
FORMULAS = st.builds(str.__add__, st.sampled_from(list("=+-@\t\r\n'＝＋－＠")), TEXTS)
TABLES = st.lists(
    st.tuples(TEXTS | FORMULAS, st.floats(allow_nan=False), st.integers(-(2**63), 2**63 - 1)),
    min_size=1,
    max_size=8,
).map(lambda rows: pd.DataFrame(rows, columns=["text", "score", "count"]).astype({"text": "str"}))


def figure() -> go.Figure:
    chart = go.Figure(
        go.Scattergl(x=[1, 2, 3], y=[0.1, 0.2, 0.15], mode="markers", text=[ATTACK, "b", "c"])
    )
    return chart.update_layout(template="plotly_white", title=ATTACK)


def read_csv(data: bytes) -> pd.DataFrame:
    """Read a CSV as to_csv's docstring says: one leading apostrophe of a text is the guard."""
    table = pd.read_csv(io.BytesIO(data), keep_default_na=False, dtype={"text": "str"})
    return table.assign(text=[value.removeprefix("'") for value in table["text"]])


@given(table=TABLES)
@settings(deadline=None, max_examples=60)
def test_a_csv_gives_back_every_text_and_every_digit(table: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(read_csv(to_csv(table)), table, check_exact=True)


@given(table=TABLES)
@settings(deadline=None, max_examples=60)
def test_no_text_of_a_csv_begins_as_a_formula(table: pd.DataFrame) -> None:
    cells = [row[0] for row in csv.reader(io.StringIO(to_csv(table).decode(), newline=""))]
    assert not [cell for cell in cells if cell.startswith(tuple("=+-@\t\r\n＝＋－＠"))]


def test_a_csv_is_the_table_and_nothing_else() -> None:
    table = pd.DataFrame(
        {
            "model": ["=1+1", 'a "b", c', None],
            "=score": [-0.5, np.nan, 1e-300],
            "best": [True, False, True],
        }
    )
    expected = (
        '"model","\'=score","best"\n"\'=1+1",-0.5,True\n"a ""b"", c","",False\n"",1e-300,True\n'
    )
    assert to_csv(table) == expected.encode()
    assert table["model"][0] == "=1+1"  # the table that was given is left alone


def test_float32_keeps_its_own_digits() -> None:
    table = pd.DataFrame({"score": np.array([0.1, 1 / 3], dtype=np.float32)})
    back = pd.read_csv(io.BytesIO(to_csv(table)), dtype={"score": np.float32})
    assert back["score"].tolist() == table["score"].tolist()
    assert b"0.1\n" in to_csv(table)


def test_a_recipe_file_can_be_replayed() -> None:
    content = json.loads(to_recipe_json(RECIPE))
    assert Recipe.of(content["kind"], **content["choices"]) == RECIPE
    assert content["digest"] == RECIPE.digest
    assert to_recipe_json(RECIPE).endswith(b"}\n")


def test_a_page_holds_everything_and_fetches_nothing() -> None:
    page = to_html(figure(), RECIPE, title=ATTACK).decode()
    assert page.startswith("<!DOCTYPE html>")
    assert not re.findall(
        r"<(?:script|link|img)[^>]+(?:src|href)=", page.replace(html.escape(ATTACK), "")
    )
    assert "default-src 'none'" in page
    assert ATTACK not in page
    inside = re.search(r'<pre id="recipe">(.*?)</pre>', page, re.DOTALL)
    assert inside is not None
    assert html.unescape(inside.group(1)).encode() == to_recipe_json(RECIPE)


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("Alignment: cave, k = 10", "alignment-cave-k-10"),
        ("../../etc/passwd", "etc-passwd"),
        ("Zürich\n\0", "zurich"),
        ("日本", "platoscope"),
        ("", "platoscope"),
        ("con", "con"),
        ("x" * 500, "x" * 80),
    ],
)
def test_file_names_are_plain(title: str, words: str) -> None:
    assert file_name(title, Recipe.of("alignment", k=10), "csv") == f"{words}-eaf5d171.csv"


@given(title=st.text())
def test_any_title_makes_a_file_name(title: str) -> None:
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]*-[0-9a-f]{8}\.json", file_name(title, RECIPE, "json"))
