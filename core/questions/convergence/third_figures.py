"""How alike thirds of competence are, as figures."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.figures.numbers import p_text
from core.figures.panels import cell, grid, per_row
from core.figures.theme import INK, Mode, plain, reason, wrap
from core.questions.convergence.levels import KINDS, SKILL_THIRDS, Kind, kinds_to_show


def thirds(table: pd.DataFrame, *, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw the adjusted mean alignment of each two thirds, a panel per kind of pairs, each with its
    own colors.

    table: rows of `AnnaKarenina`.
    """
    kinds = kinds_to_show(table)
    if not kinds:
        return reason("No two finished models have a competence: measure some.", mode)
    columns = per_row(len(kinds), narrow)
    figure = grid([_head(table, kind) for kind in kinds], mode, narrow=narrow, height=250, gap=0.05)
    for place, kind in enumerate(kinds):
        figure.add_heatmap(**_means(table[table["pairs_of"] == kind], mode), **cell(place, columns))
    ticks = {
        "tickvals": list(range(len(SKILL_THIRDS))),
        "ticktext": [name.replace(" ", "<br>") for name in SKILL_THIRDS],
    }
    figure.update_xaxes(**ticks, showgrid=False)
    figure.update_yaxes(**ticks, showgrid=False)
    return figure.update_layout(meta={"title": "Alignment of thirds of competence"}).figure()


def _head(table: pd.DataFrame, kind: Kind) -> str:
    row = table[table["pairs_of"] == kind].iloc[0]
    if pd.isna(row["p"]):
        said = wrap(plain(row["reason"]), 34)
    else:
        said = f"weak {row['contrast']:+.3f} · {p_text(row['p'])}".replace("-", "−")
    return f"<b>{plain(KINDS[kind])}</b><br><span style='font-size:12px'>{said}</span>"


def _means(rows: pd.DataFrame, mode: Mode) -> dict[str, object]:
    """Return the cells of a panel; both orders of two thirds show the same adjusted mean."""
    turned = rows.rename(columns={"one": "other", "other": "one"})
    both = pd.concat([rows, turned[turned["one"] != turned["other"]]])
    cards = [_card(row) for row in both.to_dict("records")]
    places = both.assign(card=cards).set_index(["one", "other"])
    whole = pd.MultiIndex.from_product([SKILL_THIRDS, SKILL_THIRDS])
    count = len(SKILL_THIRDS)
    means = places["adjusted"].reindex(whole).to_numpy(float).reshape(count, count)
    texts = places["card"].reindex(whole).fillna("no pairs").to_numpy().reshape(count, count)
    return {
        "z": means,
        "hovertext": texts,
        "hovertemplate": "%{hovertext}<extra></extra>",
        "colorscale": list(INK[mode].scale),
        "showscale": False,
        "texttemplate": "%{z:.3f}",
        "textfont": {"size": 12},
        "xgap": 2,
        "ygap": 2,
    }


def _card(row: Mapping[Hashable, Any]) -> str:
    adjusted = "none" if pd.isna(row["adjusted"]) else f"{row['adjusted']:.3f}"
    return (
        f"{plain(row['one'])} × {plain(row['other'])}<br>adjusted mean {adjusted}, raw mean"
        f" {row['mean']:.3f}<br>{row['pairs']} pairs of {row['recipes']} recipes"
    )
