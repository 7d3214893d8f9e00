"""The figure of each model beside the consensus of the others."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.figures.panels import cell, grid
from core.figures.theme import (
    INK,
    Mode,
    clear,
    hue,
    p_text,
    plain,
    scatter_of,
)
from core.questions.dispersion.figures import name_rows


def held_out(
    points: pd.DataFrame, fits: pd.DataFrame, *, mode: Mode, narrow: bool = False
) -> go.Figure:
    """Draw each model's deviation from the others' consensus against their dispersion, a panel per
    model, a dot per stimulus.

    points: as `core.questions.dispersion.consensus.hold_out` gives them, with title and group of
    each space. fits: as `relate_held_out` does.
    """
    spaces = list(dict.fromkeys(points["space"]))
    relations = fits.set_index("space").to_dict("index")
    titles = points.drop_duplicates("space").set_index("space")["title"]
    heads = [
        f"<b>{plain(titles[space])}</b><br><span"
        f" style='font-size:12px'>{_correlation(relations[space])}</span>"
        for space in spaces
    ]
    figure = grid(heads, mode, narrow=narrow, height=320, gap=0.045)
    for place, space in enumerate(spaces):
        panel, at = points[points["space"] == space], cell(place, len(spaces), narrow)
        color = hue(str(panel["group"].iloc[0]), mode)
        cards = [
            f"stimulus {row.index}<br>dispersion {row.dispersion:.3g}<br>deviation"
            f" {row.deviation:.3g}"
            for row in panel.itertuples(index=False)
        ]
        dots = {
            "type": scatter_of(len(points)),
            "x": panel["dispersion"],
            "y": panel["deviation"],
            "mode": "markers",
            "marker": {"color": clear(color, 0.45), "size": 5},
            "hovertext": cards,
            "showlegend": False,
            "hovertemplate": "%{hovertext}<extra></extra>",
        }
        figure.add_trace(dots, **at)
        ends = pd.Series([panel["dispersion"].min(), panel["dispersion"].max()])
        line = {"color": INK[mode].text, "width": 2, "dash": "dash"}
        fit = {
            "type": dots["type"],
            "x": ends,
            "y": relations[space]["intercept"] + relations[space]["slope"] * ends,
            "mode": "lines",
            "line": line,
            "name": "least-squares fit",
            "showlegend": place == 0,
            "hoverinfo": "skip",
        }
        figure.add_trace(fit, **at)  # of the dots' own kind, else it would lie beneath them
    figure.update_xaxes(title_text="dispersion of the others", nticks=5).update_yaxes(nticks=6)
    name_rows(figure, len(spaces), narrow, "deviation from their consensus")
    return figure.update_layout(
        meta={"title": "Dispersion and the deviation of a model that does not define it"}
    )


def _correlation(fit: Mapping[Hashable, Any]) -> str:
    if math.isnan(fit["pearson"]):
        return "no correlation: one side does not vary"
    r = f"Pearson {fit['pearson']:.2f} ({fit['pearson_low']:.2f} to {fit['pearson_high']:.2f})"
    return (
        f"{r}, {p_text(fit['shuffled_p'])}<br>shuffled {fit['shuffled']:.2f}, Spearman"
        f" {fit['spearman']:.2f}".replace("-", "−")
    )
