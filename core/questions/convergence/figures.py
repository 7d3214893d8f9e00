"""Alignment by level, and what fine-tuning changes, as figures."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.figures.drawing import Drawing
from core.figures.marks import add_ceiling, add_chance, cards, interval
from core.figures.numbers import counted, p_text
from core.figures.panels import cell, grid, name_rows, per_row
from core.figures.theme import INK, Mode, blank, clear, hover_card, hue, plain, reason, wrap
from core.questions.convergence.fine_tuning import ALL
from core.questions.convergence.levels import KINDS, Kind, kinds_to_show

ADJUSTED = (  # one line under the figure
    "Diamonds and the stated change hold the mix of objectives and families fixed; circles are raw"
    " means."
)
NEAR = 3  # a ceiling above so many times the highest mean would flatten all else


def levels(
    table: pd.DataFrame,
    *,
    ceilings: Mapping[str, float],
    label: str,
    chance: float,
    mode: Mode,
    narrow: bool = False,
) -> go.Figure:
    """Draw the adjusted mean alignment of the pairs on each level with its interval over recipes,
    the raw mean faint beside it, a panel per kind of pairs.

    table: rows of `Levels`. ceilings: by kind of pairs, how alike two seeds of a recipe are.
    chance: NaN where no formula gives it.
    """
    kinds = kinds_to_show(table)
    if not kinds:
        return reason("No two finished models lie on one level: choose other levels.", mode)
    columns = per_row(len(kinds), narrow)
    figure = grid([_head(table, kind) for kind in kinds], mode, narrow=narrow, height=300, gap=0.05)
    for place, kind in enumerate(kinds):
        at, rows = cell(place, columns), table[table["pairs_of"] == kind]
        add_chance(figure, _ends(rows), chance, mode, at, named=place == 0)
        _add_ceiling(figure, rows, ceilings.get(kind, math.nan), mode, at)
        figure.add_scatter(**_raw(rows, mode), showlegend=place == 0, **at)
        figure.add_scatter(**_adjusted(rows, mode), showlegend=place == 0, **at)
    figure.update_yaxes(rangemode="tozero", matches=None, showticklabels=True)
    names = table.drop_duplicates("place")
    figure.update_xaxes(
        tickvals=list(names["place"]),
        ticktext=[plain(name).replace(" ", "<br>") for name in names["level"]],
        range=[-0.3, table["place"].max() + 0.3],
    )
    name_rows(figure, len(kinds), columns, wrap(label, 34))
    return figure.update_layout(meta={"title": "Alignment by level"}).figure()


def _head(table: pd.DataFrame, kind: Kind) -> str:
    row = table[table["pairs_of"] == kind].iloc[0]
    change = f"change {row['rise']:+.3f} · {p_text(row['p'])}".replace("-", "−")
    said = wrap(plain(row["reason"]), 34) if math.isnan(row["p"]) else change
    return f"<b>{plain(KINDS[kind])}</b><br><span style='font-size:12px'>{said}</span>"


def _add_ceiling(
    figure: Drawing, rows: pd.DataFrame, ceiling: float, mode: Mode, at: Mapping[str, int]
) -> None:
    """Draw how alike two seeds of a recipe are; where that is far above all means, say it
    instead.
    """
    if math.isnan(ceiling):
        return
    highest = max(rows["mean"].max(), rows["adjusted"].fillna(0.0).max())
    if ceiling > NEAR * highest:
        look = {"showarrow": False, "font": {"size": 12, "color": INK[mode].soft}}
        text = f"ceiling: {ceiling:.2f}"
        figure.add_annotation(
            x=0, xref="x domain", xanchor="left", y=1, yref="y domain", text=text, **look, **at
        )
        return
    name = "" if _is_named(figure, "ceiling") else "ceiling: two seeds of one recipe"
    add_ceiling(figure, _ends(rows), ceiling, mode, at, name=name)


def _ends(rows: pd.DataFrame) -> list[float]:
    return [float(rows["place"].min()) - 0.2, float(rows["place"].max()) + 0.2]


def _is_named(figure: Drawing, group: str) -> bool:
    """Return whether a legend group has an entry already."""
    return any(trace.get("legendgroup") == group for trace in figure.data)


def _adjusted(rows: pd.DataFrame, mode: Mode) -> dict[str, object]:
    ink = INK[mode].text
    bars = {"color": clear(ink, 0.6), "thickness": 1.5, "width": 5}
    texts = [
        _card(row, f"adjusted mean {row['adjusted']:.3f}{_between(row['low'], row['high'])}")
        for row in rows.to_dict("records")
    ]
    return {
        "x": rows["place"],
        "y": rows["adjusted"],
        "mode": "lines+markers",
        "connectgaps": True,
        **cards(texts),
        "marker": {"color": ink, "size": 10, "symbol": "diamond"},
        "line": {"color": ink, "width": 2},
        "error_y": interval(rows["adjusted"], rows["low"], rows["high"], **bars),
        "name": "adjusted mean, 95 % interval",
        "legendgroup": "adjusted",
    }


def _raw(rows: pd.DataFrame, mode: Mode) -> dict[str, object]:
    edge = {"color": clear(INK[mode].text, 0.5), "width": 1.5}
    texts = [_card(row, f"raw mean {row['mean']:.3f}") for row in rows.to_dict("records")]
    return {
        "x": rows["place"],
        "y": rows["mean"],
        "mode": "markers",
        **cards(texts),
        "marker": {"color": clear(INK[mode].text, 0.0), "size": 9, "line": edge},
        "name": "raw mean of the pairs",
        "legendgroup": "raw",
    }


def _card(row: Mapping[Hashable, Any], number: str) -> str:
    return hover_card(
        f"<b>{plain(row['level'])}</b>",
        number,
        ids=f"{counted(row['pairs'], 'pair', 'pairs')} of {row['trainings']} models, of"
        f" {counted(row['recipes'], 'recipe', 'recipes')}",
    )


def _between(low: float, high: float) -> str:
    if math.isnan(low):
        return ", too few recipes for an interval"
    return f", 95 % interval {low:.3f} to {high:.3f}"


def fine_tuned(table: pd.DataFrame, *, titles: Mapping[str, str], mode: Mode) -> go.Figure:
    """Draw how alignment with each language model changes as models are fine-tuned, with its
    interval, a color per kind of copies.

    table: rows of `FineTuned`. titles: of language recipes, by name.
    """
    if table.empty:
        return reason("No vision model here was fine-tuned from another.", mode)
    lines = list(dict.fromkeys(table["copies"]))
    readers = list(dict.fromkeys(table["with"]))
    height = 120 + 22 * len(readers) * len(lines)
    figure = blank(mode, height=height, title="What fine-tuning changes")
    for place, line in enumerate(lines):
        rows = table[table["copies"] == line]
        figure.add_scatter(**_changes(rows, titles, place - (len(lines) - 1) / 2, mode))
    names = [titles.get(name, name) for name in readers]
    figure.update_yaxes(
        tickvals=list(range(len(readers))), ticktext=names, autorange="reversed", automargin=True
    )
    figure.update_xaxes(title_text="change of alignment, copy − model", zeroline=True)
    return figure.figure()


def _changes(
    rows: pd.DataFrame, titles: Mapping[str, str], offset: float, mode: Mode
) -> dict[str, object]:
    line = str(rows["copies"].iloc[0])
    color = hue(line.partition(" ")[2] or line, mode)
    texts = [
        hover_card(
            f"<b>{plain(titles.get(row['with'], row['with']))}</b>",
            f"{row['before']:.3f} before, {row['after']:.3f} after",
            f"change {row['change']:+.3f}{_between(row['low'], row['high'])}".replace("-", "−"),
            ids=f"{line}, {counted(row['pairs'], 'model', 'models')} and copies",
        )
        for row in rows.to_dict("records")
    ]
    whole = ["diamond" if name == ALL else "circle" for name in rows["with"]]
    bars = {"color": clear(color, 0.7), "thickness": 1.5, "width": 4}
    return {
        "x": rows["change"],
        "y": [place + 0.25 * offset for place in range(len(rows))],
        "mode": "markers",
        **cards(texts),
        "marker": {"color": color, "size": 9, "symbol": whole},
        "error_x": interval(rows["change"], rows["low"], rows["high"], **bars),
        "name": plain(line),
        "legendgroup": line,
    }
