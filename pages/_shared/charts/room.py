"""How much room a plot leaves for its labels, its legend and its color bars.

Plotly finds out when it has drawn all, and then draws again where they need more than the margins.
"""

from __future__ import annotations

import math
import re

from core.figures.drawing import Tree

# pixels that most labels and titles take; where they take more, all is drawn twice
LABELS = {"xaxis": {"b": 50, "r": 20}, "yaxis": {"l": 72}}
SIDES = {"xaxis": "bottom", "yaxis": "left"}  # where labels stand unless an axis says otherwise
LETTER, NARROW = 6.2, 3.6  # pixels of a letter, and of one of these:
SLIM = re.compile(r"[fijlrt .,:;|'()\[\]-]")
TICK, TITLE = 16, 24  # pixels that stand beside words on an axis
COLOR_BAR = 98  # pixels that one takes with its numbers
LINE, MARK = 29, 45  # pixels of a legend: a line, an entry without its text
LEGENDS = ("scatter", "scattergl", "bar")  # kinds of traces that stand in it unless they say no
PHONE = 640  # pixels: up to this width no room is left that may not be needed


def leave_room(layout: Tree, data: list[Tree], width: int) -> None:
    """Widen the margins of a plot on a wide page to what stands in them. width: in pixels."""
    if width <= PHONE:
        return
    margin = layout["margin"]
    for need in _needs(layout, data):
        for side, pixels in need.items():
            margin[side] = max(margin[side], pixels)
    margin["b"] += LINE * _count_lines(data, width)


def _needs(layout: Tree, data: list[Tree]) -> list[dict[str, int]]:
    """Return the pixels of margins that labels often take, long words of a vertical axis take, and
    color bars beside the plot.
    """
    needs = [{"r": COLOR_BAR}] if any(map(_has_color_bar, [*data, layout])) else []
    for name, axis in layout.items():
        if (kind := name[:5]) in LABELS and _labels_stand(axis, SIDES[kind]):
            needs.append(LABELS[kind])
            if kind == "yaxis" and (words := _words_on(name, axis, data)):
                title = TITLE if axis.get("title", {}).get("text") else 0
                needs.append({"l": math.ceil(_pixels(words)) + TICK + title})
    return needs


def _has_color_bar(part: Tree) -> bool:
    """Return whether a trace, or the layout for several, has a color bar beside the plot."""
    scales = [part, part.get("marker", {}), part.get("coloraxis", {})]
    shown = [scale for scale in scales if scale.get("showscale", "colorbar" in scale)]
    return any(scale.get("colorbar", {}).get("orientation") != "h" for scale in shown)


def _labels_stand(axis: Tree, side: str) -> bool:
    """Return whether an axis has labels, and on its usual side."""
    shown = axis.get("visible", True) and axis.get("showticklabels", True)
    return bool(shown) and axis.get("side", side) == side


def _words_on(name: str, axis: Tree, data: list[Tree]) -> list[str]:
    """Return what stands on a vertical axis in words."""
    if "ticktext" in axis:
        return list(axis["ticktext"])
    own = [trace.get("y") for trace in data if f"yaxis{trace.get('yaxis', 'y')[1:]}" == name]
    listed = [values for values in own if isinstance(values, list)]
    return [word for values in listed for word in values if isinstance(word, str)]


def _pixels(texts: list[str]) -> float:
    """Return the pixels across the longest line of several texts."""
    lines = [re.sub("<[^>]*>", "", line) for text in texts for line in text.split("<br>")]
    return max(LETTER * len(line) - (LETTER - NARROW) * len(SLIM.findall(line)) for line in lines)


def _count_lines(data: list[Tree], width: int) -> int:
    """Return how many lines the legend takes: entry after entry, as many as fit a line."""
    if len(data) == 1 and not data[0].get("showlegend"):
        return 0
    shown = [one for one in data if one.get("showlegend", one["type"] in LEGENDS)]
    lines, taken = 0, math.inf
    for entry in shown:
        wide = MARK + _pixels([entry.get("name") or ""])
        lines, taken = (lines + 1, wide) if taken + wide > width else (lines, taken + wide)
    return lines
