"""The figure of composed adapters beside direct ones."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from core.figures.marks import interval
from core.figures.panels import cell, panels
from core.figures.theme import INK, Mode
from core.questions.adapters.composition.findings import COMPOSED, DIRECT

HEADS = {"recall_10": "Recall at 10 between x and z", "alignment": "Alignment of their mean"}
NAMES = {DIRECT: "direct", COMPOSED: "through y"}


def composition(table: pd.DataFrame, *, label: str, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw recall and alignment by both ways, with the interval over trainings. table: as
    `core.questions.adapters.composition.answer.compose` gives it. label: of the alignment.
    """
    columns = 1 if narrow else 2
    figure = panels(
        [f"<b>{head}</b>" for head in HEADS.values()],
        columns,
        mode,
        height=190 * (3 - columns) + 30,
        title="Adapters one after the other, and direct ones",
        horizontal_spacing=0.12,
        vertical_spacing=0.25,
    )
    for place, measure in enumerate(HEADS):
        rows = table[(table["measure"] == measure) & table["way"].isin(list(NAMES))]
        figure.add_scatter(
            x=rows["value"],
            y=rows["way"].map(NAMES),
            mode="markers",
            marker={"color": INK[mode].ember, "size": 11},
            error_x=interval(rows["value"], rows["low"], rows["high"], color=INK[mode].soft),
            hovertemplate="%{y}: %{x:.3f}<extra></extra>",
            showlegend=False,
            **cell(place, columns),
        )
    figure.update_xaxes(rangemode="tozero").update_xaxes(title_text=label, **cell(1, columns))
    return figure.update_yaxes(type="category", autorange="reversed").figure()
