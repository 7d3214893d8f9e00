"""The Metrics page's figures: how far metrics agree, what k, chance and the number of stimuli do to
a score.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.colors import sample_colorscale
from plotly.subplots import make_subplots

from core.figures.theme import (
    COMPETENCE,
    INK,
    Mode,
    blank,
    chance_line,
    count_text,
    hover_card,
    plain,
    reason,
    round_ticks,
    sized,
    template,
    wrap,
)
from core.metrics import METRICS
from core.modalities import LANGUAGE

LEAST_DRAWN = -1.0  # linear R² has no least value: what lies lower is drawn here with its number


def scope_hue(metric: str, mode: Mode) -> str:
    """Return the color of a metric: one for those that compare neighborhoods, one for those that
    compare all pairs of stimuli.
    """
    return INK[mode].ember if METRICS[metric].spec.scope == "local" else INK[mode].text


def agreement(points: pd.DataFrame, *, size: int, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw Spearman's ρ between every two metrics as a map with its numbers; a `narrow` one, on a
    phone, has colors alone.

    points: metric_x, metric_y, spearman, pairs, reason, as
    `core.questions.metrics.agreement.rank_agreement` gives them. size: on how many stimuli. An
    empty cell says why when it is pointed at.
    """
    if points["spearman"].isna().all():
        return reason(f"No two metrics can be compared here: {points['reason'].iloc[0]}.", mode)
    order = list(dict.fromkeys(points["metric_x"]))
    titles = [METRICS[name].spec.short for name in order]
    cards = points.assign(card=[_agreement_card(row) for row in points.to_dict("records")])
    z, card = (
        cards.pivot(index="metric_x", columns="metric_y", values=each).loc[order, order]
        for each in ("spearman", "card")
    )
    low = math.floor(10 * float(np.nanmin(z))) / 10
    figure = blank(
        mode, height=430 if narrow else 620, title=f"Spearman between metrics over {size} stimuli"
    )
    figure.add_heatmap(
        x=titles,
        y=titles,
        z=z.to_numpy(),
        zmin=min(low, 0.9),
        zmax=1.0,
        colorscale=list(INK[mode].scale),
        xgap=1,
        ygap=1,
        hovertext=card.to_numpy(),
        hovertemplate="%{hovertext}<extra></extra>",
        hoverongaps=True,
        texttemplate="" if narrow else "%{z:.2f}",
        textfont={"size": 11},
        colorbar={
            "title": {"text": "Spearman", "font": {"size": 12}},
            "thickness": 12,
            "outlinewidth": 0,
        },
    )
    figure.update_xaxes(
        tickangle=-90 if narrow else -40,
        dtick=1,
        tickfont_size=10 if narrow else 12,
        showgrid=False,
    )
    return figure.update_yaxes(autorange="reversed", showgrid=False).update_layout(margin_t=12)


def _agreement_card(row: Mapping[Hashable, Any]) -> str:
    names = f"<b>{METRICS[row['metric_x']].spec.short} × {METRICS[row['metric_y']].spec.short}</b>"
    if row["reason"]:
        return f"{names}<br>{wrap(plain(row['reason']))}"
    return f"{names}<br>Spearman {row['spearman']:.3f} over {row['pairs']} pairs of models"


def trends_over_k(
    points: pd.DataFrame, *, smallest: str, mode: Mode, narrow: bool = False
) -> go.Figure:
    """Draw centered and scaled alignment against competence, a line per k, a panel per metric.

    points: metric, k, model, title, parameters, competence, score, scaled, as
    `core.questions.metrics.neighborhoods.scale_trends` gives them with the models described.
    smallest: the title of the model that stands at 0. Large k is dark on light, light on dark.
    """
    seen = points.dropna(subset=["competence", "scaled"])
    if seen["model"].nunique() < 3:
        return reason(
            "At least three language models with bits per byte are needed to see a trend: embed"
            " more of them.",
            mode,
        )
    metrics, ks = list(dict.fromkeys(seen["metric"])), sorted(set(seen["k"].tolist()))
    figure = _panels(
        [f"<b>{METRICS[name].spec.short}</b>" for name in metrics],
        mode,
        narrow=narrow,
        height=380,
        title="Alignment against competence for several k",
    )
    colors = (
        sample_colorscale(list(INK[mode].scale), list(np.linspace(0.3, 0.95, len(ks))))
        if len(ks) > 1
        else [INK[mode].ember]
    )
    for place, metric in enumerate(metrics):
        for k, color in zip(ks, colors, strict=True):
            run = seen[(seen["metric"] == metric) & (seen["k"] == k)].sort_values("competence")
            last = (
                metrics[-1] == metric
            )  # CKNNA, which has every k; mutual k-NN tells no models apart at n − 1
            figure.add_scatter(**_run(run, k, color), showlegend=last, **_at(place, narrow))
    figure.update_xaxes(title_text=COMPETENCE)
    return figure.update_yaxes(
        title_text=wrap(f"alignment above {plain(smallest)}, in sd over models", 34), col=1
    )


def _run(run: pd.DataFrame, k: int, color: str) -> dict[str, Any]:
    cards = [
        hover_card(
            sized(row["title"], row["parameters"]),
            f"k = {k}: {row['scaled']:.2f} sd, alignment {row['score']:.3f}",
            ids=row["model"],
        )
        for row in run.to_dict("records")
    ]
    marker = {"color": color, "size": 7, "symbol": LANGUAGE.symbol}
    return {
        "x": run["competence"],
        "y": run["scaled"],
        "mode": "lines+markers",
        "name": f"k = {k}",
        "legendgroup": str(k),
        "line": {"color": color, "width": 2},
        "marker": marker,
        "hovertext": cards,
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def over_k(points: pd.DataFrame, *, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw the score of one pair of layers against k with its chance, a panel per metric.

    points: metric, k, score, chance, sd (of chance), as
    `core.questions.metrics.neighborhoods.curve_over_k` gives them.
    """
    metrics = list(dict.fromkeys(points["metric"]))
    figure = _panels(
        [f"<b>{METRICS[name].spec.short}</b>" for name in metrics],
        mode,
        narrow=narrow,
        height=330,
        title="Alignment over k",
    )
    for place, metric in enumerate(metrics):
        run = points[points["metric"] == metric]
        texts = [
            f"k = {row.k}<br>alignment {row.score:.3f}<br>chance {row.chance:.3f} ± {row.sd:.1g}"
            for row in run.itertuples()
        ]
        _add_curve(figure, run["k"], run, texts, scope_hue(metric, mode), _at(place, narrow), mode)
    ticks = round_ticks(float(points["k"].min()), float(points["k"].max()))
    figure.update_xaxes(
        type="log",
        tickvals=ticks,
        ticktext=[count_text(tick) for tick in ticks],
        title_text="neighbors k",
    )
    figure.update_yaxes(rangemode="tozero", matches="y").update_yaxes(title_text="alignment", col=1)
    return figure.add_scatter(x=[None], y=[None], **chance_line(mode))


def over_size(points: pd.DataFrame, *, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw the score of one pair of layers against the number of stimuli with its chance, a panel
    per curve.

    points: curve, metric, n, score, chance, sd (of the score over subsamples), as
    `core.questions.metrics.answer.grow_sample` gives them.
    """
    curves = list(dict.fromkeys(points["curve"]))
    figure = _panels(
        [f"<b>{plain(curve)}</b>" for curve in curves],
        mode,
        narrow=narrow,
        height=310,
        title="Alignment over the number of stimuli",
    )
    for place, curve in enumerate(curves):
        run = points[points["curve"] == curve]
        texts = [
            f"{row.n} stimuli<br>alignment {row.score:.3f} ± {row.sd:.1g}<br>chance"
            f" {row.chance:.3f}"
            for row in run.itertuples()
        ]
        _add_curve(
            figure,
            run["n"],
            run,
            texts,
            scope_hue(run["metric"].iloc[0], mode),
            _at(place, narrow),
            mode,
        )
    ticks = sorted(set(points["n"]))
    figure.update_xaxes(
        type="log",
        tickvals=ticks[-1::-2],
        ticktext=[f"{tick}" for tick in ticks[-1::-2]],
        title_text="stimuli n",
        range=[math.log10(0.9 * ticks[0]), math.log10(1.1 * ticks[-1])],
    )
    figure.update_yaxes(rangemode="tozero", matches="y").update_yaxes(title_text="alignment", col=1)
    return figure.add_scatter(x=[None], y=[None], **chance_line(mode))


def _add_curve(
    figure: go.Figure,
    x: pd.Series,
    run: pd.DataFrame,
    texts: list[str],
    color: str,
    at: Mapping[str, int],
    mode: Mode,
) -> None:
    figure.add_scatter(
        x=x, y=run["chance"], **chance_line(mode), showlegend=False, hoverinfo="skip", **at
    )
    look = {
        "mode": "lines+markers",
        "line": {"color": color, "width": 2},
        "marker": {"size": 7},
        "showlegend": False,
    }
    figure.add_scatter(
        x=x,
        y=run["score"],
        **look,
        hovertext=texts,
        hovertemplate="%{hovertext}<extra></extra>",
        **at,
    )


def calibrated(points: pd.DataFrame, *, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw every metric's raw score beside what shuffled stimuli give, and its calibrated score in
    a second panel.

    points: a row per metric: metric, score, null_mean, null_sd, threshold, p, calibrated, reason,
    as `core.questions.metrics.calibrated.calibrate_metrics` gives them. A dot is a score; a gray
    bar is the null's mean ± sd, the tick beside it the threshold.
    """
    seen = points.dropna(subset=["score"])
    if seen.empty:
        return reason(f"No metric compares these layers: {points['reason'].iloc[0]}.", mode)
    heads = ["<b>raw score and chance</b>", "<b>calibrated score</b>"]
    figure = make_subplots(
        *((2, 1) if narrow else (1, 2)),
        shared_yaxes=not narrow,
        subplot_titles=heads,
        horizontal_spacing=0.03,
        vertical_spacing=0.09,
    )
    height = 32 * len(seen) + 120
    figure.update_layout(
        template=template(mode),
        height=height * (1 + narrow),
        meta={"title": "Metrics and their chance"},
    )
    names = [_row_name(metric) for metric in seen["metric"]]
    right = {"row": 2, "col": 1} if narrow else {"row": 1, "col": 2}
    _add_null(figure, seen, names, mode)
    for value, at in (("score", {"row": 1, "col": 1}), ("calibrated", right)):
        figure.add_scatter(**_dots(seen, value, names, mode), **at)
    figure.update_yaxes(autorange="reversed", type="category", categoryarray=names)
    figure.update_xaxes(range=[-0.04, 1.04], title_text="0: chance, 1: full alignment", **right)
    return figure.update_xaxes(title_text="score", row=1, col=1)


def _row_name(metric: str) -> str:
    spec = METRICS[metric].spec
    return f"{spec.short}{'' if spec.higher_is_more_aligned else ' (low: aligned)'}"


def _add_null(figure: go.Figure, seen: pd.DataFrame, names: list[str], mode: Mode) -> None:
    gray = INK[mode].chance
    spread = {"type": "data", "array": seen["null_sd"], "color": gray, "thickness": 5, "width": 0}
    for value, name, symbol, size, more in (
        (
            "null_mean",
            "chance: mean ± sd of shuffled stimuli",
            "circle-open",
            7,
            {"error_x": spread},
        ),
        ("threshold", "threshold: 5 % of shuffles lie beyond", "line-ns", 15, {}),
    ):
        marker = {
            "color": gray,
            "size": size,
            "symbol": symbol,
            "line": {"width": 1.5, "color": gray},
        }
        figure.add_scatter(
            x=seen[value].clip(lower=LEAST_DRAWN),
            y=names,
            mode="markers",
            name=name,
            marker=marker,
            hoverinfo="skip",
            row=1,
            col=1,
            **more,
        )


def _dots(seen: pd.DataFrame, value: str, names: list[str], mode: Mode) -> dict[str, Any]:
    colors = [scope_hue(metric, mode) for metric in seen["metric"]]
    beyond = [f"{each:.2g}" if each < LEAST_DRAWN else "" for each in seen[value]]
    return {
        "x": seen[value].clip(lower=LEAST_DRAWN),
        "y": names,
        "mode": "markers+text",
        "showlegend": False,
        "text": beyond,
        "textposition": "middle right",
        "marker": {"color": colors, "size": 11, "line": {"color": INK[mode].paper, "width": 1}},
        "hovertext": [_null_card(row) for row in seen.to_dict("records")],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _null_card(row: Mapping[Hashable, Any]) -> str:
    title = f"<b>{plain(METRICS[row['metric']].spec.title)}</b><br>score {row['score']:.3g}"
    if row["reason"]:
        return f"{title}<br>{wrap(plain(row['reason']))}"
    null = f"chance {row['null_mean']:.3g} ± {row['null_sd']:.2g}, threshold {row['threshold']:.3g}"
    return f"{title}<br>{null}<br>calibrated {row['calibrated']:.3g}, p = {row['p']:.2g}"


def _panels(titles: list[str], mode: Mode, *, narrow: bool, height: int, title: str) -> go.Figure:
    """Return an empty panel per title, side by side or, narrow, one below the other; `height` is
    one row's, in pixels.
    """
    rows, columns = (len(titles), 1) if narrow else (1, len(titles))
    figure = make_subplots(
        rows,
        columns,
        subplot_titles=titles,
        shared_yaxes=True,
        horizontal_spacing=0.03,
        vertical_spacing=min(0.2, 80 / (height * rows)),
    )
    return figure.update_layout(
        template=template(mode), height=height * rows + 40, meta={"title": title}
    )


def _at(place: int, narrow: bool) -> dict[str, int]:
    return {"row": place + 1, "col": 1} if narrow else {"row": 1, "col": place + 1}
