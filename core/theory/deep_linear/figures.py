"""Figures of deep linear networks in training: how aligned they become, on which way, and what
breaks it.

What is measured is drawn as points or a solid line, what the theory predicts as a dashed one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Float64

from core.figures.drawing import draw_panels
from core.figures.theme import INK, Mode, blank, plain, reason, template, wrap

PANELS = {
    "excess_loss": "loss above that of the noise",
    "entropy": "entropy, over the least of minima",
    "sharpness": "sharpness",
}
_EDGE = 1.02  # of axes from 0 to 1, so that a point at 1 is whole


def over_training(points: pd.DataFrame, *, steps: str, predicted: bool, mode: Mode) -> go.Figure:
    """Draw the least alignment of any two layers over training.

    points: at, min_alignment, and max_disproportion where moments are known. steps: what `at`
    counts. predicted: whether the theory says that alignment goes to 1.
    """
    figure = blank(mode, height=330, title="Least alignment over training")
    x = points["at"]
    figure.add_scatter(
        x=x,
        y=points["min_alignment"],
        name="least alignment of any two layers",
        **_line(INK[mode].ember),
    )
    if "max_disproportion" in points:
        figure.add_scatter(
            x=x,
            y=points["max_disproportion"],
            name="farthest from definition 1",
            **_line(INK[mode].text),
        )
    if predicted:
        figure.add_hline(1.0, line={"color": INK[mode].soft, "dash": "dash", "width": 1.5})
        corner = {"x": 1, "xref": "x domain", "xanchor": "right", "y": 1, "yanchor": "top"}
        figure.add_annotation(text="theory", showarrow=False, yref="y", **corner)
    figure.update_yaxes(range=[0, _EDGE], title_text="linear CKA, and ‖c G − G′‖ / ‖G′‖")
    return figure.update_xaxes(**_time(x, steps)).figure()


def layer_map(
    scores: Float64[np.ndarray, "m n"], *, rows: Sequence[str], columns: Sequence[str], mode: Mode
) -> go.Figure:
    """Draw the alignment of every layer of `rows` with every one of `columns`, names as short as
    a2.
    """
    figure = blank(mode, height=90 + 44 * len(rows), title="Alignment layer by layer")
    figure.add_heatmap(
        z=scores,
        x=list(columns),
        y=list(rows),
        zmin=0,
        zmax=1,
        colorscale=list(INK[mode].scale),
        xgap=1,
        ygap=1,
        texttemplate="%{z:.2f}",
        textfont={"size": 11},
        hovertemplate="%{y} with %{x}: %{z:.6f}<extra></extra>",
        colorbar={
            "title": {"text": "linear CKA", "font": {"size": 12}},
            "thickness": 12,
            "outlinewidth": 0,
        },
    )
    figure.update_xaxes(showgrid=False, type="category").update_yaxes(
        autorange="reversed", showgrid=False, type="category"
    )
    return figure.update_layout(margin_t=12).figure()


def on_the_way(points: pd.DataFrame, *, steps: str, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw loss, entropy and sharpness of both networks over training, a panel each; points: at,
    and each name with _a and _b.
    """
    grid = (len(PANELS), 1) if narrow else (1, len(PANELS))
    heads = [f"<b>{title}</b>" for title in PANELS.values()]
    figure = draw_panels(*grid, heads, vertical_spacing=0.11, horizontal_spacing=0.07)
    height = 260 * len(PANELS) if narrow else 310
    figure.update_layout(
        template=template(mode),
        height=height,
        meta={"title": "Loss, entropy and sharpness over training"},
    )
    for place, name in enumerate(PANELS):
        at = {"row": place + 1, "col": 1} if narrow else {"row": 1, "col": place + 1}
        for network, color in (("a", INK[mode].ember), ("b", INK[mode].text)):
            look = {
                "name": f"network {network}",
                "legendgroup": network,
                "showlegend": place == 0,
                **_line(color),
            }
            figure.add_scatter(
                x=points["at"], y=points[f"{name}_{network}"].where(lambda y: y > 0), **look, **at
            )
        figure.update_yaxes(
            type="log" if name != "sharpness" else "linear",
            dtick=1 if name == "excess_loss" else None,
            tickformat=".2~g" if name == "entropy" else "",
            nticks=4,
            exponentformat="power",
            **at,
        )
    return figure.update_xaxes(**_time(points["at"], steps)).figure()


def broken(points: pd.DataFrame, *, unit: str, mode: Mode) -> go.Figure:
    """Draw alignment against the strength of a breaker: measured as points, predicted as dashed
    lines where there is a prediction.

    points: strength, measured, measured_mean, predicted, predicted_mean. unit: of the strength. A
    run that diverged has no point.
    """
    if points["measured"].isna().all():
        return reason(
            "Descent diverged at every strength so far, so that there is nothing to align.", mode
        )
    figure = blank(mode, height=380, title="Alignment as the theorem is broken")
    colors = {
        "": ("least over layer pairs", INK[mode].ember, 14),
        "_mean": ("mean over layer pairs", INK[mode].text, 8),  # often on the least
    }
    for suffix, (name, color, size) in colors.items():
        theory = points.dropna(subset=[f"predicted{suffix}"])
        figure.add_scatter(
            x=theory["strength"],
            y=theory[f"predicted{suffix}"],
            name=f"{name}, predicted",
            mode="lines" if len(theory) > 1 else "markers",
            line={"color": color, "width": 1.5, "dash": "dash"},
            marker={"color": color, "symbol": "line-ew-open", "size": 18},
        )
        figure.add_scatter(
            x=points["strength"],
            y=points[f"measured{suffix}"],
            name=f"{name}, measured",
            mode="markers",
            marker={"color": color, "size": size},
            cliponaxis=False,
        )
    figure.update_xaxes(title_text=wrap(f"strength: {plain(unit)}", 40))
    return figure.update_yaxes(
        range=[-0.03, _EDGE], title_text="linear CKA between the networks"
    ).figure()


def other_minima(values: Sequence[float], *, by_noise: float, mode: Mode) -> go.Figure:
    """Draw the least alignment of other minima as a histogram, with SGD's solution and that of
    least entropy, 1, marked.
    """
    ink = INK[mode]
    figure = blank(mode, height=360, title="Alignment of other minima of the same loss")
    figure.add_trace(
        {
            "type": "histogram",
            "x": list(values),
            "xbins": {"start": 0, "end": 1, "size": 0.025},
            "marker": {"color": ink.soft},
            "name": "other minima",
        }
    )
    marks = (
        (by_noise, f"SGD: {by_noise:.3f}", ink.ember, "solid", 0.9),
        (1.0, "least entropy", ink.text, "dash", 1.0),
    )
    for value, text, color, dash, height in marks:
        figure.add_vline(x=value, line={"color": color, "width": 2, "dash": dash})
        figure.add_annotation(
            x=value,
            y=height,
            yref="paper",
            text=text,
            showarrow=False,
            xanchor="right",
            xshift=-4,
            font={"color": color},
        )
    figure.update_xaxes(
        range=[0, _EDGE], title_text=wrap("least linear CKA of the networks' layers", 60)
    )
    return figure.update_yaxes(title_text="minima").update_layout(bargap=0.03).figure()


def _time(at: pd.Series, steps: str) -> dict[str, Any]:
    long = at.max() > 1000
    return {"title_text": steps, "type": "log" if long else "linear", "dtick": 1 if long else None}


def _line(color: str) -> dict[str, Any]:
    return {
        "mode": "lines+markers",
        "line": {"color": color, "width": 2},
        "marker": {"size": 5, "color": color},
    }
