"""Residuals as a few small bars beneath a picture."""

from __future__ import annotations

import html
from collections.abc import Callable

import pandas as pd

from core.figures.theme import Mode, hue
from pages._shared.gallery import Bar, Note


def writer(
    residuals: pd.DataFrame, spaces: pd.DataFrame, captions: list[str], *, mode: Mode
) -> Callable[[int], Note]:
    """Return a function that notes a stimulus's caption and a bar per space; a full bar is the
    largest residual there is.

    residuals: a column per space, as `platoscope dispersion stimuli` has them. spaces: space,
    title, group.
    """
    looks = spaces.to_dict("records")
    table = residuals[list(spaces["space"])]
    longest = float(table.to_numpy().max()) or 1.0

    def write(index: int) -> Note:
        values = table.iloc[index]
        lengths = [
            Bar(
                f"{row['title']}: residual {values[row['space']]:.3g}",
                float(values[row["space"]]) / longest,
                hue(row["group"], mode),
            )
            for row in looks
        ]
        return Note(text=captions[index], bars=tuple(lengths))

    return write


def legend(spaces: pd.DataFrame, *, mode: Mode) -> str:
    """Return which color is which space, as HTML."""
    looks = [
        (hue(row["group"], mode), html.escape(row["title"])) for row in spaces.to_dict("records")
    ]
    keys = "".join(
        f"<span><span style='color: {color}'>■</span> {title}</span>" for color, title in looks
    )
    return (
        "<div style='display: flex; flex-wrap: wrap; gap: 0.2rem 1rem; font-size:"
        f" 0.85rem'>{keys}</div>"
    )
