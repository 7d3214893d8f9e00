"""What images tell language models, as figures."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.figures.drawing import Drawing
from core.figures.marks import SILENT, cards, group_mark, interval, name_groups, name_mark
from core.figures.numbers import p_text
from core.figures.panels import cell, panels
from core.figures.theme import INK, Mode, hover_card, plain, reason, wrap
from core.modalities import VISION

ROW = 30  # pixels of a vision model
MARKS = {
    "own": ("its own image", "circle"),
    "other": ("another's image", "x-thin"),
    "without": ("no image, a prefix as long", "line-ns"),
}
BESIDE = {
    "alignment": "alignment of the two models",
    "solved": "share of tasks that the vision model solves",
    "competence": "1 − bits per byte of the captions",
}


def bits(
    table: pd.DataFrame, titles: Mapping[str, str], mode: Mode, *, narrow: bool = False
) -> go.Figure:
    """Draw what captions cost behind their own image, another's and none, a panel per language
    model; the bar around a dot is the interval of what it saves.

    table: rows of `PrefixBits`. titles: of models.
    """
    measured = table[table["saved"].notna()]
    if measured.empty:
        return reason(f"No pair could be measured: {table['reason'].iloc[0]}", mode)
    parts = list(measured.groupby("x", sort=False))
    columns = 1 if narrow else min(3, len(parts))
    rows = -(-len(parts) // columns)
    most = max(len(part) for _, part in parts)
    figure = panels(
        [f"<b>{wrap(plain(titles[str(name)]), 30)}</b>" for name, _ in parts],
        columns,
        mode,
        height=rows * (ROW * most + 90) + 60,
        title="Bits of a caption behind an image",
        shared_yaxes=not narrow,
        shared_xaxes="all",
        horizontal_spacing=0.03,
        vertical_spacing=min(0.3, 90 / (rows * (ROW * most + 90))),
    )
    for place, (_, part) in enumerate(parts):
        _add_pairs(figure, part, titles, mode, cell(place, columns))
    for name, (text, symbol) in MARKS.items():
        name_mark(figure, text, {**_mark(name, mode), "symbol": symbol}, group=name)
    figure.update_yaxes(autorange="reversed", type="category")
    return figure.update_xaxes(title_text="bits per byte").update_layout(margin_t=60).figure()


def _mark(name: str, mode: Mode) -> dict[str, object]:
    color = INK[mode].ember if name == "own" else INK[mode].text
    line = {} if name == "own" else {"line": {"width": 2, "color": color}}
    return {"color": color, "symbol": MARKS[name][1], "size": 11, **line}


def _add_pairs(
    figure: Drawing,
    part: pd.DataFrame,
    titles: Mapping[str, str],
    mode: Mode,
    at: Mapping[str, int],
) -> None:
    names = [wrap(plain(titles[name]), 24) for name in part["y"]]
    for column in ("without", "other"):
        marker = _mark(column, mode)
        look = {"mode": "markers", "marker": marker, "legendgroup": column, **SILENT}
        figure.add_scatter(x=part[column], y=names, **look, **at)
    low, high = (part["without"] - part[end] for end in ("high", "low"))
    figure.add_scatter(
        x=part["own"],
        y=names,
        mode="markers",
        marker=_mark("own", mode),
        error_x=interval(part["own"], low, high, color=INK[mode].soft, thickness=1.5),
        legendgroup="own",
        showlegend=False,
        customdata=part[["x", "y"]].to_numpy().tolist(),
        **cards(_card(row, titles) for row in part.to_dict("records")),
        **at,
    )


def beside(
    table: pd.DataFrame,
    models: pd.DataFrame,
    mode: Mode,
    *,
    narrow: bool = False,
) -> go.Figure:
    """Draw what images save against alignment and competence, a dot per pair in the hue of its
    vision model.

    models: rows of `core.study.models.describe`.
    """
    measured = table[table["saved"].notna()]
    shown = [name for name in BESIDE if measured[name].nunique() > 1]
    if not shown:
        return reason("Fewer than two pairs differ in what saving could go with.", mode)
    columns = 1 if narrow else len(shown)
    figure = panels(
        [""] * len(shown),
        columns,
        mode,
        height=340 * (len(shown) if narrow else 1) + 60,
        title="Bits saved by the image, against alignment and competence",
        shared_yaxes=not narrow,
        horizontal_spacing=0.04,
        vertical_spacing=0.12,
    )
    about = models.set_index("model")
    titles = dict(zip(models["model"], models["title"], strict=True))
    groups = measured["y"].map(about["group"])
    for place, name in enumerate(shown):
        at = cell(place, columns)
        for group, part in measured.groupby(groups, sort=False):
            _add_dots(figure, part, name, str(group), titles, mode, at)
        figure.update_xaxes(title_text=wrap(BESIDE[name], 32), **at)
        if place == 0 or narrow:
            figure.update_yaxes(title_text="bits per byte saved", **at)
    name_groups(figure, dict.fromkeys(groups), VISION, mode)
    return figure.update_layout(margin_t=20).figure()


def _add_dots(
    figure: Drawing,
    part: pd.DataFrame,
    name: str,
    group: str,
    titles: Mapping[str, str],
    mode: Mode,
    at: Mapping[str, int],
) -> None:
    figure.add_scatter(
        x=part[name],
        y=part["saved"],
        mode="markers",
        marker={**group_mark(group, VISION, mode), "size": 10},
        error_y=interval(
            part["saved"], part["low"], part["high"], color=INK[mode].chance, thickness=1
        ),
        legendgroup=group,
        showlegend=False,
        customdata=part[["x", "y"]].to_numpy().tolist(),
        **cards(_card(row, titles) for row in part.to_dict("records")),
        **at,
    )


def _card(row: Mapping[Hashable, Any], titles: Mapping[str, str]) -> str:
    tested = f", {p_text(row['q'], 'q')}" if row["q"] == row["q"] else ""
    return hover_card(
        f"<b>{plain(titles[row['y']])} → {plain(titles[row['x']])}</b>",
        f"own image {row['own']:.3f}, another's {row['other']:.3f}, none {row['without']:.3f}",
        f"saved {row['saved']:.3f} ({row['low']:.3f} to {row['high']:.3f}{tested})",
        f"{row['per_caption']:.1f} bits per caption",
        ids=f"{row['y']}, {row['x']}",
    )
