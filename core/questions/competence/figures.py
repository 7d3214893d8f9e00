"""The Competence page's figures: scores against alignment, and alignment along training."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.figures.drawing import Drawing
from core.figures.marks import (
    add_chance,
    add_level,
    cards,
    color_bar,
    group_mark,
    logarithmic,
    name_mark,
)
from core.figures.numbers import counted, share_text
from core.figures.panels import cell, panels
from core.figures.rows import Row, column, grouped
from core.figures.theme import (
    INK,
    Mode,
    blank,
    clear,
    dotted,
    heading,
    hover_card,
    hue,
    plain,
    proportional_sizes,
    reason,
    round_ticks,
    sized,
    symbol,
    wrap,
)
from core.modalities import find_modality
from core.statistics.emergence import Stick


def downstream(
    points: pd.DataFrame,
    fits: pd.DataFrame,
    *,
    label: str,
    score: str,
    rank: str,
    note: str,
    mode: Mode,
) -> go.Figure:
    """Draw a score against alignment with one target, a dot per model, with a line and a broken
    stick through all of them.

    points: model, title, modality, parameters, near (the alignment), chance, value (the score),
    rank in 0 … 1 (1 is the best; NaN where unknown). label: finished text. fits: as
    `core.statistics.emergence.compare_fits` gives them. rank: of what the color is the rank. note:
    the correlations, in a line or two of finished text above the plot.
    """
    seen = points.dropna(subset=["near", "value"])
    if seen.empty:
        return reason("No model has both this score and an alignment with this target.", mode)
    seen = seen.assign(size=proportional_sizes(seen["parameters"]))  # as published
    figure = blank(mode, height=480, title="Scores and alignment")
    for fit in fits[fits["reason"] == ""].to_dict("records"):
        figure.add_scatter(**_curve(fit, seen["near"], mode))
    if seen["chance"].nunique() == 1:  # of CKA every pair has its own
        add_level(figure, seen["chance"].iloc[0], "chance", dotted(mode))
    ranked = seen["rank"].notna()
    unknown = {"name": "rank unknown", "showlegend": bool((~ranked).any())}
    figure.add_scatter(**_dots(seen[~ranked], mode), **unknown)
    figure.add_scatter(**_dots(seen[ranked], mode), showlegend=False)
    figure.update_layout(coloraxis=_ranks(rank, mode, shown=bool(ranked.any())))
    _add_note(figure, note)
    return (
        figure.update_xaxes(title_text=label)
        .update_yaxes(title_text=wrap(plain(score), 40))
        .figure()
    )


def _ranks(rank: str, mode: Mode, *, shown: bool) -> dict[str, object]:
    """Return the color axis of ranks."""
    ends = {"tickvals": [0.02, 0.97], "ticktext": ["least", "most"], "len": 0.8}
    return {
        "colorscale": list(INK[mode].scale[1:]),
        "cmin": 0,
        "cmax": 1,
        "colorbar": color_bar(wrap(f"rank in {plain(rank)}", 18) + "<br> ", **ends),
        "showscale": shown,
    }


def _add_note(figure: Drawing, note: str) -> None:
    """Write some lines above the plot, and make room for them."""
    corner = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "xanchor": "left"}
    above = {"yanchor": "bottom", "yshift": 10, "align": "left"}
    figure.add_annotation(text=note, **corner, **above, showarrow=False, font_size=13)
    figure.update_layout(margin_t=30 + 19 * (note.count("<br>") + 1))


def _dots(points: pd.DataFrame, mode: Mode) -> dict[str, object]:
    ranked = points["rank"].notna().all()
    color: dict[str, object] = (
        {"color": points["rank"], "coloraxis": "coloraxis"}
        if ranked
        else {"color": "rgba(0,0,0,0)"}
    )
    marker = {
        **color,
        "size": points["size"].tolist(),
        "opacity": 1.0,
        "symbol": [find_modality(modality).symbol for modality in points["modality"]],
        "line": {"color": INK[mode].text, "width": 1},
    }
    texts = [_score_card(row) for row in points.to_dict("records")]
    return {
        "x": points["near"],
        "y": points["value"],
        "mode": "markers",
        "marker": marker,
        **cards(texts),
        "customdata": points[["model"]].to_numpy(),
    }


def _score_card(row: Mapping[Hashable, Any]) -> str:
    rank = (
        ""
        if math.isnan(row["rank"])
        else f"rank {share_text(row['rank'])} of the way from the least to the most competent"
    )
    chance = "" if math.isnan(row["chance"]) else f", chance {row['chance']:.3f}"
    return hover_card(
        sized(row["title"], row["parameters"]),
        f"alignment {row['near']:.3f}{chance}",
        f"score {row['value']:.4g}",
        *([rank] if rank else []),
        ids=row["model"],
    )


def _curve(fit: Mapping[Hashable, Any], x: pd.Series, mode: Mode) -> dict[str, object]:
    straight = fit["fit"] == "line"
    stick = Stick(fit["intercept"], fit["slope"], fit["bend"], fit["knot"])
    ends = np.array([x.min(), *([] if straight else [stick.knot]), x.max()])
    errors = f"error {fit['cv_rmse']:.3g}, R² {fit['cv_r2']:.2f} on models left out"
    name = f"{fit['fit']}: {errors}".replace("-", "−")
    line = {
        "color": INK[mode].soft if straight else INK[mode].ember,
        "width": 2,
        "dash": "dash" if straight else "solid",
    }
    return {
        "x": ends,
        "y": stick.at(ends),
        "mode": "lines",
        "line": line,
        "name": name,
        "hoverinfo": "skip",
    }


def training(
    points: pd.DataFrame, *, label: str, chance: float, mode: Mode, narrow: bool = False
) -> go.Figure:
    """Draw alignment along training, a line per training, a panel per target.

    points: rows of `core.questions.competence.answer.follow_training` with title, group and
    parameters of each checkpoint. chance: NaN where no formula gives it. narrow: stack the panels,
    for a phone.
    """
    if points.empty:
        return reason(
            "No training has two checkpoints here: embed several checkpoints of one training.",
            mode,
        )
    targets = list(dict.fromkeys(points["target"]))
    columns, ends = 1 if narrow else min(2, len(targets)), _ends(points["step"])
    figure = _panels(targets, columns, mode)
    for place, rows in enumerate(grouped(points.to_dict("records"), "target")):
        at = cell(place, columns)
        add_chance(figure, ends, chance, mode, at, named=place == 0)
        for run in grouped(rows, "run"):
            figure.add_scatter(**_along(run, mode), **at)
    figure.update_xaxes(**logarithmic(round_ticks(*ends)), title_text="training steps")
    figure.update_yaxes(rangemode="tozero").update_yaxes(title_text=wrap(label, 34), col=1)
    for modality, group in dict.fromkeys(zip(points["modality"], points["group"], strict=True)):
        marker = group_mark(group, find_modality(modality), mode)
        name_mark(figure, heading(group), marker, group=f"{modality} {group}")
    return figure.figure()


def _ends(values: pd.Series) -> tuple[float, float]:
    return float(values.min()), float(values.max())


def _panels(targets: list[str], columns: int, mode: Mode) -> Drawing:
    rows = math.ceil(len(targets) / columns)
    return panels(
        [f"<b>with {plain(target)}</b>" for target in targets],
        columns,
        mode,
        height=300 * rows + 70,
        title="Alignment along training",
        horizontal_spacing=0.08,
        vertical_spacing=min(0.3, 95 / (300 * rows)),
    )


def _along(run: Sequence[Row], mode: Mode) -> dict[str, object]:
    group, modality = run[0]["group"], run[0]["modality"]
    color = hue(group, mode)
    texts = [
        hover_card(
            sized(row["title"], row["parameters"]),
            f"after {counted(row['step'], 'step', 'steps')}",
            f"alignment {row['score']:.3f}, mean over {row['models']}",
            ids=row["model"],
        )
        for row in run
    ]
    marker = {
        "color": color,
        "size": 8,
        "symbol": symbol(group, find_modality(modality)),
        "line": {"color": INK[mode].paper, "width": 1},
    }
    return {
        "x": column(run, "step"),
        "y": column(run, "score"),
        "mode": "lines+markers",
        "line": {"color": clear(color, 0.6), "width": 2},
        "marker": marker,
        **cards(texts),
        "customdata": [[row["model"]] for row in run],
        "legendgroup": f"{modality} {group}",
        "showlegend": False,
    }
