"""Where stimuli stand: their ranked dispersion with its sets, and the space of their residuals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.figures.marks import cards, color_bar
from core.figures.panels import cell, panels
from core.figures.theme import INK, Mode, clear, plain, scatter_of, wrap
from core.questions.dispersion.rankings import RANKINGS

MOST_AXES = 4  # models whose residuals are drawn in pairs: six panels
_SETS = {"low": 2, "high": 4}  # place of a set's color in the scale


def ranked(table: pd.DataFrame, *, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw each stimulus's dispersion over its rank, a panel per ranking, with the low, the high
    and the random set marked.

    table: as `core.questions.dispersion.rankings.rank_stimuli` has it, or a sample of its rows.
    """
    heads = [f"<b>by the {name}</b>" for name in RANKINGS.values()]
    columns = 1 if narrow else len(RANKINGS)
    height = 400 * len(RANKINGS) // columns
    title = "Stimuli ranked by their dispersion"
    figure = panels(heads, columns, mode, height=height, title=title, horizontal_spacing=0.1)
    for place, by in enumerate(RANKINGS):
        at = cell(place, columns)
        for name, rows in table.sort_values(f"rank_{by}").groupby(f"set_{by}", sort=False):
            look = _curve(rows, by, str(name), mode)
            figure.add_trace(look | {"showlegend": place == 0 and name != ""}, **at)
        drawn = table[table["random"]]
        ticks = _ticks(drawn[f"rank_{by}"], float(table[by].min()), mode)
        figure.add_trace(ticks | {"showlegend": place == 0}, **at)
        figure.update_yaxes(title_text=wrap(_axis(by), 30), **at)
    return figure.update_xaxes(title_text="rank: 1 is the least dispersed").figure()


def _axis(by: str) -> str:
    return "mean residual" if by == "mean" else "score on the first component"


def _curve(rows: pd.DataFrame, by: str, name: str, mode: Mode) -> dict[str, object]:
    color = INK[mode].scale[_SETS[name]] if name else INK[mode].soft
    return {
        "type": scatter_of(len(rows)),
        "x": rows[f"rank_{by}"],
        "y": rows[by],
        "mode": "markers",
        "marker": {"color": color, "size": 5 if name else 3},
        "name": f"{name} set",
        "legendgroup": name,
        **cards(
            f"stimulus {index}<br>rank {rank:,}<br>{_axis(by)} {value:.3g}"
            for index, rank, value in zip(rows["index"], rows[f"rank_{by}"], rows[by], strict=True)
        ),
    }


def _ticks(ranks: pd.Series, floor: float, mode: Mode) -> dict[str, object]:
    return {
        "type": "scatter",
        "x": ranks,
        "y": np.full(len(ranks), floor),
        "mode": "markers",
        "marker": {
            "symbol": "line-ns-open",
            "size": 9,
            "color": clear(INK[mode].text, 0.5),
        },
        "name": "random set",
        "legendgroup": "random",
        "hoverinfo": "skip",
    }


def residual_space(
    dots: pd.DataFrame,
    table: pd.DataFrame,
    titles: Mapping[str, str],
    *,
    mode: Mode,
    narrow: bool = False,
) -> go.Figure:
    """Draw stimuli in the space with one axis per model, their residuals, two axes a panel, with
    the first principal component as a line.

    dots: the rows of `table` that are drawn. table: as `rank_stimuli` has it. titles: of the
    spaces, by name; the first MOST_AXES are drawn.
    """
    pairs = list(combinations(list(titles)[:MOST_AXES], 2))
    columns = 1 if narrow else min(3, len(pairs))
    height = 290 * math.ceil(len(pairs) / columns) + 40
    title = "Residuals of the stimuli, an axis per model"
    gaps = {"horizontal_spacing": 0.11, "vertical_spacing": 0.3 / math.ceil(len(pairs) / columns)}
    figure = panels([""] * len(pairs), columns, mode, height=height, title=title, **gaps)
    for place, (x, y) in enumerate(pairs):
        at = cell(place, columns)
        figure.add_trace(_dots(dots, x, y, mode, shown=place == 0), **at)
        figure.add_trace(_component(table, x, y, mode) | {"showlegend": place == 0}, **at)
        figure.update_xaxes(title_text=wrap(plain(titles[x]), 34), **at)
        figure.update_yaxes(title_text=wrap(plain(titles[y]), 34), **at)
    return figure.update_yaxes(nticks=5).update_xaxes(nticks=5).figure()


def _dots(table: pd.DataFrame, x: str, y: str, mode: Mode, *, shown: bool) -> dict[str, object]:
    return {
        "type": scatter_of(len(table)),
        "x": table[x],
        "y": table[y],
        "mode": "markers",
        "marker": {
            "color": table["mean"],
            "colorscale": _scale(INK[mode].scale[1:]),
            "size": 4,
            "showscale": shown,
            "colorbar": color_bar("mean<br>residual"),
        },
        "showlegend": False,
        **cards(
            f"stimulus {index}<br>residuals {first:.3g} and {second:.3g}<br>mean {mean:.3g}"
            for index, first, second, mean in zip(
                table["index"], table[x], table[y], table["mean"], strict=True
            )
        ),
    }


def _scale(colors: Sequence[str]) -> list[list[object]]:
    return [[place / (len(colors) - 1), color] for place, color in enumerate(colors)]


def _component(table: pd.DataFrame, x: str, y: str, mode: Mode) -> dict[str, object]:
    """Return the first component's line through the mean of all stimuli, as long as its scores
    reach.
    """
    scores = table["pc1"]
    ends = np.array([scores.min(), scores.max()])
    return {
        "type": scatter_of(len(table)),
        "x": table[x].mean() + loading(table[x], scores) * ends,
        "y": table[y].mean() + loading(table[y], scores) * ends,
        "mode": "lines",
        "line": {"color": INK[mode].text, "width": 2, "dash": "dash"},
        "name": "first component",
        "legendgroup": "first component",
        "hoverinfo": "skip",
    }


def loading(residuals: pd.Series, scores: pd.Series) -> float:
    """Return a model's part in the first component: the slope of its residuals on the scores."""
    return float(residuals.cov(scores) / scores.var())
