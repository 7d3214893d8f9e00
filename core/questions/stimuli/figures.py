"""The Stimuli page's bars: one stimulus's residuals, and on how many neighbors two models agree."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Integer

from core.figures.drawing import Drawing
from core.figures.marks import SILENT, add_level, cards
from core.figures.theme import (
    INK,
    Mode,
    blank,
    clear,
    dotted,
    hue,
    plain,
    reason,
    wrap,
)


def residuals(rows: pd.DataFrame, *, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw one stimulus's residual in each model as a bar with its rank, over the middle half of
    all stimuli.

    rows: a row per model: title, group, residual, rank (1 is closest to the consensus), n, lower,
    upper (quartiles of all stimuli). `narrow` leaves a phone room for names and ranks.
    """
    names = [wrap(plain(title), 15 if narrow else 60) for title in rows["title"]]
    beside = rows[["residual", "upper"]].max(axis=1)
    figure = blank(mode, height=34 * len(rows) + 110, title="Residual of the stimulus by model")
    figure.add_bar(**_middle_half(rows, mode), y=names, orientation="h", width=0.9)
    figure.add_bar(**_residual_bars(rows, mode), y=names, orientation="h", width=0.45)
    figure.add_scatter(
        x=beside,
        y=names,
        mode="text",
        text=_ranks(rows),
        textposition="middle right",
        cliponaxis=False,
        **SILENT,
    )
    most = (2.0 if narrow else 1.35) * beside.max()
    figure.update_xaxes(
        title_text=wrap("residual: distance to the consensus", 24 if narrow else 60),
        nticks=4 if narrow else 8,
        range=[0, most or 1.0],
    )
    figure.update_yaxes(autorange="reversed", showgrid=False, ticksuffix="  ")
    return figure.update_layout(barmode="overlay", margin_t=8).figure()


def _middle_half(rows: pd.DataFrame, mode: Mode) -> dict[str, object]:
    return {
        "x": rows["upper"] - rows["lower"],
        "base": rows["lower"],
        "marker": {"color": clear(INK[mode].chance, 0.35)},
        "name": "middle half of all stimuli",
        "hoverinfo": "skip",
    }


def _residual_bars(rows: pd.DataFrame, mode: Mode) -> dict[str, object]:
    texts = [
        f"<b>{plain(row.title)}</b><br>residual {row.residual:.3g}<br>{rank.strip()}"
        for row, rank in zip(rows.itertuples(index=False), _ranks(rows), strict=True)
    ]
    return {
        "x": rows["residual"],
        "showlegend": False,
        "marker": {"color": [hue(group, mode) for group in rows["group"]]},
        **cards(texts),
    }


def _ranks(rows: pd.DataFrame) -> list[str]:
    return [f" rank {row.rank:,} of {row.n:,}" for row in rows.itertuples(index=False)]


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
    ink, counts = INK[mode], np.bincount(shared, minlength=k + 1)
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
    _mark_levels(
        figure, mean=float(shared.mean()), chance=k * k / (len(shared) - 1), k=k, mode=mode
    )
    _mark_stimulus(figure, int(shared[chosen]), int(counts[shared[chosen]]), chosen, mode)
    figure.update_xaxes(
        title_text=f"shared neighbors, of k = {k}",
        dtick=max(1, (k + 1) // 20),
        range=[-0.6, k + 0.6],
    )
    return (
        figure.update_yaxes(title_text="stimuli").update_layout(bargap=0.15, margin_t=36).figure()
    )


def _mark_levels(figure: Drawing, *, mean: float, chance: float, k: int, mode: Mode) -> None:
    add_level(figure, chance, f"chance {chance:.2f}", dotted(mode))
    solid = {"color": INK[mode].text, "width": 1.5}
    add_level(figure, mean, f"mean {mean:.2f}: alignment {mean / k:.3f}", solid)


def _mark_stimulus(figure: Drawing, x: int, y: int, stimulus: int, mode: Mode) -> None:
    ink = INK[mode]
    figure.add_annotation(
        x=x,
        y=y,
        text=f"stimulus {stimulus}",
        bgcolor=ink.paper,
        xanchor="left",
        ax=0,
        ay=-24,
        arrowhead=0,
        arrowcolor=ink.ember,
        font={"color": ink.ember, "size": 13},
    )
