"""The legend of a printed figure: what a reader needs next to it, as text to copy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.recipe import Recipe


def legend_text(figure: go.Figure, table: pd.DataFrame, recipe: Recipe) -> str:
    """Return what is drawn, over how many models and stimuli, by which choices, with which interval
    and chance level, and by which version; numbers that `table` does not have are left out.
    """
    meta = figure.layout.meta
    sentences = [meta["title"], _axes(figure), *_marks(figure), meta.get("note", "")]
    sentences.append(_counts(table))
    choices = ", ".join(_choices(recipe.choices.get("question", recipe.choices)))
    made = f"Platoscope {version('platoscope')}, recipe {recipe.digest}"
    parts = [*sentences, choices and f"Settings: {choices}", made]
    return " ".join(f"{part.rstrip('.?')}." for part in parts if part)


def _axes(figure: go.Figure) -> str:
    x, y = (
        next((_bare(axis.title.text) for axis in axes if axis.title.text), "")
        for axes in (figure.select_xaxes(), figure.select_yaxes())
    )
    return f"{y[:1].upper()}{y[1:]} against {x}" if x and y else (y or x)


def _marks(figure: go.Figure) -> Iterator[str]:
    """Return what lines, bands and bars of the legend mean that bear an interval or chance."""
    names = [_bare(trace.name) for trace in figure.data if trace.name]
    names += [_bare(shape.name) for shape in figure.layout.shapes if shape.name]
    for name in dict.fromkeys(names):
        if "chance" in name:
            yield f"Dotted: {name}"
        elif "95%" in name.replace(" ", ""):
            yield f"{name[:1].upper()}{name[1:]}"


def _counts(table: pd.DataFrame) -> str:
    scored = table.dropna(subset="score") if "score" in table else table
    models = {
        name
        for column in ("model", "model_x", "model_y")
        if column in table
        for name in scored[column]
    }
    counts = [f"{len(models)} models"] if models else []
    if "n" in table and table["n"].nunique() == 1:
        counts.append(f"{table['n'].iloc[0]:,} stimuli")
    return f"n = {', '.join(counts)}" if counts else ""


def _choices(choices: Any, name: str = "") -> Iterator[str]:
    """Return the choices that are a word or a number other than 0."""
    if isinstance(choices, dict):
        for key, value in choices.items():
            yield from _choices(value, key)
    elif isinstance(choices, str | int | float) and not isinstance(choices, bool) and choices:
        yield f"{name} {choices}"


def _bare(text: str) -> str:
    return re.sub(r"<[^>]+>", " ", text).replace("&lt;", "<").replace("&amp;", "&").strip()
