"""The Competence page's figures: alignment within bins of competence, scores against alignment,
alignment along training.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from core.figures.panels import cell, grid, name_rows, per_row
from core.figures.theme import (
    INK,
    Mode,
    blank,
    chance_line,
    clear,
    count_text,
    heading,
    hover_card,
    hue,
    marker_size,
    p_text,
    plain,
    reason,
    round_ticks,
    scatter_of,
    sized,
    template,
    wrap,
)
from core.modalities import VISION, find_modality
from core.questions.competence.bins import ALL, DIFFERENT, SAME
from core.statistics.emergence import Stick

SOLVED = "share of tasks solved"


def bins(
    points: pd.DataFrame,
    table: pd.DataFrame,
    *,
    kinds: Mapping[str, str],
    label: str,
    chance: float,
    mode: Mode,
    narrow: bool = False,
) -> go.Figure:
    """Draw the mean alignment within bins of competence with its standard error, the pairs behind
    it, a panel per kind of pairs.

    points: rows of `core.questions.competence.bins.bin_pairs` with title_x and title_y. table: as
    `core.questions.competence.answer.bin_models` returns it. kinds: what to call the pairs of each
    panel, by pairs_of. chance: NaN where no formula gives it.
    """
    if points.empty:
        return reason("No two models share a bin: choose fewer bins, or bins of equal size.", mode)
    trends = table.drop_duplicates("pairs_of").set_index("pairs_of").to_dict("index")
    figure = grid(
        [f"<b>{plain(kinds[kind])}</b><br>{_trend(trends[kind])}" for kind in kinds],
        mode,
        narrow=narrow,
        height=330,
    )
    chosen = {ALL: points, SAME: points[points["same"]], DIFFERENT: points[~points["same"]]}
    right, columns = float(table["high"].max()) + 0.02, per_row(len(kinds), narrow)
    for place, kind in enumerate(kinds):
        at = cell(place, columns)
        if not math.isnan(chance):
            figure.add_scatter(
                x=[-0.02, right],
                y=[chance] * 2,
                **chance_line(mode),
                showlegend=place == 0,
                hoverinfo="skip",
                **at,
            )
        figure.add_trace(_pairs(chosen[kind], mode, showlegend=place == 0), **at)
        means = table[(table["pairs_of"] == kind) & table["mean"].notna()]
        figure.add_scatter(**_means(means, mode), showlegend=place == 0, **at)
    figure.update_xaxes(title_text=SOLVED, tickformat=".0%", range=[-0.02, right], nticks=6)
    figure.update_yaxes(rangemode="tozero", matches="y")
    name_rows(figure, len(kinds), columns, wrap(label, 34))
    return figure.update_layout(meta={"title": "Alignment within bins of competence"})


def _trend(row: Mapping[Hashable, Any]) -> str:
    small = "<span style='font-size:12px'>{}</span>"
    if math.isnan(row["p"]):
        return small.format("no trend: " + wrap(plain(row["trend_reason"]), 34))
    return small.format(f"slope {row['slope']:+.2f} · {p_text(row['p'])}".replace("-", "−"))


def _pairs(points: pd.DataFrame, mode: Mode, *, showlegend: bool) -> dict[str, Any]:
    cards = [
        hover_card(
            f"<b>{plain(row.title_x)}</b> × <b>{plain(row.title_y)}</b>",
            f"alignment {row.score:.3f}",
            f"{row.skill:.0%} of the tasks solved, mean of both",
            ids=f"{row.model_x} × {row.model_y}",
        )
        for row in points.itertuples(index=False)
    ]
    return {
        "type": scatter_of(len(points)),
        "x": points["skill"],
        "y": points["score"],
        "mode": "markers",
        "hovertext": cards,
        "hovertemplate": "%{hovertext}<extra></extra>",
        "name": "two models of one bin",
        "showlegend": showlegend,
        "marker": {"color": clear(INK[mode].ember, 0.5), "size": 6, "symbol": VISION.symbol},
    }


def _means(means: pd.DataFrame, mode: Mode) -> dict[str, Any]:
    ink = INK[mode].text
    cards = [
        f"<b>{row['low']:.0%} to {row['high']:.0%} of the tasks solved</b><br>{row['models']}"
        f" models, {row['pairs']} pairs<br>mean alignment {row['mean']:.3f}{_error(row['se'])}"
        for row in means.to_dict("records")
    ]
    width = {
        "type": "data",
        "array": (means["high"] - means["low"]) / 2,
        "color": clear(ink, 0.35),
        "thickness": 1.5,
        "width": 0,
    }
    error = {"type": "data", "array": means["se"], "color": ink, "thickness": 2, "width": 6}
    return {
        "x": (means["low"] + means["high"]) / 2,
        "y": means["mean"],
        "mode": "lines+markers",
        "hovertext": cards,
        "marker": {"color": ink, "size": 11, "symbol": "diamond"},
        "line": {"color": ink, "width": 2},
        "error_y": error,
        "error_x": width,
        "name": "mean of a bin ± standard error",
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _error(se: float) -> str:
    return (
        "; one model is in all pairs, so no standard error"
        if math.isnan(se)
        else f" ± {se:.3f} (standard error over models)"
    )


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
    rank in 0 … 1 (1 is the best; NaN where unknown). fits: as
    `core.statistics.emergence.compare_fits` gives them. rank: of what the color is the rank. note:
    the correlations, in a line or two of finished text above the plot.
    """
    seen = points.dropna(subset=["near", "value"])
    if seen.empty:
        return reason("No model has both this score and an alignment with this target.", mode)
    figure = blank(mode, height=480, title="Scores and alignment")
    for fit in fits[fits["reason"] == ""].to_dict("records"):
        figure.add_scatter(**_curve(fit, seen["near"], mode))
    if seen["chance"].nunique() == 1:  # of CKA every pair has its own
        figure.add_vline(
            x=seen["chance"].iloc[0], line={"color": INK[mode].chance, "width": 1.5, "dash": "dot"}
        )
        figure.add_scatter(x=[None], y=[None], **chance_line(mode))
    ranked = seen["rank"].notna()
    figure.add_scatter(
        **_dots(seen[~ranked], mode), name="rank unknown", showlegend=bool((~ranked).any())
    )
    figure.add_scatter(**_dots(seen[ranked], mode), showlegend=False)
    bar = {
        "title": {"text": wrap(f"rank in {plain(rank)}", 18) + "<br> ", "font": {"size": 12}},
        "thickness": 12,
        "outlinewidth": 0,
        "tickvals": [0.02, 0.97],
        "ticktext": ["least", "most"],
        "len": 0.8,
    }
    figure.update_layout(
        coloraxis={
            "colorscale": list(INK[mode].scale[1:]),
            "cmin": 0,
            "cmax": 1,
            "colorbar": bar,
            "showscale": bool(ranked.any()),
        },
        margin_t=30 + 19 * (note.count("<br>") + 1),
    )
    figure.add_annotation(
        text=note,
        xref="paper",
        yref="paper",
        x=0,
        y=1,
        yanchor="bottom",
        yshift=10,
        xanchor="left",
        showarrow=False,
        align="left",
        font_size=13,
    )
    return figure.update_xaxes(title_text=label).update_yaxes(title_text=wrap(score, 40))


def _dots(points: pd.DataFrame, mode: Mode) -> dict[str, Any]:
    ranked = points["rank"].notna().all()
    color: dict[str, Any] = (
        {"color": points["rank"], "coloraxis": "coloraxis"}
        if ranked
        else {"color": "rgba(0,0,0,0)"}
    )
    marker = {
        **color,
        "size": [marker_size(count) for count in points["parameters"]],
        "opacity": 1.0,
        "symbol": [find_modality(modality).symbol for modality in points["modality"]],
        "line": {"color": INK[mode].text, "width": 1},
    }
    cards = [_score_card(row) for row in points.to_dict("records")]
    return {
        "x": points["near"],
        "y": points["value"],
        "mode": "markers",
        "marker": marker,
        "hovertext": cards,
        "customdata": points[["model"]].to_numpy(),
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _score_card(row: Mapping[Hashable, Any]) -> str:
    rank = (
        ""
        if math.isnan(row["rank"])
        else f"rank {row['rank']:.0%} of the way from the least to the most competent"
    )
    chance = "" if math.isnan(row["chance"]) else f", chance {row['chance']:.3f}"
    return hover_card(
        sized(row["title"], row["parameters"]),
        f"alignment {row['near']:.3f}{chance}",
        f"score {row['value']:.4g}",
        *([rank] if rank else []),
        ids=row["model"],
    )


def _curve(fit: Mapping[Hashable, Any], x: pd.Series, mode: Mode) -> dict[str, Any]:
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
    columns = 1 if narrow else min(2, len(targets))
    rows = math.ceil(len(targets) / columns)
    figure = make_subplots(
        rows,
        columns,
        subplot_titles=[f"<b>with {plain(target)}</b>" for target in targets],
        horizontal_spacing=0.08,
        vertical_spacing=min(0.3, 95 / (300 * rows)),
    )
    figure.update_layout(
        template=template(mode), height=300 * rows + 70, meta={"title": "Alignment along training"}
    )
    ends = [float(points["step"].min()), float(points["step"].max())]
    for place, target in enumerate(targets):
        at = {"row": place // columns + 1, "col": place % columns + 1}
        if not math.isnan(chance):
            figure.add_scatter(
                x=ends,
                y=[chance] * 2,
                **chance_line(mode),
                showlegend=place == 0,
                hoverinfo="skip",
                **at,
            )
        for _, run in points[points["target"] == target].groupby("run", sort=False):
            figure.add_scatter(**_along(run, mode), **at)
    ticks = round_ticks(*ends)
    figure.update_xaxes(
        type="log",
        tickvals=ticks,
        ticktext=[count_text(tick) for tick in ticks],
        title_text="training steps",
    )
    figure.update_yaxes(rangemode="tozero").update_yaxes(title_text=wrap(label, 34), col=1)
    for modality, group in dict.fromkeys(zip(points["modality"], points["group"], strict=True)):
        marker = {"color": hue(group, mode), "size": 10, "symbol": find_modality(modality).symbol}
        figure.add_scatter(x=[None], y=[None], mode="markers", marker=marker, name=heading(group))
    return figure


def _along(run: pd.DataFrame, mode: Mode) -> dict[str, Any]:
    color = hue(str(run["group"].iloc[0]), mode)
    cards = [
        hover_card(
            sized(row["title"], row["parameters"]),
            f"after {row['step']:,.0f} steps",
            f"alignment {row['score']:.3f}, mean over {row['models']}",
            ids=row["model"],
        )
        for row in run.to_dict("records")
    ]
    marker = {
        "color": color,
        "size": 8,
        "symbol": find_modality(run["modality"].iloc[0]).symbol,
        "line": {"color": INK[mode].paper, "width": 1},
    }
    return {
        "x": run["step"],
        "y": run["score"],
        "mode": "lines+markers",
        "line": {"color": clear(color, 0.6), "width": 2},
        "marker": marker,
        "hovertext": cards,
        "hovertemplate": "%{hovertext}<extra></extra>",
        "showlegend": False,
    }
