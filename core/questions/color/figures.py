"""The Color page's maps: how alike the sources are, and how far off each color is."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.figures.marks import color_bar
from core.figures.numbers import p_text
from core.figures.theme import INK, Mode, blank, hover_card, plain, wrap
from core.questions.color.space_panels import MOST_WORDS, color_card

MEASURES: Mapping[str, str] = {
    "kendall": "Kendall τ",
    "spearman": "Spearman ρ",
    "neighbors": "neighbors preserved",
    "disparity": "Procrustes disparity",
}

GAPS: Mapping[str, object] = {
    "xgap": 1,
    "ygap": 1,
    "hoverongaps": False,
    "hovertemplate": "%{hovertext}<extra></extra>",
}


def agreement(
    table: pd.DataFrame, *, of: str, measure: str, mode: Mode, narrow: bool = False
) -> go.Figure:
    """Draw how alike every two sources are as a map with its numbers and their p.

    table: as `ColorAgreement` gives it. of: "dissimilarities" or
    "layouts". measure: a key of MEASURES.
    """
    shown = table[(table["of"] == of) & (table["measure"] == measure)]
    names = list(dict.fromkeys([*shown["x"], *shown["y"]]))
    name, falling = MEASURES[measure], measure == "disparity"
    lowest = min(0.0, float(shown["value"].min()))
    both = pd.concat([shown, shown.rename(columns={"x": "y", "y": "x"})])
    # in a deep color the text takes that of the paper
    deep = ((both["value"] - lowest) / (1 - lowest) > 0.5) != falling
    height = 390 if narrow else 110 + 62 * max(4, len(names))
    figure = blank(mode, height=height, title=f"{name} of {of} of colors")
    figure.add_heatmap(
        **_cells(_with_texts(both, deep, name, mode, narrow=narrow), names),
        zmin=lowest,
        zmax=1.0,
        colorscale=list(INK[mode].scale[:: -1 if falling else 1]),
        texttemplate="%{text}",
        textfont={"size": 10 if narrow else 12},
        colorbar=color_bar(wrap(name, 12)),
        showscale=not narrow,
    )
    size = 10 if narrow else 12
    figure.update_xaxes(tickangle=-90 if narrow else 0, showgrid=False, tickfont_size=size)
    figure.update_yaxes(autorange="reversed", showgrid=False, tickfont_size=size)
    return figure.update_layout(margin_t=12).figure()


def _with_texts(
    pairs: pd.DataFrame, deep: pd.Series, name: str, mode: Mode, *, narrow: bool
) -> pd.DataFrame:
    """Return pairs of sources with what is written in a cell and on its hover card."""
    rows = pairs.to_dict("records")
    inks = [INK[mode].paper if on else INK[mode].text for on in deep]
    return pairs.assign(
        card=[_agreement_card(row, name) for row in rows],
        label=[_cell(row, ink, narrow) for row, ink in zip(rows, inks, strict=True)],
    )


def _cells(pairs: pd.DataFrame, sources: list[str]) -> dict[str, object]:
    z, card, label = (
        pairs.pivot(index="x", columns="y", values=each).loc[sources, sources]
        for each in ("value", "card", "label")
    )
    names = [wrap(plain(name), 16) for name in sources]
    texts = {"hovertext": card.fillna("").to_numpy(), "text": label.fillna("").to_numpy()}
    return {"x": names, "y": names, "z": z.to_numpy(np.float64), **texts, **GAPS}


def _cell(row: Mapping[Hashable, Any], color: str, narrow: bool) -> str:
    value = f"{row['value']:.2f}".replace("-", "−")
    text = (
        value
        if narrow
        else f"{value}<br><span style='font-size:10px'>{p_text(row['p_adjusted'])}</span>"
    )
    return f"<span style='color:{color}'>{text}</span>"


def _agreement_card(row: Mapping[Hashable, Any], name: str) -> str:
    return hover_card(
        f"<b>{plain(row['x'])} × {plain(row['y'])}</b>",
        f"{name} of {row['of']} {row['value']:.3f}, 95% interval {row['low']:.3f} to"
        f" {row['high']:.3f}",
        f"with shuffled colors {row['chance']:.3f}",
        f"{p_text(row['p'])} alone, {p_text(row['p_adjusted'])} adjusted for all pairs",
        ids=f"{row['colors']} colors",
    )


def errors(tables: Sequence[pd.DataFrame], *, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw how far each source has each color from where perception has it, the color that is
    nearest on the whole first.

    tables: as for `layouts`, perception itself left out; a cell is empty where a source has no such
    color.
    """
    rows = pd.concat(list(tables), ignore_index=True)
    order = list(rows.groupby("color")["error"].mean().sort_values().index)
    sources, few = list(dict.fromkeys(rows["source"])), len(order) <= MOST_WORDS
    figure = blank(mode, height=190 + 42 * len(sources), title="Error of each color")
    figure.add_heatmap(
        **_error_cells(rows, sources, order),
        zmin=0,
        colorscale=list(INK[mode].scale),
        colorbar=color_bar("ΔE"),
        showscale=not narrow,
        texttemplate="" if narrow or not few else "%{z:.0f}",
        textfont={"size": 11},
    )
    figure.update_xaxes(
        tickvals=order if few else [],
        ticktext=_swatches(rows, order) if few else [],
        tickangle=-90 if narrow else -60,
        showgrid=False,
        tickfont_size=9 if narrow else 12,
    )
    figure.update_yaxes(autorange="reversed", showgrid=False, tickfont_size=11)
    return figure.update_layout(margin_t=12).figure()


def _error_cells(rows: pd.DataFrame, sources: list[str], colors: list[str]) -> dict[str, object]:
    texts = rows.assign(card=[color_card(row) for row in rows.to_dict("records")])
    z, card = (
        texts.pivot(index="source", columns="color", values=each).loc[sources, colors]
        for each in ("error", "card")
    )
    names = [wrap(plain(name), 16) for name in sources]
    values = {"z": z.to_numpy(np.float64), "hovertext": card.fillna("").to_numpy()}
    return {"x": colors, "y": names, **values, **GAPS}


def _swatches(rows: pd.DataFrame, colors: Sequence[str]) -> list[str]:
    """Return each color's word after a square of the color."""
    hexes = rows.drop_duplicates("color").set_index("color")["hex"]
    return [f"<span style='color:{hexes[color]}'>■</span> {plain(color)}" for color in colors]
