"""How near modalities come to each other and to reality, as a figure."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.figures.marks import cards, interval
from core.figures.numbers import counted, p_text
from core.figures.theme import INK, Mode, blank, clear, hover_card, plain, reason, wrap
from core.modalities import find_modality
from core.questions.modalities.meeting import ALL

ROW = 74  # pixels for a pair of modalities
SPREAD = 0.6  # of a row that its sizes take


def meetings(table: pd.DataFrame, *, label: str, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw the mean alignment of every two modalities, and of each with reality, with its interval:
    over all models and at each size, beside chance.

    table: rows of `Modalities`. narrow: names of the rows in two lines.
    """
    if table.empty:
        return reason("No finished model is here: embed some.", mode)
    pairs = list(dict.fromkeys(zip(table["one"], table["other"], strict=True)))
    figure = blank(mode, height=110 + ROW * len(pairs), title="Alignment of modalities")
    sizes = [ALL, *(size for size in dict.fromkeys(table["size"]) if size != ALL)]
    for rank, size in enumerate(sizes):
        rows = table[table["size"] == size]
        places = [_place(pairs, sizes, row) for row in rows.to_dict("records")]
        figure.add_scatter(**_means(rows, places, _mark(size, rank, mode), mode))
        figure.add_scatter(**_chance(rows, places, mode), showlegend=size == ALL)
    fresh = table[table["untrained"].notna()]
    if len(fresh):
        places = [_place(pairs, sizes, row) for row in fresh.to_dict("records")]
        figure.add_scatter(**_untrained(fresh, places, mode))
    between = "<br>with " if narrow else " with "
    names = [f"{_name(one)}{between}{_name(other)}" for one, other in pairs]
    figure.update_yaxes(
        tickvals=list(range(len(pairs))), ticktext=names, autorange="reversed", automargin=True
    )
    figure.update_xaxes(title_text=wrap(label, 34 if narrow else 70), rangemode="tozero")
    return figure.figure()


def _place(pairs: list[tuple[str, str]], sizes: list[str], row: Mapping[Hashable, Any]) -> float:
    step = sizes.index(row["size"]) / max(len(sizes) - 1, 1) - 0.5
    return pairs.index((row["one"], row["other"])) + SPREAD * step


def _mark(size: str, rank: int, mode: Mode) -> dict[str, object]:
    """Return the mark of a size: larger models have larger circles."""
    if size == ALL:
        return {"color": INK[mode].text, "size": 10, "symbol": "diamond"}
    return {"color": clear(INK[mode].text, 0.6), "size": 4 + 2 * rank, "symbol": "circle"}


def _means(
    rows: pd.DataFrame, places: list[float], mark: Mapping[str, object], mode: Mode
) -> dict[str, object]:
    size = str(rows["size"].iloc[0])
    bars = {"color": clear(INK[mode].text, 0.5), "thickness": 1.5, "width": 4}
    return {
        "x": rows["mean"],
        "y": places,
        "mode": "markers",
        **cards(_card(row) for row in rows.to_dict("records")),
        "marker": mark,
        "error_x": interval(rows["mean"], rows["low"], rows["high"], **bars),
        "name": "all models, 95 % interval" if size == ALL else f"size {plain(size)}",
        "legendgroup": size,
    }


def _chance(rows: pd.DataFrame, places: list[float], mode: Mode) -> dict[str, object]:
    mark = {"color": INK[mode].soft, "size": 12, "symbol": "line-ns-open"}
    return {
        "x": rows["chance"],
        "y": places,
        "mode": "markers",
        "hoverinfo": "skip",
        "marker": mark,
        "name": "chance: shuffled stimuli",
        "legendgroup": "chance",
    }


def _untrained(rows: pd.DataFrame, places: list[float], mode: Mode) -> dict[str, object]:
    return {
        "x": rows["untrained"],
        "y": places,
        "mode": "markers",
        **cards(f"untrained models: {value:.3f}" for value in rows["untrained"]),
        "marker": {"color": INK[mode].soft, "size": 9, "symbol": "diamond-open"},
        "name": "untrained models",
        "legendgroup": "untrained",
    }


def _card(row: Mapping[Hashable, Any]) -> str:
    who = f"{_name(row['one'])} with {_name(row['other'])}, {plain(row['size'])}"
    has_interval = not pd.isna(row["low"])
    spread = (
        f"95 % interval {row['low']:.3f} to {row['high']:.3f}" if has_interval else row["reason"]
    )
    ceiling = "" if pd.isna(row["ceiling"]) else f", ceiling {row['ceiling']:.3f}"
    test = "" if pd.isna(row["q"]) else f", {p_text(row['q'], 'q')}"
    more = "" if pd.isna(row["q_untrained"]) else f", {p_text(row['q_untrained'], 'q')}"
    fresh = "" if pd.isna(row["untrained"]) else f"untrained {row['untrained']:.3f}{more}"
    count = f"{counted(row['models_one'], 'model', 'models')} with {row['models_other']}"
    return hover_card(
        f"<b>{who}</b>",
        f"{row['mean']:.3f}, {plain(spread)}",
        f"chance {row['chance']:.3f}{test}{ceiling}",
        *filter(None, [fresh]),
        ids=count,
    )


def _name(modality: str) -> str:
    one = find_modality(modality)
    return "reality" if one.is_reality else plain(one.name)
