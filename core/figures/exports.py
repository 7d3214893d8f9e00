"""Exports: a figure, its table and its recipe as files. The browser makes SVG and PNG from the
chart on the screen.

A file depends on its arguments alone. The recipe is in the HTML and in a JSON file of its own;
CSV holds the table and nothing else.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
import unicodedata

import pandas as pd
import plotly.graph_objects as go

from core.recipe import Recipe

# A spreadsheet runs a cell that begins so; the wide ones count in East Asian editions. The
# apostrophe is the guard itself.
_GUARDED = tuple("=+-@\t\r\n＝＋－＠'")

# Nothing may be fetched, even if a caption asks for it. plotly.js compiles its WebGL shaders at run
# time, hence unsafe-eval
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline';"
    " img-src data: blob:"
)
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 15px system-ui, sans-serif; margin: 1rem; background: {paper}; color: {ink}; }}
pre {{ white-space: pre-wrap; }}
</style>
</head>
<body>
{chart}
<details><summary>Recipe {digest}</summary><pre id="recipe">{recipe}</pre></details>
</body>
</html>
"""


def to_html(figure: go.Figure, recipe: Recipe, *, title: str) -> bytes:
    """Write a figure as one page that needs no network: plotly.js is inside (about 5 MB), the
    recipe is below the chart.
    """
    chart = figure.to_html(
        full_html=False,
        include_plotlyjs=True,
        config={"displaylogo": False, "responsive": True},
        div_id="chart",
    )
    look = figure.layout.template.layout
    return _PAGE.format(
        policy=_POLICY,
        title=html.escape(title),
        paper=figure.layout.paper_bgcolor or look.paper_bgcolor or "white",
        ink=figure.layout.font.color or look.font.color or "black",
        chart=chart,
        digest=recipe.digest,
        recipe=html.escape(to_recipe_json(recipe).decode()),
    ).encode()


def to_csv(table: pd.DataFrame) -> bytes:
    """Write a table as CSV: UTF-8, comma, \\n, text in quotes, numbers in full precision, missing
    cells empty, no index.

    A text or column name that begins with = + - @ (or their wide forms), a tab, a line break or an
    apostrophe gets one apostrophe in front, so that no spreadsheet runs it as a formula; take it
    away to have the text again. Numbers are never changed.
    """
    guarded = {
        _guard(name): column if pd.api.types.is_numeric_dtype(column) else column.map(_guard)
        for name, column in table.items()
    }
    buffer = io.StringIO()
    pd.DataFrame(guarded).to_csv(
        buffer, index=False, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n"
    )
    return buffer.getvalue().encode()


def to_recipe_json(recipe: Recipe) -> bytes:
    """Write a recipe as JSON: its kind, digest and choices."""
    content = {"kind": recipe.kind, "digest": recipe.digest, "choices": recipe.choices}
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()


def file_name(title: str, recipe: Recipe, suffix: str) -> str:
    """Return a name that every file system takes: the title in plain ASCII, the recipe's first 8
    digits, the suffix.

    >>> file_name("Alignment: cave, k = 10", Recipe.of("alignment", k=10), "csv")
    'alignment-cave-k-10-eaf5d171.csv'
    """
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain)[:80].strip("-") or "platoscope"
    return f"{words}-{recipe.digest[:8]}.{suffix}"


def _guard(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_GUARDED) else value
