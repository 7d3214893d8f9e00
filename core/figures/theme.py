"""One visual language on all pages.

Hue is a vision model's objective or a language model's family, the same in every figure (see
`core.figures.palette`); symbol is the modality, size the parameter count on a log scale, a dotted
gray line is chance, a band is an interval.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import pandas as pd

from core.figures.palette import CATEGORIES, REALITY, look_of
from core.modalities import Modality
from core.visible import visible

Mode = Literal["light", "dark"]

COMPETENCE = "competence: 1 − bits per byte of the captions"  # an axis of several figures
SMALLEST, WIDEST, UNKNOWN = 9.0, 26.0, 7.0  # diameters of marks in pixels
FONT = '"Source Sans", "Source Sans 3", system-ui, -apple-system, "Segoe UI", sans-serif'


@dataclass(frozen=True)
class Ink:
    """The colors of one mode that carry no meaning of their own, and the sequential scale."""

    paper: str
    text: str
    soft: str
    grid: str
    chance: str
    ember: str
    scale: tuple[str, ...]


INK: Mapping[Mode, Ink] = {
    "light": Ink(
        "#FBFAF7",
        "#23262B",
        "#62676F",
        "#E6E2DA",
        "#80858C",
        "#A8480C",
        ("#F5F1E8", "#F0CF9A", "#E0964B", "#B4531B", "#6E2A12", "#330F0A"),
    ),
    "dark": Ink(
        "#15181D",
        "#E8E4DB",
        "#A6ABB3",
        "#2B3038",
        "#8A9099",
        "#F0A35E",
        ("#1B1F26", "#47231A", "#8A3D1C", "#CB6A2C", "#F0A858", "#FBEBC8"),
    ),
}


def hue(name: str, mode: Mode) -> str:
    """Return the color of an objective or family, the same on all pages of its dataset."""
    if name.lower() in REALITY:
        return INK[mode].text
    return look_of(name).hue


def symbol(name: str, modality: Modality) -> str:
    """Return the marker of an objective or family: its modality's, another from the eleventh on."""
    return modality.symbol + look_of(name).mark


def mark_sizes(parameters: pd.Series) -> pd.Series:
    """Return the diameters of marks in pixels, scaled over the models shown: 9 px for the smallest,
    6 px more per factor of ten, or less where the largest would be above 26 px; 7 px where unknown.
    """
    powers = np.log10(parameters.astype(float).where(parameters > 0))
    span = powers.max() - powers.min()
    step = 6.0 if not span * 6.0 > WIDEST - SMALLEST else (WIDEST - SMALLEST) / span
    sizes: pd.Series = (SMALLEST + step * (powers - powers.min())).fillna(UNKNOWN)
    return sizes


def round_ticks(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 times the powers of ten from `low` to `high`: what a logarithmic axis is
    read by; both above 0.
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [
        part * 10.0**power
        for power in powers
        for part in (1, 2, 5)
        if low <= part * 10.0**power <= high
    ]


def plain(text: object) -> str:
    """Escape data for a Plotly label, which reads a little HTML and fills in templates."""
    return html.escape(visible(str(text)), quote=False).replace("%{", "%&#123;")


def heading(name: str) -> str:
    """Return a group's name as the heading of a panel or row: escaped, its first letter a
    capital.
    """
    return plain(name[:1].upper() + name[1:])


def clear(color: str, opacity: float) -> str:
    """Return a #RRGGBB color as rgba with this opacity."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def legible(color: str, mode: Mode) -> str:
    """Return a #RRGGBB color mixed with ink, so that small text can be read."""
    text = INK[mode].text
    parts = ([int(one[i : i + 2], 16) for i in (1, 3, 5)] for one in (color, text))
    mixed = (round(0.65 * part + 0.35 * of_ink) for part, of_ink in zip(*parts, strict=True))
    return "#" + "".join(f"{part:02X}" for part in mixed)


@cache
def template(mode: Mode) -> dict[str, object]:
    """Return our Plotly template; every figure names it, because other packages replace Plotly's
    default.
    """
    ink = INK[mode]
    axis = {
        "gridcolor": ink.grid,
        "linecolor": ink.grid,
        "zeroline": False,
        "ticks": "",
        "automargin": True,
        "title": {"standoff": 8, "font": {"size": 13, "color": ink.soft}},
        "tickfont": {"size": 12, "color": ink.soft},
    }
    font = {"family": FONT, "size": 13, "color": ink.text}
    label = {"font": font, "bgcolor": ink.paper, "bordercolor": ink.chance, "align": "left"}
    legend = {
        "orientation": "h",
        "x": 0,
        "y": 0,
        "yref": "container",
        "yanchor": "bottom",
        "itemsizing": "constant",
    }
    return {
        "layout": {
            "font": font,
            "paper_bgcolor": ink.paper,
            "plot_bgcolor": ink.paper,
            "colorway": list(CATEGORIES),
            "xaxis": axis,
            "yaxis": axis,
            "margin": {"l": 8, "r": 12, "t": 36, "b": 8},
            "hoverlabel": label,
            "legend": {**legend, "font": {"size": 12}},
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": ink.chance, "activecolor": ink.text},
            "title": {"x": 0, "xref": "paper", "font": {"size": 15}},
        }
    }


_BREAKS = re.compile("(?<![=<]) (?![=<])")


def wrap(text: str, width: int = 44) -> str:
    """Break a label into lines of about `width` characters, so that a phone shows all of it; what
    is next to = or < stays with it.
    """
    lines: list[str] = [""]
    for word in _BREAKS.split(" ".join(text.split())):
        if lines[-1] and len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "<br>".join(lines)


def hover_card(*lines: str, ids: str) -> str:
    """Return a hover card of finished lines with the raw ids small beneath."""
    return "<br>".join([*lines, f"<span style='font-size:11px'>{plain(ids)}</span>"])
