"""Residuals as a few small bars beneath a picture: plain HTML, since a gallery of charts would take
seconds to draw.
"""

from __future__ import annotations

import html
from collections.abc import Callable

import pandas as pd

from core.figures.theme import INK, Mode, hue

_CAPTION = (
    "display: -webkit-box; -webkit-line-clamp: 3; -webkit-box-orient: vertical; overflow: hidden;"
    " font-size: 0.8rem; line-height: 1.25; min-height: 3.75em; margin: 0.3rem 0"
)


def writer(
    residuals: pd.DataFrame, spaces: pd.DataFrame, captions: list[str], *, mode: Mode
) -> Callable[[int], str]:
    """Return a function that writes a stimulus's caption and a bar per space as HTML; a full bar is
    the largest residual there is.

    residuals: a column per space, as `platoscope dispersion stimuli` has them. spaces: space,
    title, group.
    """
    looks = [
        (row["space"], html.escape(row["title"]), hue(row["group"], mode))
        for row in spaces.to_dict("records")
    ]
    table = residuals[list(spaces["space"])]
    longest = float(table.to_numpy().max()) or 1.0

    def write(index: int) -> str:
        values = table.iloc[index]
        bars = "".join(
            f"<div title='{title}: residual {values[space]:.3g}' style='background:"
            f" {INK[mode].grid}; margin: 2px 0'><div style='height: 6px; width:"
            f" {100 * values[space] / longest:.1f}%; background: {color}'></div></div>"
            for space, title, color in looks
        )
        text = html.escape(captions[index])
        return (
            f"<div style='{_CAPTION}' title='{text}'>{text}</div><div role='img'"
            f" aria-label='residuals'>{bars}</div>"
        )

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
