"""Curves of alignment over the number of neighbors and over the number of stimuli."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.colors import sample_colorscale

from core.figures.drawing import Drawing
from core.figures.marks import SILENT, cards, logarithmic, name_chance
from core.figures.panels import cell, panels
from core.figures.rulers import Ruler
from core.figures.theme import (
    COMPETENCE,
    INK,
    Mode,
    chance_line,
    hover_card,
    plain,
    reason,
    round_ticks,
    sized,
    wrap,
)
from core.metrics import METRICS
from core.modalities import LANGUAGE
from core.questions.metrics.figures import scope_hue

COMPETENT = Ruler(COMPETENCE, "competence")
SIZE = Ruler("parameters", "parameters", log=True)


def trends_over_k(
    points: pd.DataFrame,
    *,
    smallest: str,
    ruler: Ruler = COMPETENT,
    mode: Mode,
    narrow: bool = False,
) -> go.Figure:
    """Draw centered and scaled alignment against competence or size, a line per k, a panel per
    metric.

    points: metric, k, model, title, parameters, competence, score, scaled, as
    `core.questions.metrics.neighborhoods.scale_trends` gives them with the models described.
    smallest: the title of the model that stands at 0. Large k is dark on light, light on dark.
    """
    seen = points.dropna(subset=[ruler.short, "scaled"])
    if seen["model"].nunique() < 3:
        return reason(
            f"At least three models of known {ruler.short} are needed to see a trend: embed more"
            " of them.",
            mode,
        )
    metrics, ks = list(dict.fromkeys(seen["metric"])), sorted(set(seen["k"].tolist()))
    title = "Alignment against competence for several k"
    figure = _panels(_heads(metrics), mode, narrow=narrow, height=380, title=title)
    for place, metric in enumerate(metrics):
        # the last has every k: CKNNA; mutual k-NN does not distinguish models at n − 1
        named, at = place == len(metrics) - 1, _at(place, len(metrics), narrow)
        for k, color in zip(ks, _colors(len(ks), mode), strict=True):
            run = seen[(seen["metric"] == metric) & (seen["k"] == k)].sort_values(ruler.short)
            figure.add_scatter(**_run(run, k, color, ruler), showlegend=named, **at)
    figure.update_xaxes(title_text=ruler.title, **ruler.look(seen[ruler.short]))
    axis = f"alignment above {plain(smallest)}, in sd over models"
    return figure.update_yaxes(title_text=wrap(axis, 34), col=1).figure()


def _heads(metrics: Sequence[str]) -> list[str]:
    return [f"<b>{METRICS[name].spec.short}</b>" for name in metrics]


def _colors(count: int, mode: Mode) -> list[str]:
    """Return so many colors from faint to strong; ember for one alone."""
    if count == 1:
        return [INK[mode].ember]
    return list(sample_colorscale(list(INK[mode].scale), list(np.linspace(0.3, 0.95, count))))


def _run(run: pd.DataFrame, k: int, color: str, ruler: Ruler) -> dict[str, object]:
    texts = [
        hover_card(
            sized(row["title"], row["parameters"]),
            f"k = {k}: {row['scaled']:.2f} sd, alignment {row['score']:.3f}",
            ids=row["model"],
        )
        for row in run.to_dict("records")
    ]
    return {
        "x": run[ruler.short],
        "y": run["scaled"],
        "mode": "lines+markers",
        "name": f"k = {k}",
        "legendgroup": str(k),
        "line": {"color": color, "width": 2},
        "marker": {"color": color, "size": 7, "symbol": LANGUAGE.symbol},
        "customdata": run[["model"]].to_numpy(),
        **cards(texts),
    }


def over_k(points: pd.DataFrame, *, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw the score of one pair of layers against k with its chance, a panel per metric.

    points: metric, k, score, chance, sd (of chance), as
    `core.questions.metrics.neighborhoods.curve_over_k` gives them.
    """
    metrics = list(dict.fromkeys(points["metric"]))
    title = "Alignment over k"
    figure = _panels(_heads(metrics), mode, narrow=narrow, height=330, title=title)
    for place, metric in enumerate(metrics):
        run = points[points["metric"] == metric]
        texts = [
            f"k = {row.k}<br>alignment {row.score:.3f}<br>chance {row.chance:.3f} ± {row.sd:.1g}"
            for row in run.itertuples()
        ]
        curve = {**_curve(run["k"], run, scope_hue(metric, mode)), **cards(texts)}
        _add_curve(figure, curve, run["chance"], mode, _at(place, len(metrics), narrow))
    ticks = round_ticks(float(points["k"].min()), float(points["k"].max()))
    figure.update_xaxes(**logarithmic(ticks), title_text="neighbors k")
    return _finish(figure, mode).figure()


def over_size(points: pd.DataFrame, *, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw the score of one pair of layers against the number of stimuli with its chance, a panel
    per curve.

    points: curve, metric, n, score, chance, sd (of the score over subsamples), as
    `core.questions.metrics.answer.grow_sample` gives them.
    """
    curves = list(dict.fromkeys(points["curve"]))
    heads, title = (
        [f"<b>{plain(name)}</b>" for name in curves],
        "Alignment over the number of stimuli",
    )
    figure = _panels(heads, mode, narrow=narrow, height=310, title=title)
    for place, name in enumerate(curves):
        run = points[points["curve"] == name]
        texts = [
            f"{row.n} stimuli<br>alignment {row.score:.3f} ± {row.sd:.1g}<br>chance"
            f" {row.chance:.3f}"
            for row in run.itertuples()
        ]
        color = scope_hue(run["metric"].iloc[0], mode)
        curve = {**_curve(run["n"], run, color), **cards(texts)}
        _add_curve(figure, curve, run["chance"], mode, _at(place, len(curves), narrow))
    ticks = sorted(set(points["n"]))
    figure.update_xaxes(
        type="log",
        tickvals=ticks[-1::-2],
        ticktext=[f"{tick}" for tick in ticks[-1::-2]],
        title_text="stimuli n",
        range=[math.log10(0.9 * ticks[0]), math.log10(1.1 * ticks[-1])],
    )
    return _finish(figure, mode).figure()


def _curve(x: pd.Series, run: pd.DataFrame, color: str) -> dict[str, object]:
    return {
        "x": x,
        "y": run["score"],
        "mode": "lines+markers",
        "line": {"color": color, "width": 2},
        "marker": {"size": 7},
        "showlegend": False,
    }


def _add_curve(
    figure: Drawing,
    curve: Mapping[str, object],
    chance: pd.Series,
    mode: Mode,
    at: Mapping[str, int],
) -> None:
    """Add a curve of scores over that of chance."""
    figure.add_scatter(x=curve["x"], y=chance, **{**chance_line(mode), **SILENT}, **at)
    figure.add_scatter(**curve, **at)


def _finish(figure: Drawing, mode: Mode) -> Drawing:
    figure.update_yaxes(rangemode="tozero", matches="y").update_yaxes(title_text="alignment", col=1)
    return name_chance(figure, mode)


def _panels(heads: list[str], mode: Mode, *, narrow: bool, height: int, title: str) -> Drawing:
    """Return an empty panel per heading, side by side or, narrow, one below the other; `height` is
    one row's, in pixels.
    """
    rows, columns = (len(heads), 1) if narrow else (1, len(heads))
    return panels(
        heads,
        columns,
        mode,
        height=height * rows + 40,
        title=title,
        shared_yaxes=True,
        horizontal_spacing=0.03,
        vertical_spacing=min(0.2, 80 / (height * rows)),
    )


def _at(place: int, count: int, narrow: bool) -> dict[str, int]:
    return cell(place, 1 if narrow else count)
