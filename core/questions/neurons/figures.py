"""Units that recur, as figures."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.figures.drawing import Drawing
from core.figures.marks import add_chance, cards, in_percent, name_groups, name_mark
from core.figures.numbers import p_text, share_text
from core.figures.panels import cell, grid, name_rows, per_row
from core.figures.theme import (
    COMPETENCE,
    INK,
    Mode,
    blank,
    hover_card,
    hue,
    mark_sizes,
    plain,
    reason,
    symbol,
)
from core.modalities import find_modality
from core.questions.neurons.pairs import AS_IS, ROTATED, SHUFFLED
from core.questions.neurons.trends import BEYOND, RECUR

AXES = {"vision": "competence: share of tasks solved", "language": COMPETENCE}
TURNED = "in a random basis"


def shares(
    table: pd.DataFrame, groups: Mapping[str, str], mode: Mode, *, narrow: bool
) -> go.Figure:
    """Draw the share of each model's units that recur over its competence, a panel for each
    modality of model and partners: a line per line of recipes, and hollow what a random basis
    gives.

    table: rows of `NeuronTrend`. groups: what decides a model's hue, by model.
    """
    measured = table[table["competence"].notna() & table["value"].notna()]
    if measured.empty:
        return reason("No model here has both a competence and a partner.", mode)
    keys = ["modality", "partners", "model"]
    wide = measured.pivot_table(index=keys, columns="measure", values="value")
    measured = measured[measured["measure"] == RECUR].set_index(keys)
    measured = measured.assign(rotated=wide[RECUR] - wide[BEYOND]).reset_index()
    measured = measured.assign(size=mark_sizes(measured["parameters"]))
    kinds = list(dict.fromkeys(zip(measured["modality"], measured["partners"], strict=True)))
    figure = grid(
        [_head(measured, *kind) for kind in kinds], mode, narrow=narrow, height=330, gap=0.08
    )
    columns = per_row(len(kinds), narrow)
    for place, (modality, partners) in enumerate(kinds):
        at = cell(place, columns)
        rows = measured[(measured["modality"] == modality) & (measured["partners"] == partners)]
        for _, of_line in rows.groupby("line", sort=False):
            _add_line(figure, of_line, groups, mode, at)
        figure.update_xaxes(title_text=AXES.get(modality, "competence"), **at)
    figure.update_yaxes(**in_percent(), rangemode="tozero")
    name_rows(figure, len(kinds), columns, "share of units that recur")
    for modality in dict.fromkeys(measured["modality"]):
        names = measured.loc[measured["modality"] == modality, "model"].map(groups)
        name_groups(figure, names, find_modality(modality), mode)
    hollow = {"symbol": "circle-open", "color": INK[mode].chance}
    name_mark(figure, TURNED, hollow, group=TURNED)
    return figure.update_layout(meta={"title": "Units that recur over competence"}).figure()


def _head(rows: pd.DataFrame, modality: str, partners: str) -> str:
    row = rows[(rows["modality"] == modality) & (rows["partners"] == partners)].iloc[0]
    said = (
        plain(row["reason"])
        if math.isnan(row["p"])
        else f"{10 * row['rise']:+.1f} points per 0.1 · {p_text(row['q'], 'q')}".replace("-", "−")
    )
    title = f"{modality.capitalize()} models in {partners} models"
    return f"<b>{plain(title)}</b><br><span style='font-size:12px'>{said}</span>"


def _add_line(
    figure: Drawing,
    rows: pd.DataFrame,
    groups: Mapping[str, str],
    mode: Mode,
    at: Mapping[str, int],
) -> None:
    """Draw a line of recipes: its models by competence, and what random bases give each."""
    rows = rows.sort_values("competence")
    group = groups[rows["model"].iloc[0]]
    hollow = {"symbol": "circle-open", "color": INK[mode].chance, "size": 8}
    figure.add_scatter(
        x=rows["competence"],
        y=rows["rotated"],
        mode="markers",
        marker=hollow,
        hoverinfo="skip",
        legendgroup=TURNED,
        showlegend=False,
        **at,
    )
    marker = {
        "color": hue(group, mode),
        "symbol": symbol(group, find_modality(rows["modality"].iloc[0])),
        "size": rows["size"].tolist(),
        "line": {"color": INK[mode].paper, "width": 1},
    }
    figure.add_scatter(
        x=rows["competence"],
        y=rows["value"],
        mode="lines+markers",
        line={"color": hue(group, mode), "width": 1.5},
        marker=marker,
        customdata=[[name] for name in rows["model"]],
        legendgroup=group,
        showlegend=False,
        **cards(_model_card(row) for row in rows.to_dict("records")),
        **at,
    )


def _model_card(row: Mapping[Hashable, Any]) -> str:
    return hover_card(
        f"<b>{plain(row['title'])}</b>",
        f"{share_text(row['value'], 1)} of its units recur,"
        f" {share_text(row['rotated'], 1)} {TURNED}",
        f"mean over {row['models']} partners; competence {row['competence']:.3f}",
        ids=str(row["model"]),
    )


def correlations(
    table: pd.DataFrame, layers: Sequence[Sequence[str]], mode: Mode, *, chosen: int = 0
) -> go.Figure:
    """Draw how correlated the pairs of units are that are each other's best, in their order, as
    they are, in a random basis and with shuffled stimuli.

    table: rows of `NeuronPairs`. layers: what the layers of either model are called. chosen: the
    pair that is marked, 0 for none.
    """
    if table.empty:
        return reason("No two units of these models are each other's best.", mode)
    ink = INK[mode]
    colors = {AS_IS: ink.ember, ROTATED: ink.text, SHUFFLED: ink.chance}
    figure = blank(mode, height=360, title="Correlation of the units that recur")
    for basis, color in colors.items():
        rows = table[table["basis"] == basis]
        figure.add_scatter(
            x=rows["pair"],
            y=rows["r"],
            mode="lines+markers" if basis == AS_IS else "lines",
            line={"color": color, "width": 2},
            marker={"color": color, "size": 5},
            name={AS_IS: "units as they are", ROTATED: TURNED, SHUFFLED: "stimuli shuffled"}[basis],
            **cards(_pair_card(row, layers) for row in rows.to_dict("records")),
        )
    ends = [1, int(table["pair"].max())]
    add_chance(figure, ends, float(table["threshold"].iloc[0]), mode, {}, named=True)
    marked = table[(table["basis"] == AS_IS) & (table["pair"] == chosen)]
    figure.add_scatter(
        x=marked["pair"],
        y=marked["r"],
        mode="markers",
        marker={"symbol": "circle-open", "size": 14, "color": ink.text, "line": {"width": 2}},
        hoverinfo="skip",
        showlegend=False,
    )
    figure.update_xaxes(title_text="pair of units, the most correlated first")
    return figure.update_yaxes(title_text="correlation over the stimuli").figure()


def _pair_card(row: Mapping[Hashable, Any], layers: Sequence[Sequence[str]]) -> str:
    first, second = (
        f"{plain(names[int(row[f'layer_{side}'])])}, unit {row[f'unit_{side}']}"
        for side, names in zip("xy", layers, strict=True)
    )
    beyond = "recurs beyond chance" if row["recurs"] else "within chance"
    return f"<b>pair {row['pair']}</b>: r = {row['r']:.2f}, {beyond}<br>{first}<br>{second}"
