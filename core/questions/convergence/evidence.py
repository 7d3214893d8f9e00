"""The evidence: six claims of the hypothesis, named in advance, each with the test that decides
it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.figures.numbers import p_text
from core.figures.theme import INK, Mode, blank, hover_card, plain, reason
from core.questions.convergence.hypotheses import DATA
from core.questions.convergence.levels import KINDS
from core.questions.convergence.summary import COMPETENCE, DECIDES, HYPOTHESIS, THIRDS
from core.statistics.nulls import adjust

ALPHA = 0.05
FOR, AGAINST, OPEN, UNTESTED = "for", "against", "not shown", "not tested"


@dataclass(frozen=True)
class Claim:
    """A row of the evidence. about, what: the row of the summary that tests it, by its end.
    predicted: the sign that the hypothesis predicts. scale: by how much the value is multiplied.
    """

    text: str
    unit: str
    about: str
    what: str
    predicted: int = 1
    scale: float = 1.0


CLAIMS = (
    Claim(
        "More competent models are more alike", "least to most competent", COMPETENCE, KINDS["all"]
    ),
    Claim("Larger models are more alike", "smallest to largest", f"{HYPOTHESIS}capacity", DECIDES),
    Claim(
        "Models of more tasks are more alike", "fewest to most", f"{HYPOTHESIS}multitask", DECIDES
    ),
    Claim("Models of more data are more alike", "least to most", f"{HYPOTHESIS}data", DATA),
    Claim(
        "Simpler representations are more alike",
        "10 effective ranks less",
        f"{HYPOTHESIS}simplicity",
        DECIDES,
        predicted=-1,
        scale=10.0,
    ),
    Claim(
        "Weak models agree less with each other",
        "than with strong ones",
        THIRDS,
        KINDS["all"],
        predicted=-1,
    ),
)
COLUMNS = ("claim", "unit", "value", "low", "high", "p", "q", "verdict", "counted", "reason")


def weigh(summary: pd.DataFrame, toward: int = 1) -> pd.DataFrame:
    """Return a row per claim: value with its interval (a change of alignment, positive as the
    hypothesis predicts), p, q (adjusted over the claims for false discoveries) and verdict.

    summary: of `Summary`. toward: 1 where higher scores mean more aligned, −1 where lower ones do.
    """
    rows = [_row(claim, summary, toward) for claim in CLAIMS]
    table = pd.DataFrame(rows, columns=[name for name in COLUMNS if name not in ("q", "verdict")])
    q = adjust(table["p"].to_numpy(np.float64))
    sure = q <= ALPHA
    verdicts = np.where(sure & (table["value"] > 0), FOR, np.where(sure, AGAINST, OPEN))
    verdicts = np.where(np.isnan(q), UNTESTED, verdicts)
    return table.assign(q=q, verdict=verdicts)[list(COLUMNS)]


def _row(claim: Claim, summary: pd.DataFrame, toward: int) -> Mapping[str, Any]:
    fits = (summary["about"] == claim.about) & summary["what"].str.endswith(claim.what)
    names = {"claim": claim.text, "unit": claim.unit}
    if not fits.any():
        return names | {"reason": "no models that differ in this alone"}
    row = summary[fits].iloc[0]
    scale = toward * claim.predicted * claim.scale
    low, high = sorted(scale * row[end] for end in ("low", "high"))
    value = scale * row["value"]
    kept = {name: row[name] for name in ("p", "counted", "reason")}
    return names | kept | {"value": value, "low": low, "high": high}


def forest(evidence: pd.DataFrame, *, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw a row per claim: its effect with the 95% interval, and q.

    evidence: as `weigh` gives it.
    """
    seen = evidence.dropna(subset=["value"])
    if seen.empty:
        return reason("No claim can be tested with these models: embed models of two sizes.", mode)
    ink = INK[mode]
    colors = {FOR: ink.ember, AGAINST: ink.text, OPEN: ink.chance, UNTESTED: ink.chance}
    figure = blank(mode, height=52 * len(evidence) + 90, title="Evidence for the hypothesis")
    names = [_name(row, narrow=narrow) for row in evidence.to_dict("records")]
    for place, row in enumerate(evidence.to_dict("records")):
        if math.isnan(row["value"]):
            continue
        color = colors[row["verdict"]]
        figure.add_scatter(
            x=[row["value"]],
            y=[place],
            mode="markers",
            marker={"color": color, "size": 10, "symbol": "square"},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [row["high"] - row["value"]],
                "arrayminus": [row["value"] - row["low"]],
                "color": color,
                "thickness": 2,
                "width": 0,
            },
            hovertext=[_card(row)],
            hovertemplate="%{hovertext}<extra></extra>",
            showlegend=False,
        )
    for place, row in enumerate(evidence.to_dict("records")):
        figure.add_annotation(
            x=1,
            xref="x domain",
            y=place,
            yref="y",
            text=_result(row),
            showarrow=False,
            xanchor="left",
            xshift=8,
            font={"size": 12, "color": ink.soft},
        )
    figure.add_vline(0.0, line={"color": ink.chance, "dash": "dot"})
    figure.update_xaxes(title_text="change of alignment, as predicted: right of 0")
    figure.update_yaxes(
        tickvals=list(range(len(names))),
        ticktext=names,
        range=[len(names) - 0.5, -0.5],
        showgrid=False,
    )
    return figure.update_layout(margin_r=118).figure()


def _name(row: Mapping[Hashable, Any], *, narrow: bool) -> str:
    text = plain(row["claim"])
    if narrow:
        head, _, tail = text.rpartition(" are ") if " are " in text else text.rpartition(" with ")
        text = f"{head}<br>{'are' if ' are ' in row['claim'] else 'with'} {tail}"
    return f"{text}<br><span style='font-size:11px'>{plain(row['unit'])}</span>"


def _result(row: Mapping[Hashable, Any]) -> str:
    if row["verdict"] == UNTESTED:
        return UNTESTED
    return f"{row['verdict']}, {p_text(row['q'], 'q')}"


def _card(row: Mapping[Hashable, Any]) -> str:
    low, value, high = (f"{row[name]:+.3g}".replace("-", "−") for name in ("low", "value", "high"))
    return hover_card(
        row["claim"],
        f"{value} [{low}, {high}], {row['unit']}",
        UNTESTED
        if math.isnan(row["p"])
        else f"{p_text(row['p'])}, {p_text(row['q'], 'q')} over all",
        str(row["counted"]),
        ids="",
    )
