"""The Stimuli page's figures: a map of stimuli, one stimulus's residuals, and on how many neighbors
two models agree.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Integer

from core.figures.theme import (
    INK,
    Mode,
    blank,
    chance_line,
    clear,
    hue,
    plain,
    reason,
    scatter_of,
    wrap,
)


def stimulus_map(
    points: pd.DataFrame,
    *,
    axes: tuple[str, str],
    value: str,
    title: str,
    chosen: Collection[int] = (),
    square: bool,
    unitless: bool = False,
    mode: Mode,
) -> go.Figure:
    """Draw a dot per stimulus, to be brushed; its index is the dot's customdata.

    points: index, caption, x, y, value. axes, value: what these are. chosen: the indices beside
    which all others fade. square: one unit is as long across as it is up, as for distances.
    unitless: the axes bear no numbers.
    """
    ink = INK[mode]
    figure = blank(mode, height=580, title=title)
    cards = [
        f"<b>stimulus {row['index']}</b><br>{wrap(plain(row['caption'][:200]))}<br>{value}"
        f" {row['value']:.3g}"
        for row in points.to_dict("records")
    ]
    bar = {
        "title": {"text": value, "font": {"size": 12}, "side": "top"},
        "thickness": 10,
        "outlinewidth": 0,
        "nticks": 6,
        "orientation": "h",
        "len": 0.6,
        "x": 0,
        "xanchor": "left",
        "y": -0.14,
        "yanchor": "top",
    }
    marker = {
        "color": points["value"],
        "colorscale": list(ink.scale[1:]),
        "size": 8,
        "opacity": 0.9,
        "colorbar": bar,
        "line": {"color": ink.chance, "width": 0.5},
    }
    lit = np.flatnonzero(points["index"].isin(list(chosen)))
    figure.add_trace(
        {
            "type": scatter_of(len(points)),
            "x": points["x"],
            "y": points["y"],
            "mode": "markers",
            "marker": marker,
            "showlegend": False,
            "customdata": [
                [index] for index in points["index"].tolist()
            ],  # of an array no browser tells the values back
            "hovertext": cards,
            "selectedpoints": lit.tolist() if len(lit) else None,
            "unselected": {"marker": {"opacity": 0.15}},
            "hovertemplate": "%{hovertext}<extra></extra>",
        }
    )
    figure.update_xaxes(title_text=axes[0]).update_yaxes(title_text=axes[1])
    if unitless:
        figure.update_xaxes(showticklabels=False).update_yaxes(showticklabels=False)
    if square:
        figure.update_yaxes(scaleanchor="x", scaleratio=1)
    return figure.update_layout(dragmode="lasso", margin_t=36)


def residuals(rows: pd.DataFrame, *, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw one stimulus's residual in each model as a bar with its rank, over the middle half of
    all stimuli.

    rows: a row per model: title, group, residual, rank (1 is closest to the consensus), n, lower,
    upper (quartiles of all stimuli). `narrow` leaves a phone room for names and ranks.
    """
    ink, names = INK[mode], [wrap(plain(title), 15 if narrow else 60) for title in rows["title"]]
    figure = blank(mode, height=34 * len(rows) + 110, title="Residual of the stimulus by model")
    middle = {
        "base": rows["lower"],
        "marker": {"color": clear(ink.chance, 0.35)},
        "name": "middle half of all stimuli",
    }
    figure.add_bar(
        x=rows["upper"] - rows["lower"],
        y=names,
        orientation="h",
        width=0.9,
        **middle,
        hoverinfo="skip",
    )
    cards = [
        f"<b>{plain(row.title)}</b><br>residual {row.residual:.3g}<br>rank {row.rank:,} of"
        f" {row.n:,}"
        for row in rows.itertuples(index=False)
    ]
    ranks = [f" rank {row.rank:,} of {row.n:,}" for row in rows.itertuples(index=False)]
    figure.add_bar(
        x=rows["residual"],
        y=names,
        orientation="h",
        width=0.45,
        showlegend=False,
        hovertext=cards,
        marker={"color": [hue(group, mode) for group in rows["group"]]},
        hovertemplate="%{hovertext}<extra></extra>",
    )
    beside = rows[["residual", "upper"]].max(axis=1)
    figure.add_scatter(
        x=beside,
        y=names,
        mode="text",
        text=ranks,
        textposition="middle right",
        cliponaxis=False,
        hoverinfo="skip",
        showlegend=False,
    )
    most = (2.0 if narrow else 1.35) * beside.max()
    figure.update_xaxes(
        title_text=wrap("residual: distance to the consensus", 24 if narrow else 60),
        nticks=4 if narrow else 8,
        range=[0, most or 1.0],
    )
    figure.update_yaxes(autorange="reversed", showgrid=False, ticksuffix="  ")
    return figure.update_layout(barmode="overlay", margin_t=8)


def agreement(
    shared: Integer[np.ndarray, "n"], *, chosen: int, k: int, title_x: str, title_y: str, mode: Mode
) -> go.Figure:
    """Draw how many of their k nearest neighbors two models share, over all stimuli, with the
    chosen stimulus marked.

    shared: for each stimulus the number of common neighbors, 0 … k; its mean over k is the
    alignment of the two layers.
    """
    if len(shared) < 3:
        return reason("With fewer than three stimuli every neighbor is shared.", mode)
    ink = INK[mode]
    counts = np.bincount(shared, minlength=k + 1)
    figure = blank(mode, height=300, title=f"Shared neighbors of {title_x} and {title_y}")
    colors = [
        ink.ember if value == shared[chosen] else clear(ink.soft, 0.55) for value in range(k + 1)
    ]
    figure.add_bar(
        x=list(range(k + 1)),
        y=counts,
        marker={"color": colors},
        showlegend=False,
        hovertemplate="%{x} of " + str(k) + " shared: %{y} stimuli<extra></extra>",
    )
    by_chance, mean = k * k / (len(shared) - 1), float(shared.mean())
    figure.add_vline(x=by_chance, line={"color": ink.chance, "width": 1.5, "dash": "dot"})
    figure.add_vline(x=mean, line={"color": ink.text, "width": 1.5})
    figure.add_scatter(
        x=[None],
        y=[None],
        mode="lines",
        line={"color": ink.text, "width": 1.5},
        name=f"mean {mean:.2f}: alignment {mean / k:.3f}",
    )
    figure.add_scatter(x=[None], y=[None], **chance_line(mode, name=f"chance {by_chance:.2f}"))
    here = {
        "x": int(shared[chosen]),
        "y": int(counts[shared[chosen]]),
        "text": f"stimulus {chosen}",
        "bgcolor": ink.paper,
        "xanchor": "left",
    }
    figure.add_annotation(
        **here,
        ax=0,
        ay=-24,
        arrowhead=0,
        arrowcolor=ink.ember,
        font={"color": ink.ember, "size": 13},
    )
    figure.update_xaxes(
        title_text=f"shared neighbors, of k = {k}",
        dtick=max(1, (k + 1) // 20),
        range=[-0.6, k + 0.6],
    )
    return figure.update_yaxes(title_text="stimuli").update_layout(bargap=0.15, margin_t=36)
