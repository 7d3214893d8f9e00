"""The figure of the ablation: a row per way to train, a panel per measure."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from core.figures.drawing import Drawing
from core.figures.marks import SILENT, cards, interval, name_line, name_mark
from core.figures.panels import cell, panels
from core.figures.theme import INK, Mode, plain
from core.questions.adapters.ablation.findings import label_of

HEADS = {"recall_10": "Recall at 10", "alignment": "Alignment of the mean"}
DASHES = {"CCA": "dash", "ridge": "dot"}


def ablation(table: pd.DataFrame, *, label: str, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw what adapters reach trained in each way, with the interval over trainings, beside the
    baselines' means. table: as `core.questions.adapters.ablation.answer.ablate` gives it. label:
    of the alignment.
    """
    columns = 1 if narrow else 2
    tall = 26 * table[["choice", "setting"]].drop_duplicates().shape[0] + 90
    figure = panels(
        [f"<b>{head}</b>" for head in HEADS.values()],
        columns,
        mode,
        height=tall * (3 - columns) + 40,
        title="Adapters trained in several ways",
        shared_yaxes=not narrow,
        horizontal_spacing=0.05,
        vertical_spacing=0.1,
    )
    for place, (measure, head) in enumerate(HEADS.items()):
        rows, at = table[table["measure"] == measure], cell(place, columns)
        names = [plain(label_of(row)) for row in rows.to_dict("records")]
        _add_baselines(figure, rows, names, mode, at)
        figure.add_scatter(**_dots(rows, names, mode), **at)
        figure.update_xaxes(title_text=label if measure == "alignment" else head.lower(), **at)
    name_mark(figure, "adapters, 95 % interval", {"color": INK[mode].ember}, group="adapters")
    for name, dash in DASHES.items():
        name_line(figure, name, {"color": INK[mode].soft, "dash": dash}, group=name)
    return figure.update_yaxes(autorange="reversed", type="category").figure()


def _add_baselines(
    figure: Drawing, rows: pd.DataFrame, names: list[str], mode: Mode, at: Mapping[str, int]
) -> None:
    """Draw each baseline, which is the same in every row, from the first row to the last."""
    for name, dash in DASHES.items():
        line = {"color": INK[mode].soft, "width": 1.5, "dash": dash}
        look = {"mode": "lines", "line": line, "legendgroup": name, **SILENT}
        figure.add_scatter(x=rows[name], y=names, **look, **at)


def _dots(rows: pd.DataFrame, names: list[str], mode: Mode) -> dict[str, object]:
    color = INK[mode].ember
    return {
        "x": rows["value"],
        "y": names,
        "mode": "markers",
        "marker": {"color": color, "size": 9},
        "error_x": interval(rows["value"], rows["low"], rows["high"], color=color, thickness=2),
        "legendgroup": "adapters",
        "showlegend": False,
        **cards(
            f"<b>{name}</b><br>{value:.3f}{_ends(low, high)}<br>change {change:+.3f}"
            for name, value, low, high, change in zip(
                names, rows["value"], rows["low"], rows["high"], rows["change"], strict=True
            )
        ),
    }


def _ends(low: float, high: float) -> str:
    return "" if math.isnan(low) else f"<br>95 % interval {low:.3f} to {high:.3f}"
