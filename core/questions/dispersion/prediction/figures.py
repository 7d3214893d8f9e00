"""What makes a stimulus dispersed, drawn: predictors by importance, and words that captions of one
set have more often.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.figures.drawing import Drawing
from core.figures.marks import (
    SILENT,
    cards,
    in_percent,
    interval,
    name_mark,
)
from core.figures.numbers import p_text
from core.figures.theme import INK, Mode, blank, chance_line, plain, reason, wrap

DISCOVERY = 0.05  # share of the discoveries that may be false
ROW, LINE = 24, 16  # pixels: of a row, and of each line of its name where it has several
LONGEST = 24  # letters of a word


def importances(
    points: pd.DataFrame, *, mode: Mode, narrow: bool = False, most: int = 15
) -> go.Figure:
    """Draw the `most` important predictors and, below a line, whole kinds of predictors, each with
    its 95 % interval.

    points: as `core.questions.dispersion.prediction.regression.predict` ranks them. A filled dot's
    interval lies above 0. `narrow` wraps for a phone.
    """
    used = points.dropna(subset=["importance"])
    if used.empty:
        return reason(f"No predictor can be used: {points['reason'].iloc[0]}.", mode)
    alone = used[used["covers"] == 1]
    drawn = pd.concat([alone.head(most), used[used["covers"] > 1]]).assign(
        place=lambda rows: range(len(rows))
    )
    names = [
        wrap(plain(f"{_spoken(row.predictor)} ({row.kind})"), 22 if narrow else 60)
        for row in drawn.itertuples()
    ]
    figure = _rows(names, mode, narrow=narrow, title="What predicts a stimulus's dispersion")
    joint = drawn["covers"] > 1
    _add_importances(figure, drawn[~joint], "one predictor", INK[mode].ember, mode)
    _add_importances(figure, drawn[joint], "all of a kind together", INK[mode].text, mode)
    figure.add_hline(y=min(most, len(alone)) - 0.5, line={"color": INK[mode].chance, "width": 1})
    left_out = len(alone) - most
    axis = (
        "loss of R² when"
        f" permuted{f'; {left_out} less important ones are not drawn' if left_out > 0 else ''}"
    )
    return figure.update_xaxes(title_text=wrap(axis, 36 if narrow else 90)).figure()


def _add_importances(
    figure: Drawing, part: pd.DataFrame, name: str, color: str, mode: Mode
) -> None:
    spread = interval(
        part["importance"], part["low"], part["high"], color=color, thickness=2, width=4
    )
    texts = [_predictor_card(row) for row in part.to_dict("records")]
    dots = _dots(part, texts, part["low"] > 0, color, mode)
    figure.add_scatter(x=part["importance"], **dots, error_x=spread)
    _name(figure, name, color, part)


def _spoken(predictor: object) -> str:
    return str(predictor).replace("_", " ")


def _predictor_card(row: Mapping[Hashable, Any]) -> str:
    lines = [
        f"<b>{plain(_spoken(row['predictor']))}</b> ({plain(row['kind'])})",
        f"importance {row['importance']:.3f}, 95 % interval {row['low']:.3f} to {row['high']:.3f}",
    ]
    if row["covers"] > 1:
        lines.append(f"{row['covers']} predictors permuted together")
    elif row["test"]:
        rho = f"Spearman {row['spearman']:.2f}" if row["test"] == "Spearman" else row["test"]
        lines.append(
            f"by itself: {rho}, {p_text(row['p'])}, {p_text(row['p_adjusted'], 'adjusted p')},"
            f" {row['n']} stimuli"
        )
    return "<br>".join(lines)


def words(points: pd.DataFrame, *, mode: Mode, narrow: bool = False, most: int = 20) -> go.Figure:
    """Draw the `most` telling words by how much larger a share of the low set's captions than of
    the high set's has them.

    points: as `core.questions.dispersion.prediction.words.enriched` ranks them. A filled dot is a
    discovery at a false discovery rate of 5 %. `narrow` wraps for a phone.
    """
    if points.empty:
        return reason(
            "No word is in enough of these captions to be compared: take larger sets.", mode
        )
    gap = points["in_low"] / points["low"] - points["in_high"] / points["high"]
    drawn = points.assign(gap=gap).head(most).sort_values("gap", ascending=False, kind="stable")
    drawn = drawn.assign(place=range(len(drawn)))
    names = [
        plain(word if len(word) <= LONGEST else f"{word[: LONGEST - 1]}…") for word in drawn["word"]
    ]
    figure = _rows(names, mode, narrow=narrow, title="Words of the low and the high set")
    for side, color in (("low", INK[mode].text), ("high", INK[mode].ember)):
        part = drawn[(drawn["gap"] > 0) == (side == "low")]
        texts = [_word_card(row) for row in part.to_dict("records")]
        dots = _dots(part, texts, part["p_adjusted"] <= DISCOVERY, color, mode)
        figure.add_scatter(x=part["gap"], **dots)
        _name(figure, f"more in the {side} set", color, part)
    axis = wrap(
        "share of captions that have the word: of the low set less that of the high set",
        36 if narrow else 90,
    )
    return figure.update_xaxes(title_text=axis, **in_percent(signed=True)).figure()


def _word_card(row: Mapping[Hashable, Any]) -> str:
    counts = (
        f"in {row['in_low']} of {row['low']} low and {row['in_high']} of {row['high']} high"
        " captions"
    )
    return (
        f"<b>{plain(row['word'])}</b><br>{counts}<br>odds ratio {row['odds_ratio']:.2g},"
        f" {p_text(row['p_adjusted'], 'adjusted p')}"
    )


def _rows(names: Sequence[str], mode: Mode, *, narrow: bool, title: str) -> Drawing:
    """Return an empty row per name, the first on top, with a dotted line at 0."""
    row = max(ROW, LINE * max(1 + name.count("<br>") for name in names))
    figure = blank(mode, height=row * max(len(names), 2) + (160 if narrow else 120), title=title)
    ends = [-0.5, len(names) - 0.5]
    figure.add_scatter(x=[0, 0], y=ends, **chance_line(mode), **SILENT)
    return figure.update_yaxes(
        tickvals=list(range(len(names))), ticktext=list(names), range=ends[::-1], showgrid=False
    )


def _dots(
    part: pd.DataFrame, texts: Sequence[str], filled: pd.Series, color: str, mode: Mode
) -> dict[str, Any]:
    fill = [color if each else INK[mode].paper for each in filled]
    return {
        "y": part["place"],
        "mode": "markers",
        "legendgroup": color,
        "showlegend": False,
        "marker": {"color": fill, "size": 10, "line": {"color": color, "width": 2}},
        **cards(texts),
    }


def _name(figure: Drawing, name: str, color: str, part: pd.DataFrame) -> None:
    """Name the dots of a color in the legend, where there are any."""
    if len(part):
        name_mark(figure, name, {"color": color}, group=color)
