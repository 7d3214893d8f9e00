"""The figure of each model beside the consensus of the others."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.figures.marks import cards
from core.figures.numbers import p_text
from core.figures.panels import cell, grid, name_rows, per_row
from core.figures.theme import INK, Mode, clear, hue, plain, scatter_of


def held_out(
    points: pd.DataFrame, fits: pd.DataFrame, *, mode: Mode, narrow: bool = False
) -> go.Figure:
    """Draw each model's deviation from the others' consensus against their dispersion, a panel per
    model, a dot per stimulus.

    points: as `core.questions.dispersion.consensus.hold_out` gives them, with title and group of
    each space. fits: as `relate_held_out` does, published beside it where it is known.
    """
    spaces = list(dict.fromkeys(points["space"]))
    relations = fits.set_index("space").to_dict("index")
    titles = points.drop_duplicates("space").set_index("space")["title"]
    heads = [_head(titles[space], relations[space]) for space in spaces]
    figure = grid(heads, mode, narrow=narrow, height=320, gap=0.045)
    columns, kind = per_row(len(spaces), narrow), scatter_of(len(points))
    for place, space in enumerate(spaces):
        panel, at = points[points["space"] == space], cell(place, columns)
        figure.add_trace({"type": kind, **_dots(panel, mode)}, **at)
        fit = _fit(panel["dispersion"], relations[space], mode)
        # of the dots' own kind, else it would lie beneath them
        figure.add_trace({"type": kind, **fit, "showlegend": place == 0}, **at)
    figure.update_xaxes(title_text="dispersion of the others", nticks=5).update_yaxes(nticks=6)
    name_rows(figure, len(spaces), columns, "deviation from their consensus")
    return figure.update_layout(
        meta={"title": "Dispersion and the deviation of a model that does not define it"}
    ).figure()


def _head(title: object, fit: Mapping[Hashable, Any]) -> str:
    return f"<b>{plain(title)}</b><br><span style='font-size:12px'>{_correlation(fit)}</span>"


def _dots(panel: pd.DataFrame, mode: Mode) -> dict[str, object]:
    color = hue(str(panel["group"].iloc[0]), mode)
    return {
        "x": panel["dispersion"],
        "y": panel["deviation"],
        "mode": "markers",
        "marker": {"color": clear(color, 0.45), "size": 5},
        "showlegend": False,
        **cards(
            f"stimulus {row.index}<br>dispersion {row.dispersion:.3g}<br>deviation"
            f" {row.deviation:.3g}"
            for row in panel.itertuples(index=False)
        ),
    }


def _fit(x: pd.Series, fit: Mapping[Hashable, Any], mode: Mode) -> dict[str, object]:
    ends = pd.Series([x.min(), x.max()])
    return {
        "x": ends,
        "y": fit["intercept"] + fit["slope"] * ends,
        "mode": "lines",
        "line": {"color": INK[mode].text, "width": 2, "dash": "dash"},
        "name": "least-squares fit",
        "legendgroup": "fit",
        "hoverinfo": "skip",
    }


def _correlation(fit: Mapping[Hashable, Any]) -> str:
    if math.isnan(fit["pearson"]):
        return "no correlation: one side does not vary"
    r = f"Pearson {fit['pearson']:.2f} ({fit['pearson_low']:.2f} to {fit['pearson_high']:.2f})"
    published = f"<br><b>published {fit['published']:.2f}</b>" if "published" in fit else ""
    return (
        f"{r}, {p_text(fit['shuffled_p'])}<br>shuffled {fit['shuffled']:.2f}, Spearman"
        f" {fit['spearman']:.2f}{published}".replace("-", "−")
    )
