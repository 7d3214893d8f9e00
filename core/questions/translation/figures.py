"""Translation with no pairs given, as figures."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.figures.drawing import Drawing
from core.figures.marks import SILENT, cards, in_percent, interval, logarithmic
from core.figures.numbers import p_text, share_text
from core.figures.panels import cell, grid, per_row
from core.figures.theme import (
    INK,
    Mode,
    clear,
    dotted,
    hover_card,
    plain,
    wrap,
)
from core.questions.translation.kinds import KINDS, ONE_RECIPE
from core.questions.translation.question import METHOD_TITLES

DASHES = {"gw": "solid", "qap": "dash"}
MARKS = dict(zip(KINDS, ("star", "diamond", "circle", "square", "triangle-up", "x"), strict=True))


def over_size(table: pd.DataFrame, mode: Mode, *, narrow: bool = False) -> go.Figure:
    """Draw how many partners are found, and how high the true one stands, over the number of
    stimuli, with intervals over draws and what chance gives.

    table: rows of `Translation`.
    """
    heads = ("<b>Partners found</b>", "<b>Rank of the true partner</b>")
    columns = per_row(2, narrow)
    figure = grid(heads, mode, narrow=narrow, height=330, gap=0.12)
    figure.update_yaxes(matches=None, showticklabels=True)
    sizes = sorted(set(table["n"]))
    _add_chance(figure, table.drop_duplicates("n").sort_values("n"), mode, cell(0, columns))
    look = {"mode": "lines", "line": dotted(mode), **SILENT}
    figure.add_scatter(x=sizes, y=[0.5] * len(sizes), **look, **cell(1, columns))
    for method, rows in table.groupby("method", sort=False):
        for place, name in enumerate(("top1", "rank")):
            _add_curve(figure, str(method), rows.sort_values("n"), name, mode, cell(place, columns))
    figure.update_xaxes(**logarithmic(sizes), title_text="stimuli")
    figure.update_yaxes(title_text="share of partners", **in_percent(), **cell(0, columns))
    figure.update_yaxes(title_text="1 is first, 0.5 chance", **cell(1, columns))
    return figure.update_layout(meta={"title": "Translation over the number of stimuli"}).figure()


def _add_chance(figure: Drawing, rows: pd.DataFrame, mode: Mode, at: Mapping[str, int]) -> None:
    """Draw the exact interval of random matchings as a band, and their mean."""
    around = [*rows["n"], *rows["n"][::-1]]
    edge = [*rows["chance_high"], *rows["chance_low"][::-1]]
    band = {"fill": "toself", "fillcolor": clear(INK[mode].chance, 0.25), "mode": "none"}
    figure.add_scatter(x=around, y=edge, **band, **SILENT, **at)
    look = {"mode": "lines", "line": dotted(mode), "name": "chance, with its exact interval"}
    figure.add_scatter(x=rows["n"], y=rows["chance"], **look, hoverinfo="skip", **at)


def _add_curve(
    figure: Drawing, method: str, rows: pd.DataFrame, name: str, mode: Mode, at: Mapping[str, int]
) -> None:
    color = INK[mode].ember if method == "gw" else INK[mode].text
    low, high = ("low", "high") if name == "top1" else ("rank_low", "rank_high")
    figure.add_scatter(
        x=rows["n"],
        y=rows[name],
        mode="lines+markers",
        line={"color": color, "width": 2, "dash": DASHES[method]},
        marker={"color": color, "size": 8},
        error_y=interval(rows[name], rows[low], rows[high], thickness=1.2, width=3),
        name=METHOD_TITLES[method],
        legendgroup=method,
        showlegend=name == "top1",
        **cards(_card(row) for row in rows.to_dict("records")),
        **at,
    )


def _card(row: Mapping[Hashable, Any], *first: str) -> str:
    return hover_card(
        *first,
        f"<b>{share_text(row['top1'], 1)}</b> of partners found",
        f"by {METHOD_TITLES[row['method']]}",
        f"chance {share_text(row['chance'], 1)}, {p_text(row['q'], 'q')}",
        f"rank {row['rank']:.2f}, alignment {row['alignment']:.2f}",
        f"kernels agree {row['agreement']:.2f}, with the true partners {row['agreement_true']:.2f}",
        ids=f"{row['n']} stimuli, {row['draws']} draws",
    )


def over_alignment(
    pairs: pd.DataFrame, titles: Mapping[str, str], mode: Mode, *, narrow: bool = False
) -> go.Figure:
    """Draw how many partners are found over alignment, a panel per method: pairs of models as marks
    by what they have in common.

    pairs: rows of `TranslationPairs`. titles: what spaces are called.
    """
    methods = list(dict.fromkeys(pairs["method"]))
    heads = [
        f"<b>{METHOD_TITLES[method][:1].upper()}{METHOD_TITLES[method][1:]}</b>"
        for method in methods
    ]
    figure = grid(heads, mode, narrow=narrow, height=400, gap=0.06)
    columns = per_row(len(methods), narrow)
    for place, method in enumerate(methods):
        at, rows = cell(place, columns), pairs[pairs["method"] == method]
        look = {"mode": "lines", "line": dotted(mode), **SILENT}
        figure.add_scatter(x=[0.0, 1.0], y=[rows["chance"].iloc[0]] * 2, **look, **at)
        _add_pairs(figure, rows, titles, mode, at, named=not place)
        figure.update_xaxes(title_text=wrap("alignment (mutual k-NN of the same stimuli)"), **at)
    figure.update_yaxes(range=[-0.04, 1.06], **in_percent())
    figure.update_yaxes(title_text="share of partners found", col=1)
    return figure.update_layout(meta={"title": "Translation over alignment"}).figure()


def _add_pairs(
    figure: Drawing,
    rows: pd.DataFrame,
    titles: Mapping[str, str],
    mode: Mode,
    at: Mapping[str, int],
    *,
    named: bool,
) -> None:
    ink, kinds = INK[mode], set(rows["kind"])
    others = sorted(kinds - {*KINDS})  # of imported modalities
    for kind in (*(kind for kind in KINDS if kind in kinds), *others):
        some = rows[rows["kind"] == kind]
        names = [
            f"<b>{plain(titles.get(x, x))}</b> and <b>{plain(titles.get(y, y))}</b>"
            for x, y in zip(some["space_x"], some["space_y"], strict=True)
        ]
        figure.add_scatter(
            x=some["alignment"],
            y=some["top1"],
            mode="markers",
            marker={
                "symbol": MARKS.get(kind, "pentagon"),
                "color": ink.ember if kind == ONE_RECIPE else clear(ink.soft, 0.7),
                "size": 11 if kind == ONE_RECIPE else 8,
            },
            name=kind,
            legendgroup=kind,
            showlegend=named,
            **cards(
                _card(row, name) for row, name in zip(some.to_dict("records"), names, strict=True)
            ),
            **at,
        )
