"""What probes are worth on other models, as figures."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.figures.drawing import Drawing
from core.figures.marks import SILENT, cards, color_bar, in_percent, interval, name_mark
from core.figures.numbers import p_text, share_text
from core.figures.panels import cell, panels
from core.figures.theme import INK, Mode, hover_card, plain, wrap
from core.questions.swapping.findings import MEAN, OVERALL, kept_text

HEADS = {"orthogonal": "by one orthogonal map", "relative": "by cosines with anchors"}
SYMBOLS = {"orthogonal": "circle", "relative": "diamond"}
ROW = 30  # pixels of a model, or of a factor
ROOM = 4  # spaces whose cells hold a number on a phone


def matrices(
    table: pd.DataFrame, titles: Mapping[str, str], mode: Mode, *, narrow: bool = False
) -> go.Figure:
    """Draw how much of what a space's own probes tell beyond chance another space's tell, a matrix
    per way.

    table: rows of `Swap`. titles: of spaces.
    """
    pairs = table[(table["probe"] != MEAN) & (table["factor"] == OVERALL)]
    order, ways = list(dict.fromkeys(pairs["probe"])), list(dict.fromkeys(pairs["way"]))
    columns = 1 if narrow else len(ways)
    height = ROW * len(order) + 190
    figure = panels(
        [f"<b>{HEADS[way]}</b>" for way in ways],
        columns,
        mode,
        height=height * (len(ways) if narrow else 1) + 60,
        title="Swapped probes",
        shared_yaxes=not narrow,
        horizontal_spacing=0.03,
        vertical_spacing=0.28,
    )
    names = [plain(titles[space]) for space in order]  # slanted, two lines of a name overlap
    at = {"x": names, "y": [wrap(name, 22) for name in names]}
    roomy = not narrow or len(order) <= ROOM
    marked = pairs.assign(card=[_card(row, titles) for row in pairs.to_dict("records")])
    for place, way in enumerate(ways):
        kept, texts = (
            marked[marked["way"] == way]
            .pivot(index="probe", columns="on", values=each)
            .reindex(index=order, columns=order)
            .to_numpy()
            for each in ("kept", "card")
        )
        look = _look(kept, mode, numbers=roomy) | {"showscale": place == 0, "hovertext": texts}
        figure.add_heatmap(**at, **look, **cell(place, columns))
    figure.update_xaxes(tickangle=-90 if narrow else -40, dtick=1, showgrid=False)
    figure.update_xaxes(title_text="used on", row=len(ways) if narrow else 1)
    figure.update_yaxes(autorange="reversed", dtick=1, showgrid=False)
    return figure.update_yaxes(title_text="whose probe", col=1).update_layout(margin_t=40).figure()


def _look(kept: np.ndarray, mode: Mode, *, numbers: bool) -> dict[str, object]:
    bar = color_bar("kept", **in_percent())
    return {
        "z": kept,
        "text": [
            [share_text(one) if numbers and np.isfinite(one) else "" for one in row] for row in kept
        ],
        "zmin": 0.0,
        "zmax": 1.0,
        "colorscale": list(INK[mode].scale),
        "xgap": 1,
        "ygap": 1,
        "hovertemplate": "%{hovertext}<extra></extra>",
        "texttemplate": "%{text}",
        "textfont": {"size": 11},
        "colorbar": bar,
    }


def factors(table: pd.DataFrame, mode: Mode, *, narrow: bool = False) -> go.Figure:
    """Draw what swapped probes tell of each factor, mean over pairs, beside chance and a space's
    own probes; a panel per kind of pair.
    """
    means = table[(table["probe"] == MEAN) & (table["factor"] != OVERALL)]
    kinds = list(means.groupby("kind", sort=False))
    columns = 1 if narrow else len(kinds)
    height = ROW * means["factor"].nunique() + 100
    figure = panels(
        [f"<b>{plain(kind)}</b>" for kind, _ in kinds],
        columns,
        mode,
        height=height * (len(kinds) if narrow else 1) + 50,
        title="Swapped probes by factor",
        shared_yaxes=not narrow,
        horizontal_spacing=0.03,
        vertical_spacing=0.1,
    )
    for place, (_, rows) in enumerate(kinds):
        for way, part in rows.groupby("way", sort=False):
            _add_way(figure, str(way), part, mode, cell(place, columns))
    name_mark(figure, "own probes", _ring(mode), group="native")
    for way, symbol in SYMBOLS.items():
        name_mark(figure, HEADS[way], {"color": _color(way, mode), "symbol": symbol}, group=way)
    name_mark(figure, "chance", _tick(mode), group="chance")
    figure.update_yaxes(autorange="reversed", type="category")
    return (
        figure.update_xaxes(**in_percent(), rangemode="tozero").update_layout(margin_t=60).figure()
    )


def _color(way: str, mode: Mode) -> str:
    return INK[mode].ember if way == "orthogonal" else INK[mode].text


def _ring(mode: Mode) -> dict[str, object]:
    return {"color": INK[mode].soft, "symbol": "circle-open", "size": 13, "line": {"width": 2}}


def _tick(mode: Mode) -> dict[str, object]:
    return {"color": INK[mode].chance, "symbol": "line-ns-open", "size": 12, "line": {"width": 2}}


def _add_way(
    figure: Drawing, way: str, part: pd.DataFrame, mode: Mode, at: Mapping[str, int]
) -> None:
    names = [_factor(name) for name in part["factor"]]
    if way == "orthogonal":
        for column, marker in (("native", _ring(mode)), ("chance", _tick(mode))):
            look = {"mode": "markers", "marker": marker, "legendgroup": column, **SILENT}
            figure.add_scatter(x=part[column], y=names, **look, **at)
    figure.add_scatter(
        x=part["score"],
        y=names,
        mode="markers",
        marker={"color": _color(way, mode), "symbol": SYMBOLS[way], "size": 9},
        error_x=interval(part["score"], part["low"], part["high"], color=INK[mode].soft),
        legendgroup=way,
        showlegend=False,
        **cards(_mean_card(row) for row in part.to_dict("records")),
        **at,
    )


def _factor(name: str) -> str:
    return plain(name.replace("_", " "))


def _numbers(row: Mapping[Hashable, Any]) -> list[str]:
    kept = [f"<b>{kept_text(row)}</b> kept"] if np.isfinite(row["kept"]) else []
    return [
        *kept,
        f"right {share_text(row['score'], 1)}"
        f" ({share_text(row['low'], 1)} to {share_text(row['high'], 1)})",
        f"chance {share_text(row['chance'], 1)}, at home {share_text(row['own'], 1)},"
        f" own probes there {share_text(row['native'], 1)}",
    ]


def _mean_card(row: Mapping[Hashable, Any]) -> str:
    return hover_card(f"<b>{_factor(row['factor'])}</b>", *_numbers(row), ids=HEADS[row["way"]])


def _card(row: Mapping[Hashable, Any], titles: Mapping[str, str]) -> str:
    head = f"<b>probe of {plain(titles[row['probe']])}<br>on {plain(titles[row['on']])}</b>"
    tested = p_text(row["q"], "q")
    return hover_card(head, *_numbers(row), tested, ids=f"{row['probe']}, {row['on']}")
