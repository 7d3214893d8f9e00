"""The Metrics page's maps: how far metrics agree, and each one's score beside chance."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Float64

from core.figures.drawing import Drawing
from core.figures.marks import cards, color_bar
from core.figures.numbers import p_text
from core.figures.panels import cell, panels
from core.figures.theme import INK, Mode, blank, plain, reason, wrap
from core.metrics import METRICS

LEAST_DRAWN = -1.0  # linear R² has no least value: what lies lower is drawn here with its number


def scope_hue(metric: str, mode: Mode) -> str:
    """Return the color of a metric: one for those that compare neighborhoods, one for those that
    compare all pairs of stimuli.
    """
    return INK[mode].ember if METRICS[metric].spec.scope == "local" else INK[mode].text


def agreement(points: pd.DataFrame, *, size: int, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw Spearman's ρ between every two metrics as a map with its numbers; a `narrow` one, on a
    phone, has colors alone.

    points: metric_x, metric_y, spearman, pairs, reason, as
    `core.questions.metrics.agreement.rank_agreement` gives them. size: on how many stimuli. An
    empty cell says why when it is pointed at.
    """
    if points["spearman"].isna().all():
        return reason(f"No two metrics can be compared here: {points['reason'].iloc[0]}.", mode)
    order = list(dict.fromkeys(points["metric_x"]))
    titles = [METRICS[name].spec.short for name in order]
    texts = points.assign(card=[_agreement_card(row) for row in points.to_dict("records")])
    z, card = (
        texts.pivot(index="metric_x", columns="metric_y", values=each).loc[order, order].to_numpy()
        for each in ("spearman", "card")
    )
    title = f"Spearman between metrics over {size} stimuli"
    figure = blank(mode, height=430 if narrow else 620, title=title)
    figure.add_heatmap(x=titles, y=titles, z=z, hovertext=card, **cells(z, mode, narrow=narrow))
    figure.update_xaxes(
        tickangle=-90 if narrow else -40,
        dtick=1,
        tickfont_size=10 if narrow else 12,
        showgrid=False,
    )
    return (
        figure.update_yaxes(autorange="reversed", showgrid=False)
        .update_layout(margin_t=12)
        .figure()
    )


def cells(z: Float64[np.ndarray, "m m"], mode: Mode, *, narrow: bool) -> dict[str, object]:
    """Return the look of a map of correlations; a narrow one has no numbers."""
    low = math.floor(10 * float(np.nanmin(z))) / 10
    return {
        "zmin": min(low, 0.9),
        "zmax": 1.0,
        "colorscale": list(INK[mode].scale),
        "xgap": 1,
        "ygap": 1,
        "hovertemplate": "%{hovertext}<extra></extra>",
        "hoverongaps": True,
        "texttemplate": "" if narrow else "%{z:.2f}",
        "textfont": {"size": 11},
        "colorbar": color_bar("Spearman"),
    }


def _agreement_card(row: Mapping[Hashable, Any]) -> str:
    names = f"<b>{METRICS[row['metric_x']].spec.short} × {METRICS[row['metric_y']].spec.short}</b>"
    if row["reason"]:
        return f"{names}<br>{wrap(plain(row['reason']))}"
    return f"{names}<br>Spearman {row['spearman']:.3f} over {row['pairs']} pairs of models"


def calibrated(points: pd.DataFrame, *, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw every metric's raw score beside what shuffled stimuli give, and its calibrated score in
    a second panel.

    points: a row per metric: metric, score, null_mean, null_sd, threshold, p, calibrated, reason,
    as `core.questions.metrics.calibrated.calibrate_metrics` gives them. A dot is a score; a gray
    bar is the null's mean ± sd, the tick beside it the threshold.
    """
    seen = points.dropna(subset=["score"])
    if seen.empty:
        return reason(f"No metric compares these layers: {points['reason'].iloc[0]}.", mode)
    columns, names = 1 if narrow else 2, [_row_name(metric) for metric in seen["metric"]]
    figure = panels(
        ["<b>raw score and chance</b>", "<b>calibrated score</b>"],
        columns,
        mode,
        height=(32 * len(seen) + 120) * (1 + narrow),
        title="Metrics and their chance",
        shared_yaxes=not narrow,
        horizontal_spacing=0.03,
        vertical_spacing=0.09,
    )
    raw, scaled = cell(0, columns), cell(1, columns)
    _add_null(figure, seen, names, mode)
    figure.add_scatter(**_dots(seen, "score", names, mode), **raw)
    figure.add_scatter(**_dots(seen, "calibrated", names, mode), **scaled)
    figure.update_yaxes(autorange="reversed", type="category", categoryarray=names)
    figure.update_xaxes(range=[-0.04, 1.04], title_text="0: chance, 1: full alignment", **scaled)
    return figure.update_xaxes(title_text="score", **raw).figure()


def _row_name(metric: str) -> str:
    spec = METRICS[metric].spec
    return f"{spec.short}{'' if spec.higher_is_more_aligned else ' (low: aligned)'}"


def _add_null(figure: Drawing, seen: pd.DataFrame, names: list[str], mode: Mode) -> None:
    gray = INK[mode].chance
    line = {"width": 1.5, "color": gray}
    look: dict[str, object] = {
        "y": names,
        "mode": "markers",
        "hoverinfo": "skip",
        "row": 1,
        "col": 1,
    }
    spread = {"type": "data", "array": seen["null_sd"], "color": gray, "thickness": 5, "width": 0}
    figure.add_scatter(
        x=seen["null_mean"].clip(lower=LEAST_DRAWN),
        error_x=spread,
        name="chance: mean ± sd of shuffled stimuli",
        marker={"color": gray, "size": 7, "symbol": "circle-open", "line": line},
        **look,
    )
    figure.add_scatter(
        x=seen["threshold"].clip(lower=LEAST_DRAWN),
        name="threshold: 5 % of shuffles lie beyond",
        marker={"color": gray, "size": 15, "symbol": "line-ns", "line": line},
        **look,
    )


def _dots(seen: pd.DataFrame, value: str, names: list[str], mode: Mode) -> dict[str, object]:
    colors = [scope_hue(metric, mode) for metric in seen["metric"]]
    beyond = [f"{each:.2g}" if each < LEAST_DRAWN else "" for each in seen[value]]
    return {
        "x": seen[value].clip(lower=LEAST_DRAWN),
        "y": names,
        "mode": "markers+text",
        "showlegend": False,
        "text": beyond,
        "textposition": "middle right",
        "marker": {"color": colors, "size": 11, "line": {"color": INK[mode].paper, "width": 1}},
        **cards(_null_card(row) for row in seen.to_dict("records")),
    }


def _null_card(row: Mapping[Hashable, Any]) -> str:
    title = f"<b>{plain(METRICS[row['metric']].spec.title)}</b><br>score {row['score']:.3g}"
    if row["reason"]:
        return f"{title}<br>{wrap(plain(row['reason']))}"
    null = f"chance {row['null_mean']:.3g} ± {row['null_sd']:.2g}, threshold {row['threshold']:.3g}"
    return f"{title}<br>{null}<br>calibrated {row['calibrated']:.3g}, {p_text(row['p'])}"
