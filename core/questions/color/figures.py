"""Figures of colors: clouds that turn together, agreement of sources, and model size."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Float, Float64

from core.figures.drawing import SILENT, cards, cell, draw_panels, play
from core.figures.grammar import Axis, Dots, Facet, Heat, Level, Plot, Scale
from core.figures.theme import INK, Mode, clear, hover_card, plain, template
from core.modalities import LANGUAGE

SIDE = 290  # pixels of a panel
START, STEP, TILT = 30, 60, 30  # degrees: from where colors are seen
CENTER = (55.0, 0.0, 0.0)  # of CIELAB: a middle gray, about which color words lie
CROSS = {  # the axes of CIELAB: from, to
    "L*": ((0.0, 0.0, 0.0), (100.0, 0.0, 0.0)),
    "a*": ((50.0, -70.0, 0.0), (50.0, 70.0, 0.0)),
    "b*": ((50.0, 0.0, -70.0), (50.0, 0.0, 70.0)),
}
TIP = 1.2  # where axes are named, in their lengths
FEW, SOME = 40, 400  # points of a panel that are large, and smaller


class Clouds(Plot):
    """The layout of each source in a panel of its own; a slider turns all of them together."""

    def make(self, mode: Mode, narrow: bool) -> go.Figure:
        """Draw the clouds from all sides."""
        turns = range(0, 360, STEP)
        drawn = [_clouds(self.table, mode, narrow=narrow, turn=START + turn) for turn in turns]
        return play(drawn, [f"{turn}°" for turn in turns], mode, prefix="", active=0)


def clouds(table: pd.DataFrame) -> Plot:
    """Draw the layout of each source. table: as `ColorLayout` answers."""
    return Clouds("Layouts of colors", (), table=table)


def _clouds(table: pd.DataFrame, mode: Mode, *, narrow: bool, turn: float) -> go.Figure:
    """Draw every source over CIELAB's axes, in one scale and seen from one side."""
    sources = [rows for _, rows in table.groupby("source", sort=False)]
    columns, wide = min(2 if narrow else 3, len(sources)), 190 if narrow else SIDE
    rows = math.ceil(len(sources) / columns)
    ends = np.array([end for _, end in CROSS.values()])
    across, up = _reach(np.vstack([_points(table), CENTER + TIP * (ends - CENTER)]))
    height = round(rows * wide * up / across) + (rows - 1) * 50
    spacing = {"horizontal_spacing": 0.02, "vertical_spacing": min(0.4, 50 / height)}
    figure = draw_panels(rows, columns, [_head(source) for source in sources], **spacing)
    figure.update_annotations(font_size=13)
    meta = {"title": "Layouts of colors"}
    figure.update_layout(template=template(mode), height=height + 56, meta=meta)
    ink = INK[mode]
    axes = [point for ends in CROSS.values() for point in (*ends, (math.nan,) * 3)]
    x, y, _ = project(np.array(axes), turn).round(3).T
    tips_x, tips_y, _ = TIP * project(ends, turn).T
    for place, source in enumerate(sources):
        at = cell(place, columns)
        line = {"color": clear(ink.chance, 0.6), "width": 1}
        figure.add_scatter(x=x, y=y, mode="lines", line=line, **SILENT, **at)
        if place == 0:  # all panels have the same axes
            text = {"text": list(CROSS), "textfont": {"size": 11, "color": ink.soft}}
            figure.add_scatter(x=tips_x, y=tips_y, mode="text", **text, **SILENT, **at)
        seen = project(_points(source), turn)
        order = np.argsort(seen[:, 2], kind="stable")  # far ones first
        seen, source = seen[order], source.iloc[order]
        size = 12.0 if len(seen) <= FEW else 8.0 if len(seen) <= SOME else 4.0
        marker = {
            "color": list(source["hex"]),
            "size": (size * (1 + 0.25 * np.clip(seen[:, 2] / 100, -1, 1))).round(1).tolist(),
            "opacity": 1.0,
            "line": {"color": ink.soft, "width": 1},
        }
        hover = [
            hover_card(
                f"<b>{plain(row['color'])}</b>, {plain(row['source'])}",
                f"{row['error']:.1f} ΔE from its place in perception",
                *([] if math.isnan(row["seen"]) else [f"seen {row['seen']:,.0f} times"]),
                ids=str(row["hex"]),
            )
            for row in source.to_dict("records")
        ]
        figure.add_scatter(
            x=seen[:, 0].round(3),
            y=seen[:, 1].round(3),
            mode="markers",
            marker=marker,
            cliponaxis=False,
            showlegend=False,
            **cards(hover),
            **at,
        )
    hidden = {"visible": False, "fixedrange": True}
    figure.update_xaxes(range=[-across, across], **hidden)
    figure.update_yaxes(range=[-up, up], **hidden)
    for place in range(len(sources)):
        anchor = "x" if place == 0 else f"x{place + 1}"
        figure.update_yaxes(scaleratio=1, scaleanchor=anchor, **cell(place, columns))
    look = {"dragmode": False, "hovermode": "closest"}
    return figure.update_layout(margin_t=48, margin_l=24, margin_r=24, **look).figure()


def _head(table: pd.DataFrame) -> str:
    """Return a panel's heading: the source, then how it agrees with perception."""
    first = table.iloc[0]
    second = "reference"
    if table["error"].max() >= 1e-6:
        second = f"τ = {first['kendall']:.2f}".replace("-", "−")
    return f"<b>{plain(first['source'])}</b><br><span style='font-size:12px'>{second}</span>"


def _points(table: pd.DataFrame) -> Float64[np.ndarray, "n 3"]:
    return table[["x", "y", "z"]].to_numpy(np.float64)


def _reach(points: Float64[np.ndarray, "n 3"]) -> tuple[float, float]:
    """Return how far points reach across and up from the center of a panel, however they turn."""
    up, right, away = (points - CENTER).T
    around, over = np.hypot(right, away), np.radians(TILT)
    rise = np.abs(up) * np.cos(over) + around * np.sin(over)
    return 1.05 * float(around.max()), 1.05 * float(rise.max())


def project(points: Float[np.ndarray, "n 3"], turn: float) -> Float64[np.ndarray, "n 3"]:
    """Return how far right, up and near to the eye each point is of the center of a panel.

    points: up, right and away: L*, a*, b*. They turn around the first axis, in degrees, then by
    TILT toward the eye.
    """
    up, right, away = (points - CENTER).T
    around, over = np.radians(turn), np.radians(TILT)
    x = right * np.cos(around) + away * np.sin(around)
    depth = away * np.cos(around) - right * np.sin(around)
    return np.column_stack(
        [x, up * np.cos(over) + depth * np.sin(over), up * np.sin(over) - depth * np.cos(over)]
    )


def agreement(table: pd.DataFrame) -> Plot:
    """Draw the agreement of every two sources as a matrix. table: as `ColorAgreement` answers."""
    low = min(0.0, float(table["value"].min())) if len(table) else 0.0
    card = (
        "<b>{x} × {y}</b>",
        "Kendall τ {value:.3f} [[[{low:.2f}, {high:.2f}]]]",
        "shuffled colors {chance:.3f}, {p_adjusted:p}",
    )
    names = list(dict.fromkeys([*table["x"], *table["y"]]))
    scale = Scale("value", "Kendall τ", low=low, high=1.0)
    return Plot(
        "Kendall τ of dissimilarities of colors",
        (Heat("x", "y", scale, label="{value:.2f}", card=card, mirrored=True),),
        x=Axis(names=names),
        y=Axis(names=names),
        row=52,
        empty="No two sources can be compared.",
        table=table,
    )


def knowledge(table: pd.DataFrame) -> Plot:
    """Draw how well each language model knows perception, over its size and its competence.

    table: as `ColorModels` answers. Hollow points are models before the end of their training.
    """
    axes = {"parameters": Axis("parameters", log=True), "competence": Axis("1 − bits per byte")}
    kept = [column for column in table if column not in axes]
    long = table.dropna(subset="kendall").melt(kept, list(axes), "over", "x")
    shown = [name for name in axes if table[name].notna().any()]
    dots = Dots(
        "x",
        "kendall",
        rows="not copy",
        size=10.0,
        color="group",
        modality=LANGUAGE,
        card=("<b>{title}</b>", "Kendall τ {kendall:.3f}, {kendall_p:p}"),
        ids="{model}",
        select=("model",),
    )
    return Plot(
        "Agreement with perception over size",
        (dots, replace(dots, rows="copy", hollow=True)),
        x={name: axes[name] for name in shown},
        y=Axis("Kendall τ with perception"),
        facet=Facet("over", head=None),
        levels=(Level(0.0, "chance"),),
        empty="No language model can be asked about colors[[: {reason}]].",
        height=360,
        table=long[long["over"].isin(shown)] if len(long) else table.head(1),
    )
