"""The Dispersion page's figures: alignment on the stimuli that models agree on and on those that
they do not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.figures.drawing import Drawing
from core.figures.marks import (
    SILENT,
    add_chance,
    cards,
    interval,
    name_chance,
    name_groups,
    name_mark,
)
from core.figures.numbers import p_text
from core.figures.panels import cell, grid, name_rows, per_row
from core.figures.rows import Row, column, grouped
from core.figures.theme import (
    INK,
    Mode,
    blank,
    chance_line,
    clear,
    hover_card,
    hue,
    mark_sizes,
    plain,
    reason,
    sized,
    symbol,
    wrap,
)
from core.modalities import LANGUAGE, VISION


@dataclass(frozen=True)
class Sets:
    """The sets of stimuli on an axis: its figure's title, what it is called, and what each set
    is.
    """

    title: str
    axis: str
    names: Mapping[str, str]


SETS = Sets(
    "Alignment by dispersion", "dispersion", {"low": "low", "random": "random", "high": "high"}
)
DROPS = Sets(
    "Alignment without the lowest or the highest dispersion",
    "left out by dispersion",
    {
        "full": "none",
        "without low": "lowest",
        "without random": "random",
        "without high": "highest",
    },
)
RATIO = "low/high"
MEAN = "mean"  # what a legend entry stands for, beside families and chance
NOTHING = "No alignment can be computed on these sets: {}."


def effect(
    points: pd.DataFrame, *, label: str, chance: float, mode: Mode, narrow: bool = False
) -> go.Figure:
    """Draw alignment on the sets of low, random and high dispersion, a panel per model whose
    alignment is measured.

    points: rows of `core.questions.dispersion.trials.score_trial` described by
    `core.questions.dispersion.points.effect_points`. A dot is a language model, a line joins its
    sets; the diamond is the mean over them with its 95 % interval; the heading gives the ratio of
    the low and the high set. chance: NaN where no formula gives it.
    """
    return _by_set(
        points, SETS, mode, heads=_ratios(points), label=label, chance=chance, narrow=narrow
    )


def drop(
    points: pd.DataFrame, *, label: str, chance: float, mode: Mode, narrow: bool = False
) -> go.Figure:
    """Draw alignment without the stimuli of lowest, random or highest dispersion beside that of
    all; drawn like `effect`.

    points: rows of `core.questions.dispersion.trials.score_trial`, described likewise.
    """
    return _by_set(points, DROPS, mode, heads={}, label=label, chance=chance, narrow=narrow)


def _by_set(
    points: pd.DataFrame,
    sets: Sets,
    mode: Mode,
    *,
    heads: Mapping[str, str],
    label: str,
    chance: float,
    narrow: bool,
) -> go.Figure:
    shown = points[points["set"].isin(list(sets.names))]
    seen = shown.dropna(subset="score")
    if seen.empty:
        return reason(NOTHING.format(_first(shown["reason"])), mode)
    seen = seen.assign(size=0.7 * mark_sizes(seen["parameters_x"]))
    titles, names = list(dict.fromkeys(seen["title_y"])), list(sets.names.values())
    columns = per_row(len(titles), narrow)
    figure = grid(
        [_head(title, heads.get(title, "")) for title in titles], mode, narrow=narrow, height=330
    )
    for place, title in enumerate(titles):
        at = cell(place, columns)
        add_chance(figure, names, chance, mode, at)
        _add_sets(figure, seen[seen["title_y"] == title], sets, mode, at)
    ends = [-0.45, len(names) - 0.55]
    figure.update_xaxes(type="category", categoryarray=names, range=ends, tickangle=0)
    figure.update_xaxes(title_text=sets.axis).update_yaxes(matches="y", rangemode="tozero")
    name_rows(figure, len(titles), columns, wrap(label, 34))
    _add_legend(figure, seen, mode, chance=chance)
    return figure.update_layout(meta={"title": sets.title}).figure()


def _add_sets(
    figure: Drawing, panel: pd.DataFrame, sets: Sets, mode: Mode, at: Mapping[str, int]
) -> None:
    """Add the language models of a panel, by family, and the mean over them."""
    order = list(sets.names)
    rows = sorted(panel.to_dict("records"), key=lambda row: order.index(row["set"]))
    for members in grouped([row for row in rows if row["language"]], "group_x"):
        _add_family(figure, members, sets, mode, at)
    mean = [row for row in rows if not row["language"]]
    for part in (
        [row for row in mean if row["set"] == "full"],
        [row for row in mean if row["set"] != "full"],
    ):
        figure.add_scatter(
            x=_set_names(part, sets),
            y=column(part, "score"),
            **_mean_look(part, INK[mode].text),
            legendgroup=MEAN,
            showlegend=False,
            **_cards(part, sets),
            **at,
        )


def _add_family(
    figure: Drawing, rows: Sequence[Row], sets: Sets, mode: Mode, at: Mapping[str, int]
) -> None:
    """Add the score of each language model of a family on each set, joined by a line; that on all
    stimuli cannot be compared with those on smaller sets and stays apart.

    One trace for the lines and one for the dots: a browser draws few large ones sooner.
    """
    family = str(rows[0]["group_x"])
    color = hue(family, mode)
    lines = grouped([row for row in rows if row["set"] != "full"], "language")
    figure.add_scatter(
        x=_with_gaps(_set_names(run, sets) for run in lines),
        y=_with_gaps(column(run, "score") for run in lines),
        mode="lines",
        line={"color": clear(color, 0.4), "width": 1.5},
        legendgroup=family,
        **SILENT,
        **at,
    )
    figure.add_scatter(
        x=_set_names(rows, sets),
        y=column(rows, "score"),
        mode="markers",
        marker={
            "color": color,
            "size": column(rows, "size"),
            "symbol": symbol(family, LANGUAGE),
            "line": {"color": INK[mode].paper, "width": 1},
        },
        legendgroup=family,
        showlegend=False,
        **_cards(rows, sets),
        **at,
    )


def _set_names(rows: Sequence[Row], sets: Sets) -> list[str]:
    return [sets.names[name] for name in column(rows, "set")]


def _with_gaps(runs: Iterable[Sequence[object]]) -> list[object]:
    """Return the values of several lines as those of one trace, in which None parts two lines."""
    values = [value for run in runs for value in [*run, None]]
    return values[:-1]


def _mean_look(mean: Sequence[Row], color: str) -> dict[str, Any]:
    ends = (pd.Series(column(mean, name), dtype=float) for name in ("score", "low", "high"))
    error = interval(*ends, color=color, thickness=2, width=5)
    return {
        "mode": "lines+markers",
        "marker": {"color": color, "size": 10, "symbol": "diamond"},
        "error_y": error,
        "line": {"color": color, "width": 2},
    }


def _cards(rows: Sequence[Row], sets: Sets) -> dict[str, object]:
    return cards(_card(row, f"{sets.axis}: {sets.names[row['set']]}") for row in rows)


def _card(row: Row, name: str) -> str:
    who = (
        sized(row["title_x"], row["parameters_x"])
        if row["language"]
        else "<b>mean over the language models</b>"
    )
    return hover_card(
        f"{who} × {plain(row['title_y'])}",
        f"{name}, {row['size']:,} stimuli compared",
        f"alignment {row['score']:.3f}{_interval(row)}",
        *([f"{p_text(row['p'])} against random sets"] if not math.isnan(row["p"]) else []),
        ids=f"{row['language'] or 'mean'} × {row['vision']}",
    )


def _head(title: str, note: str) -> str:
    return f"<b>{plain(title)}</b>" + (
        f"<br><span style='font-size:12px'>{note}</span>" if note else ""
    )


def _interval(row: Row) -> str:
    return (
        "" if math.isnan(row["low"]) else f", 95 % interval {row['low']:.3f} to {row['high']:.3f}"
    )


def _ratios(points: pd.DataFrame) -> dict[str, str]:
    """Return a panel's second line: the ratio of the mean over language models, with its
    interval.
    """
    rows = points[(points["set"] == RATIO) & (points["language"] == "")].to_dict("records")
    return {row["title_y"]: _ratio(row) for row in rows}


def _ratio(row: Row) -> str:
    if math.isnan(row["score"]):
        return f"no ratio: {wrap(plain(row['reason']), 34)}"
    return f"low / high <b>{row['score']:.2f}</b> ({row['low']:.2f} to {row['high']:.2f})"


def deciles(points: pd.DataFrame, *, label: str, chance: float, mode: Mode) -> go.Figure:
    """Draw the mean alignment over language models by tenth of dispersion, a line with its 95 %
    interval per model.

    points: rows of `core.questions.dispersion.trials.score_trial` described by
    `core.questions.dispersion.points.effect_points`.
    """
    mean = points[(points["language"] == "") & points["set"].str.isdigit()].assign(
        part=lambda rows: rows["set"].astype(int)
    )
    seen = mean.dropna(subset="score").sort_values("part")
    if seen.empty:
        return reason(NOTHING.format(_first(mean["reason"])), mode)
    parts = int(mean["part"].max())
    parts_named = {str(part): f"part {part} of {parts}" for part in range(1, parts + 1)}
    sets = Sets("Alignment by part of the ranking by dispersion", "dispersion", parts_named)
    figure = blank(mode, height=400, title=sets.title)
    runs = grouped(seen.to_dict("records"), "title_y")
    for place, run in enumerate(runs):
        aside = 0.06 * (place - (len(runs) - 1) / 2)  # intervals stay apart
        places = [part + aside for part in column(run, "part")]
        figure.add_scatter(x=places, **_decile_line(run, mode), **_cards(run, sets))
    if not math.isnan(chance):
        ends = {"x": [0.6, parts + 0.4], "y": [chance] * 2}
        figure.add_scatter(**ends, **chance_line(mode), hoverinfo="skip")
    figure.update_xaxes(
        title_text="dispersion: part 1 has the least",
        dtick=1,
        range=[0.5, parts + 0.5],
        showgrid=False,
    )
    figure.update_yaxes(title_text=wrap(label, 34), rangemode="tozero")
    return figure.update_layout(margin_t=16).figure()


def _decile_line(run: Sequence[Row], mode: Mode) -> dict[str, Any]:
    color = hue(str(run[0]["group_y"]), mode)
    look = _mean_look(run, color)
    return {
        "y": column(run, "score"),
        "name": plain(run[0]["title_y"]),
        **look,
        "marker": {"color": color, "size": 9, "symbol": VISION.symbol},
        "error_y": {**look["error_y"], "color": clear(color, 0.5), "width": 0},
    }


def _add_legend(figure: Drawing, seen: pd.DataFrame, mode: Mode, *, chance: float) -> None:
    name_groups(figure, seen.loc[seen["language"] != "", "group_x"], LANGUAGE, mode)
    diamond = {"color": INK[mode].text, "symbol": "diamond"}
    name_mark(figure, "mean, 95 % interval", diamond, group=MEAN)
    if not math.isnan(chance):
        name_chance(figure, mode)


def _first(reasons: Iterable[str]) -> str:
    return next((text for text in reasons if text), "there are too few models or stimuli")
