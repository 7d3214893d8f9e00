"""The Stimuli page's map: a dot per stimulus, colored by a number or by the values of a factor."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go

from core.figures.drawing import Drawing
from core.figures.marks import SILENT, cards, flat_color_bar
from core.figures.palette import OBJECTIVES
from core.figures.theme import INK, Mode, blank, clear, plain, scatter_of, wrap

MOST_VALUES = len(OBJECTIVES)  # that have a hue each
OTHER, NONE = "other", "none"


@dataclass(frozen=True)
class Map:
    """Where the stimuli of a map lie.

    axes: what they are. square: one unit is as long across as it is up, as for distances. unitless:
    the axes bear no numbers.
    """

    title: str
    axes: tuple[str, str]
    square: bool = False
    unitless: bool = False


def stimulus_map(
    points: pd.DataFrame, shape: Map, *, value: str, chosen: Collection[int] = (), mode: Mode
) -> go.Figure:
    """Draw a dot per stimulus, to be brushed; its index is the dot's customdata.

    points: index, caption, x, y, value (a number, or a text where it is a factor's), and passed:
    whether a search leaves the stimulus in; the others are gray and cannot be chosen. value: what
    it is. chosen: the indices next to which all others fade.
    """
    figure = blank(mode, height=580, title=shape.title)
    passed, left_out = points[points["passed"]], points[~points["passed"]]
    if len(left_out):
        figure.add_trace(_left_out(left_out, mode))
    for dots in _colored(passed, value, mode):
        figure.add_trace({**dots, "type": scatter_of(len(points))})
    _fade(figure, set(chosen))
    figure.update_xaxes(title_text=shape.axes[0]).update_yaxes(title_text=shape.axes[1])
    if shape.unitless:
        figure.update_xaxes(showticklabels=False).update_yaxes(showticklabels=False)
    if shape.square:
        figure.update_yaxes(scaleanchor="x", scaleratio=1)
    return figure.update_layout(dragmode="lasso", margin_t=36).figure()


def _left_out(points: pd.DataFrame, mode: Mode) -> dict[str, object]:
    return {
        "type": scatter_of(len(points)),
        "x": points["x"],
        "y": points["y"],
        "mode": "markers",
        "marker": {"color": clear(INK[mode].chance, 0.3), "size": 6},
        **SILENT,
    }


def _colored(points: pd.DataFrame, value: str, mode: Mode) -> Iterator[dict[str, object]]:
    """Return the traces: one of a number, one per value of a factor, and a gray one where the
    stimuli have none.
    """
    valued = points[points["value"].notna()]
    if pd.api.types.is_numeric_dtype(points["value"]):
        yield _dots(valued, value, _scale(valued["value"], value, mode), mode)
    else:
        grouped = group_rare(valued["value"])
        for name, color in _hues(grouped, mode).items():
            yield _named(_dots(valued[grouped == name], value, {"color": color}, mode), name)
    if len(valued) < len(points):
        gray = {"color": INK[mode].chance}
        yield _named(_dots(points[points["value"].isna()], value, gray, mode), NONE)


def group_rare(values: pd.Series) -> pd.Series:
    """Return a factor's values as text; those that are too rare for a hue of their own as one."""
    texts = values.astype(str)
    counts = texts.value_counts()
    if len(counts) <= MOST_VALUES:
        return texts
    return texts.where(texts.isin(counts.index[: MOST_VALUES - 1]), OTHER)


def _hues(values: pd.Series, mode: Mode) -> dict[str, str]:
    names = sorted(set(values) - {OTHER}, key=lambda name: (len(name), name))
    hues = [pair[mode == "dark"] for pair in OBJECTIVES.values()]
    others = {OTHER: INK[mode].soft} if (values == OTHER).any() else {}
    return dict(zip(names, hues, strict=False)) | others


def _named(dots: dict[str, object], name: str) -> dict[str, object]:
    return {**dots, "name": plain(name), "legendgroup": plain(name), "showlegend": True}


def _dots(
    points: pd.DataFrame, value: str, color: Mapping[str, object], mode: Mode
) -> dict[str, object]:
    return {
        "x": points["x"],
        "y": points["y"],
        "mode": "markers",
        "marker": {
            "size": 8,
            "opacity": 0.9,
            "line": {"color": INK[mode].chance, "width": 0.5},
            **color,
        },
        "showlegend": False,
        "customdata": [[index] for index in points["index"].tolist()],  # browsers return no arrays
        "unselected": {"marker": {"opacity": 0.15}},
        **cards(
            f"<b>stimulus {row['index']}</b><br>{wrap(plain(row['caption'][:200]))}"
            f"<br>{plain(reading(value, row['value']))}"
            for row in points.to_dict("records")
        ),
    }


def reading(value: str, of_one: float | int | str) -> str:
    """Say what the color of a stimulus is."""
    if isinstance(of_one, str):
        return f"{value} {of_one}"
    return f"{value} {NONE if pd.isna(of_one) else format(of_one, '.3g')}"


def _scale(values: pd.Series, name: str, mode: Mode) -> dict[str, object]:
    below = {"len": 0.6, "x": 0, "xanchor": "left", "y": -0.14, "yanchor": "top", "nticks": 6}
    return {
        "color": values,
        "colorscale": list(INK[mode].scale[1:]),
        "colorbar": flat_color_bar(name, **below),
    }


def _fade(figure: Drawing, chosen: Collection[int]) -> None:
    """Let all dots but the chosen ones fade, if any of these is drawn."""
    lit = [
        [place for place, (index,) in enumerate(trace.get("customdata", ())) if index in chosen]
        for trace in figure.data
    ]
    if any(lit):
        for trace, places in zip(figure.data, lit, strict=True):
            trace["selectedpoints"] = places
