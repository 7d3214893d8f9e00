"""The map of all metrics with all parameters on all numbers of stimuli against each other."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.figures.theme import Mode, blank, plain, reason, wrap
from core.questions.metrics.figures import cells

ROW = 15  # pixels of a variant


def variant_map(points: pd.DataFrame, *, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw Spearman's ρ between every two variants as a map of colors; a `narrow` one, on a phone,
    has no names.

    points: variant_x, variant_y, spearman, pairs, reason, as
    `core.questions.metrics.matrix.rank_variants` gives them. An empty cell says why when it is
    pointed at.
    """
    if points["spearman"].isna().all():
        return reason(f"No two metrics can be compared here: {points['reason'].iloc[0]}.", mode)
    order = list(dict.fromkeys(points["variant_x"]))
    texts = points.assign(card=[_card(row) for row in points.to_dict("records")])
    z, card = (
        texts.pivot(index="variant_x", columns="variant_y", values=each)
        .loc[order, order]
        .to_numpy()
        for each in ("spearman", "card")
    )
    height = 430 if narrow else ROW * len(order) + 200
    title = "Spearman between metrics, parameters and numbers of stimuli"
    figure = blank(mode, height=height, title=title)
    look = {**cells(z, mode, narrow=True), "xgap": 0, "ygap": 0}
    figure.add_heatmap(x=order, y=order, z=z, hovertext=card, **look)
    ticks = {"dtick": 1, "tickfont_size": 10, "showgrid": False, "showticklabels": not narrow}
    figure.update_xaxes(tickangle=-90, **ticks)
    return figure.update_yaxes(autorange="reversed", **ticks).update_layout(margin_t=12).figure()


def _card(row: Mapping[Hashable, Any]) -> str:
    names = f"<b>{plain(row['variant_x'])}<br>× {plain(row['variant_y'])}</b>"
    if row["reason"]:
        return f"{names}<br>{wrap(plain(row['reason']))}"
    return f"{names}<br>Spearman {row['spearman']:.3f} over {row['pairs']} pairs of models"
