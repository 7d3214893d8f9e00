"""What stitches of many models lose, as figures."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from core.figures.drawing import Drawing
from core.figures.marks import cards, in_percent
from core.figures.numbers import p_text, share_text
from core.figures.theme import (
    INK,
    Mode,
    blank,
    chance_line,
    clear,
    hover_card,
    hue,
    plain,
    reason,
    wrap,
)
from core.questions.stitching.figures import LOST

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star")


def kinds(table: pd.DataFrame, titles: Mapping[str, str], mode: Mode) -> go.Figure:
    """Draw what is lost by kind of pair: a small dot per pair, the mean with its interval over
    seeds. table: rows of `StitchKinds`. titles: of models.
    """
    measured = table.dropna(subset="lost")
    if measured.empty:
        return reason("No two models here could be stitched.", mode)
    order = measured.drop_duplicates("kind").sort_values("mean")
    figure = blank(mode, height=110 + 36 * len(order), title="What is lost, by kind of pair")
    figure.add_scatter(
        x=measured["lost"],
        y=measured["kind"],
        mode="markers",
        marker={"color": clear(INK[mode].ember, 0.55), "size": 7},
        name="a pair of models",
        **cards(_card(row, titles) for row in measured.to_dict("records")),
    )
    bars = {"array": order["high"] - order["mean"], "thickness": 1.5, "color": INK[mode].text}
    figure.add_scatter(
        x=order["mean"],
        y=order["kind"],
        error_x={"type": "data", **bars},
        mode="markers",
        marker={"color": INK[mode].text, "size": 10, "symbol": "diamond"},
        name="mean and 95 % interval over seeds",
        **cards(_kind_card(row) for row in order.to_dict("records")),
    )
    for x in (0, 1):
        figure.add_vline(x=x, line=chance_line(mode)["line"], layer="below")
    figure.update_xaxes(title_text=f"{LOST}: 0 nothing, 100 % all", **in_percent())
    ranked = list(order["kind"])[::-1]
    return figure.update_yaxes(categoryorder="array", categoryarray=ranked, showgrid=False).figure()


def _card(row: Mapping[object, object], titles: Mapping[str, str]) -> str:
    return hover_card(
        f"<b>{plain(titles.get(str(row['x']), row['x']))}</b> into"
        f" <b>{plain(titles.get(str(row['y']), row['y']))}</b>",
        f"lost {share_text(row['lost'], 1)}, by least squares alone"
        f" {share_text(row['least_squares'], 1)}",
        f"score {row['score']:.3f}, own {row['own']:.3f}, chance {row['chance']:.3f},"
        f" means over {row['pairs']} pairs of layers",
        ids=f"{row['x']} × {row['y']}",
    )


def _kind_card(row: Mapping[object, object]) -> str:
    q = float(str(row["q"]))
    beside = "" if math.isnan(q) else f"<br>beside another seed {p_text(q, 'q')}"
    return hover_card(
        f"<b>{plain(row['kind'])}</b>", f"mean loss {share_text(row['mean'], 1)}{beside}", ids=""
    )


def trend(table: pd.DataFrame, titles: Mapping[str, str], mode: Mode) -> go.Figure:
    """Draw what is lost over the competence of both models: a dot per ordered pair, filled with the
    hue of the lower network's objective and edged with that of the upper one's, a symbol per size,
    and a line through the means of the sizes.

    table: rows of `StitchTrend`, of which those of `lost` are drawn.
    """
    rows = table[(table["measure"] == "lost")].dropna(subset=["value", "competence"])
    if rows.empty:
        return reason("No two models here were stitched and measured: platoscope probe does.", mode)
    figure = blank(mode, height=440, title="Stitches as models get better")
    sizes = list(rows.groupby("size")["competence"].mean().sort_values().index)
    shapes = dict(zip(sizes, SYMBOLS * len(sizes), strict=False))
    for kind, dots in rows.groupby("kind", sort=False):
        _add_dots(figure, str(kind), dots, shapes, titles, mode)
    _add_means(figure, rows, shapes, mode)
    _say_trend(figure, rows.iloc[0])
    axis = "mean share of tasks that both models solve"
    figure.update_xaxes(title_text=axis, **in_percent())
    return figure.update_yaxes(title_text=wrap(LOST, 30), **in_percent()).figure()


def _add_dots(
    figure: Drawing,
    kind: str,
    dots: pd.DataFrame,
    shapes: Mapping[str, str],
    titles: Mapping[str, str],
    mode: Mode,
) -> None:
    lower, upper = (hue(dots.iloc[0][f"objective_{side}"], mode) for side in ("x", "y"))
    figure.add_scatter(
        x=dots["competence"],
        y=dots["value"],
        mode="markers",
        marker={
            "color": clear(lower, 0.75),
            "line": {"color": upper, "width": 2},
            "size": 10,
            "symbol": [shapes[size] for size in dots["size"]],
        },
        name=plain(kind),
        **cards(_card({**row, "lost": row["value"]}, titles) for row in dots.to_dict("records")),
    )


def _add_means(figure: Drawing, rows: pd.DataFrame, shapes: Mapping[str, str], mode: Mode) -> None:
    """Draw the mean of each size, the least competent first."""
    means = rows.groupby("size")[["competence", "value"]].mean().loc[list(shapes)]
    figure.add_scatter(
        x=means["competence"],
        y=means["value"],
        mode="lines+markers+text",
        line={"color": INK[mode].text, "width": 2},
        marker={"color": INK[mode].text, "size": 11, "symbol": list(shapes.values())},
        text=list(shapes),
        textposition="top center",
        name="mean of a size",
        hoverinfo="skip",
    )


def _say_trend(figure: Drawing, row: pd.Series) -> None:
    if math.isnan(row["p"]):
        return
    said = f"{row['rise']:+.3f} per tenth of the tasks · {p_text(row['p'])}"
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "xanchor": "left"}
    text = said.replace("-", "−")
    figure.add_annotation(text=text, showarrow=False, yanchor="bottom", **place)
