"""What two stitched networks lose, as figures."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.figures.drawing import Drawing
from core.figures.marks import cards, color_bar, in_percent, interval
from core.figures.numbers import share_text
from core.figures.panels import cell, panels
from core.figures.theme import INK, Mode, blank, chance_line, hover_card, plain, reason, wrap
from core.questions.stitching.findings import correlate

MAPS = {  # what h is, in the order drawn: its row, and how it is called
    "trained": "fitted to the task",
    "least squares": "least squares on activations",
    "identity": "identity",
    "random": "random",
    "itself, identity": "the upper network with itself",
}
FEW = 8  # layers that have room for their names
WORST = 1.5  # of what is lost: a random map of words loses many times all there is
LOST = "share of the score above chance that is lost"
Row = Mapping[Hashable, Any]


def kinds_of_map(table: pd.DataFrame, mode: Mode) -> go.Figure:
    """Draw what each kind of h loses at one pair of layers, with intervals over stimuli.

    table: rows of `Stitch`.
    """
    measured = table[table["lost"].notna()].set_index("h")
    shown = measured.loc[[name for name in MAPS if name in measured.index]].reset_index()
    if shown.empty:
        return reason("The upper network does no better than chance, so nothing can be lost.", mode)
    figure = blank(mode, height=90 + 44 * len(shown), title="What each map loses")
    beyond = shown["lost"] > WORST
    drawn = shown["lost"].clip(upper=WORST)
    ends = shown[["lost_low", "lost_high"]].clip(upper=WORST)
    figure.add_scatter(
        x=drawn,
        y=[MAPS[name] for name in shown["h"]],
        error_x=interval(drawn, ends["lost_low"], ends["lost_high"], color=INK[mode].text),
        mode="markers+text",
        marker={
            "color": INK[mode].ember,
            "size": 11,
            "symbol": ["triangle-right" if far else "circle" for far in beyond],
        },
        text=[f" {share_text(value)}" for value in shown["lost"]],
        textposition="top center",
        showlegend=False,
        **cards(_map_card(row) for row in shown.to_dict("records")),
    )
    _add_edges(figure, mode)
    figure.update_yaxes(range=[len(shown) - 0.5, -0.8], showgrid=False)
    return figure.update_xaxes(title_text=wrap(LOST, 30), **shares_axis(WORST)).figure()


def shares_axis(most: float) -> dict[str, object]:
    """Return an axis of shares that may lie beyond 100 %, to `most`."""
    ticks = [place / 2 for place in range(int(2 * most) + 1)]
    return {"tickvals": ticks, "ticktext": [share_text(tick) for tick in ticks]}


def _add_edges(figure: Drawing, mode: Mode) -> None:
    """Draw where nothing is lost, and where all is."""
    for x, text in ((0, "nothing lost"), (1, "chance")):
        figure.add_vline(x=x, line=chance_line(mode)["line"], layer="below")
        place = {"x": x, "y": 1, "yref": "y domain", "yanchor": "bottom", "showarrow": False}
        figure.add_annotation(text=text, font={"size": 12, "color": INK[mode].soft}, **place)


def _map_card(row: Row) -> str:
    return hover_card(
        f"<b>{plain(MAPS[row['h']])}</b>",
        f"lost {share_text(row['lost'], 1)}, 95 % interval {share_text(row['lost_low'], 1)} to"
        f" {share_text(row['lost_high'], 1)}",
        f"score {row['score']:.3f}, own {row['own']:.3f}, chance {row['chance']:.3f}",
        ids=f"layers {row['layer_x']} × {row['layer_y']}",
    )


def layer_maps(
    table: pd.DataFrame, titles: tuple[str, str], *, label: str, mode: Mode, narrow: bool = False
) -> go.Figure:
    """Draw what is lost at each pair of layers, with the way of least penalty, beside the alignment
    of the same layers.

    table: rows of `StitchMap`. titles: of both models. label: of alignment.
    """
    if table.empty:
        return reason("No pair of layers of these models has been stitched yet.", mode)
    columns = 1 if narrow else 2
    names = [_names(table, side) for side in ("x", "y")]
    heads = ["<b>What is lost</b>", f"<b>{wrap(plain(label), 40)}</b>"]
    height = (34 * len(names[0]) + 190) * (3 - columns)
    title = f"Stitches and alignment of {titles[0]} and {titles[1]}"
    gap = {"horizontal_spacing": 0.14, "vertical_spacing": 0.2}
    figure = panels(heads, columns, mode, height=max(height, 380), title=title, **gap)
    for place, (column, text) in enumerate((("lost", "lost"), ("alignment", "alignment"))):
        at = cell(place, columns)
        _add_map(figure, table, names, column, text, mode, at)
        figure.update_xaxes(title_text=wrap(plain(titles[1]), 36), **_steps(names[1]), **at)
    figure.update_yaxes(title_text=wrap(plain(titles[0]), 30), **_steps(names[0]))
    _add_path(figure, table, mode, cell(0, columns))
    return figure.update_layout(margin_t=64).figure()


def _names(table: pd.DataFrame, side: str) -> list[str]:
    named = table.drop_duplicates(f"layer_{side}").sort_values(f"layer_{side}")
    return list(named[f"name_{side}"])


def _add_map(
    figure: Drawing,
    table: pd.DataFrame,
    names: Sequence[Sequence[str]],
    column: str,
    text: str,
    mode: Mode,
    at: Mapping[str, int],
) -> None:
    grid = table.pivot(index="layer_x", columns="layer_y", values=column)
    values = grid.to_numpy(float)
    lost = column == "lost"
    scale = list(INK[mode].scale)
    figure.add_heatmap(
        z=values,
        x=list(grid.columns),
        y=list(grid.index),
        colorscale=scale[::-1] if lost else scale,
        zmin=min(0.0, float(np.nanmin(values))),
        zmax=min(1.0, float(np.nanmax(values))) if lost else float(np.nanmax(values)),
        xgap=2,
        ygap=2,
        showscale=False,
        text=[[share_text(one) if lost else f"{one:.2f}" for one in row] for row in values],
        texttemplate="%{text}",
        hovertext=[
            [f"{plain(names[0][x])} × {plain(names[1][y])}" for y in range(len(names[1]))]
            for x in range(len(names[0]))
        ],
        hovertemplate="%{hovertext}<br>" + text + " %{z:.3f}<extra></extra>",
        **at,
    )


def _add_path(figure: Drawing, table: pd.DataFrame, mode: Mode, at: Mapping[str, int]) -> None:
    path = table[table["on_path"].astype(bool)].sort_values("layer_y")
    figure.add_scatter(
        x=path["layer_y"],
        y=path["layer_x"],
        mode="markers",  # a line would hide the numbers
        marker={
            "symbol": "circle-open",
            "size": 40,
            "color": INK[mode].text,
            "line": {"width": 2},
        },
        name="way of least penalty",
        hoverinfo="skip",
        **at,
    )


def _steps(names: Sequence[str]) -> dict[str, object]:
    """Return an axis of layers: their names, or of many their numbers."""
    few = len(names) <= FEW
    return {
        "showgrid": False,
        "tickvals": list(range(0, len(names), 1 if few else len(names) // 8)),
        **({"ticktext": [plain(name) for name in names]} if few else {}),
    }


def foretelling(table: pd.DataFrame, *, label: str, mode: Mode) -> go.Figure:
    """Draw what is lost over alignment, a dot per pair of layers. table: rows of `StitchMap`."""
    measured = table.dropna(subset=["alignment", "lost"])
    if measured.empty:
        return reason("No pair of layers has both an alignment and a stitch.", mode)
    figure = blank(mode, height=360, title="Alignment and what is lost")
    figure.add_scatter(
        x=measured["alignment"],
        y=measured["lost"],
        mode="markers",
        marker={
            "size": 10,
            "color": measured["layer_y"] / max(1, measured["layer_y"].max()),
            "colorscale": list(INK[mode].scale[1:]),
            "line": {"color": INK[mode].soft, "width": 1},
            "colorbar": color_bar("depth in<br>upper", tickvals=[0, 1], ticktext=["first", "last"]),
        },
        showlegend=False,
        **cards(_pair_card(row) for row in measured.to_dict("records")),
    )
    fit = correlate(table)
    said = f"Spearman {fit.rho:+.2f} · {len(measured)} pairs of layers".replace("-", "−")
    note = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "yanchor": "bottom"}
    if np.isfinite(fit.rho):
        figure.add_annotation(text=said, showarrow=False, xanchor="left", **note)
    figure.update_yaxes(title_text=wrap(LOST, 30), **in_percent())
    return figure.update_xaxes(title_text=plain(label)).figure()


def _pair_card(row: Row) -> str:
    return hover_card(
        f"{plain(row['name_x'])} × {plain(row['name_y'])}",
        f"lost {share_text(row['lost'], 1)}, alignment {row['alignment']:.3f}",
        ids=f"layers {row['layer_x']} × {row['layer_y']}",
    )
