"""The figure of probes: what can be read of each encoder before adapters and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.figures.drawing import Drawing
from core.figures.marks import SILENT, cards, interval, name_mark
from core.figures.panels import cell, panels
from core.figures.theme import INK, Mode, plain, wrap
from core.questions.adapters.probes import OVERALL, READS

HEIGHT = 250  # of a panel


def probes(
    table: pd.DataFrame, titles: Mapping[str, str], *, mode: Mode, narrow: bool = False
) -> go.Figure:
    """Draw each label's share before (hollow) and after (filled, with the interval of the change),
    next to chance; a panel per encoder and probe.

    table: as `core.questions.adapters.probes.probe_adapters` gives it. titles: of spaces.
    """
    shown = table[table["change"].notna() & (table["label"] != OVERALL)]
    parts = list(shown.groupby(["probe", "space"], sort=False))
    columns = 1 if narrow else shown["space"].nunique()
    figure = panels(
        [
            f"<b>{wrap(plain(titles[f'{space}']), 30)}</b><br>{READS[f'{probe}']}"
            for (probe, space), _ in parts
        ],
        columns,
        mode,
        height=HEIGHT * len(parts) // columns + 60,
        title="Factors and nuisances before and after adapters",
        horizontal_spacing=0.13,
        vertical_spacing=0.5 / max(2, len(parts)),
    )
    figure.update_annotations(font_size=13)
    for place, (_, rows) in enumerate(parts):
        _add_rows(figure, rows, mode, cell(place, columns))
    for kind, color in _colors(mode).items():
        name_mark(figure, f"{kind}s", {"color": color}, group=kind)
    for name, symbol in (("before", "circle-open"), ("chance", "line-ns-open")):
        name_mark(figure, name, {"color": INK[mode].soft, "symbol": symbol}, group=name)
    figure.update_yaxes(autorange="reversed", type="category")
    return figure.update_xaxes(rangemode="tozero").update_layout(margin_t=60).figure()


def _colors(mode: Mode) -> dict[str, str]:
    return {"factor": INK[mode].text, "nuisance": INK[mode].ember}


def _add_rows(figure: Drawing, rows: pd.DataFrame, mode: Mode, at: Mapping[str, int]) -> None:
    names = [plain(label) for label in rows["label"]]
    colors = [_colors(mode)[kind] for kind in rows["kind"]]
    marks = {
        "chance": (INK[mode].chance, "line-ns-open", 12),
        "before": (colors, "circle-open", 10),
    }
    for column, (color, symbol, size) in marks.items():
        marker = {"color": color, "symbol": symbol, "size": size, "line": {"width": 2}}
        figure.add_scatter(
            x=rows[column],
            y=names,
            mode="markers",
            marker=marker,
            legendgroup=column,
            **SILENT,
            **at,
        )
    low, high = rows["before"] + rows["low"], rows["before"] + rows["high"]
    figure.add_scatter(
        x=rows["after"],
        y=names,
        mode="markers",
        marker={"color": colors, "size": 10},
        error_x=interval(rows["after"], low, high, color=INK[mode].soft, thickness=1.5),
        showlegend=False,
        **cards(_card(row) for row in rows.to_dict("records")),
        **at,
    )


def _card(row: Mapping[Any, Any]) -> str:
    return (
        f"<b>{plain(row['label'])}</b><br>before {row['before']:.3f}<br>after {row['after']:.3f}"
        f"<br>change {row['change']:+.3f}, 95% interval {row['low']:+.3f} to {row['high']:+.3f}"
        f"<br>chance {row['chance']:.3f}"
    )
