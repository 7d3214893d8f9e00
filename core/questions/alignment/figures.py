"""The Alignment page's main figure: alignment against the competence of models."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go

from core.figures.drawing import Drawing
from core.figures.marks import (
    SILENT,
    add_ceiling,
    add_chance,
    add_noise,
    cards,
    name_chance,
    name_line,
    name_mark,
)
from core.figures.panels import cell, name_rows, panels
from core.figures.theme import (
    INK,
    Mode,
    ceiling_line,
    clear,
    heading,
    hue,
    line_widths,
    mark_sizes,
    noise_line,
    plain,
    reason,
    symbol,
    wrap,
)
from core.modalities import find_modality
from core.questions.alignment.axes import AXES, Axis
from core.questions.alignment.cards import card
from core.questions.alignment.lines import RUNS, lines_and_dots
from core.questions.alignment.points import NOISE
from core.questions.alignment.published_marks import PUBLISHED, cross, published_marks
from core.questions.alignment.question import COMPETENCE
from core.statistics.correlations import Fit

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "hexagon", "bowtie")
NEAR = 3  # a ceiling above so many times the highest score would flatten all else
FIT, MEANS = "fit", "means"  # what a legend entry stands for, beside families, lines and chance


def trend(
    points: pd.DataFrame,
    fits: Mapping[str, Fit],
    *,
    label: str,
    mode: Mode,
    narrow: bool = False,
    axis: Axis = AXES[COMPETENCE],
    bound: str = "",
) -> go.Figure:
    """Draw alignment against the competence of the models on the axis, or what else stands there,
    one panel per group of the others.

    points: one row per pair: facet, model_x, title_x, group_x, parameters_x, modality_x, axis,
    model_y, title_y, parameters_y, layer_x, layer_y, score, chance; with a null p and p_adjusted,
    with an interval low and high, with replicates ceiling and share, with repeats noise_ceiling,
    and those of `put_beside` (crosses). fits: one per facet; diamonds are its points. label: of the
    score. Each line is one model of the panel's group, wider where larger. `narrow`: for a phone.
    bound: of noise_ceiling, see `core.study.noise.bound_of`.
    """
    points = points.assign(x=axis.unplace(axis.place(points["axis"])))
    points = points.reindex(columns=list(dict.fromkeys([*points, "ceiling", NOISE, PUBLISHED])))
    seen = points.dropna(subset=["x", "score"])
    if seen.empty:
        return reason(_why_empty(points, axis), mode)
    seen = _marked(seen).assign(
        size=0.75 * mark_sizes(seen["parameters_x"]),
        width=line_widths(mark_sizes(seen["parameters_y"])),
        card=[card(row, axis, bound) for row in seen.to_dict("records")],
    )
    by_facet = {str(facet): panel for facet, panel in seen.groupby("facet", sort=False)}
    columns = _columns(len(by_facet), narrow)
    heads = [_heading(facet, fits[facet], bound, panel) for facet, panel in by_facet.items()]
    figure = _panels(heads, columns, mode, f"Alignment and {axis.short}")
    for place, (facet, panel) in enumerate(by_facet.items()):
        _add_panel(figure, panel, fits[facet], cell(place, columns), mode, axis)
    figure.update_xaxes(**axis.look(seen["x"]))
    _name_axes(figure, len(by_facet), columns, label, axis)
    reach = _reach(seen)
    figure.update_yaxes(matches="y", range=reach)
    fitted = any(len(fits[facet].band) for facet in by_facet)
    _add_legend(figure, seen, mode, fitted=fitted)
    _name_ceilings(figure, seen, mode, bound, top=reach[1])
    return figure.figure()


def _columns(panels: int, narrow: bool) -> int:
    """Return how many panels stand side by side; four make a square."""
    if narrow:
        return 1
    return 2 if panels == 4 else min(3, panels)


def _panels(heads: Sequence[str], columns: int, mode: Mode, title: str) -> Drawing:
    rows = math.ceil(len(heads) / columns)
    tall = 330 if rows == 1 else 265
    figure = panels(
        heads,
        columns,
        mode,
        height=tall * rows + 110,
        title=title,
        shared_yaxes=True,
        shared_xaxes="all",
        horizontal_spacing=0.03,
        vertical_spacing=min(0.24, 84 / (tall * rows)),
    )
    lines = max(head.count("<br>") for head in heads) + 1
    return figure.update_layout(margin_t=18 + 19 * lines)


def _reach(points: pd.DataFrame) -> list[float]:
    """Return the range of the score's axis: all scores, published ones and chance levels, 0, and
    ceilings where they are near the scores that have one.
    """
    values = pd.concat([points["score"], points["chance"], points[PUBLISHED]]).dropna()
    low, high = min(0.0, values.min()), max(values.max(), 0.0)
    for ceiling in (points["ceiling"], points[NOISE]):
        most = NEAR * points.loc[ceiling.notna(), "score"].max()
        high = max([high, *ceiling[ceiling <= most]])
    return [1.08 * low, 1.08 * high or 1.0]


def _why_empty(points: pd.DataFrame, axis: Axis) -> str:
    if points.empty:
        return "No pair of models is chosen: pick at least one language model and one vision model."
    if points["score"].isna().all() and "alignment" in points:
        return "No ceiling is known here, so there is no share of the way to it."
    if points["score"].isna().all():
        return "No alignment can be computed for these models."
    if axis.is_competence and axis.side == "vision":
        return "None of these vision models was measured: platoscope probe does."
    if not axis.is_competence:
        return f"None of these {axis.models} has a value on this axis ({axis.short})."
    return (
        "Of none of these language models is the competence known: features made elsewhere and"
        " masked models have no bits per byte; say it by platoscope model set NAME --competence"
        " VALUE, or put another thing on the axis."
    )


def _heading(facet: str, fit: Fit, bound: str, points: pd.DataFrame) -> str:
    numbers = f"Spearman {fit.spearman:.2f} · R² {fit.r2:.2f} · n = {fit.n}".replace("-", "−")
    note = wrap(fit.reason) if fit.reason else numbers
    ceilings = points[NOISE].dropna()
    ends = dict.fromkeys(f"{end:.2f}" for end in (ceilings.min(), ceilings.max()))
    ceiling = f"<br>noise ceiling {bound}{' to '.join(ends)}" if len(ceilings) else ""
    return f"<b>{heading(facet)}</b><br><span style='font-size:12px'>{note}{ceiling}</span>"


def _add_panel(
    figure: Drawing,
    points: pd.DataFrame,
    fit: Fit,
    at: Mapping[str, int],
    mode: Mode,
    axis: Axis,
) -> None:
    color = hue(points["facet"].iloc[0], mode)
    if len(fit.band):
        _add_band(figure, fit.band.assign(x=axis.unplace(fit.band["x"])), color, at)
    _add_levels(figure, points, at, mode, axis)
    # better language models of any family follow each other, larger ones of several do not, nor do
    # vision models of several objectives
    follow = axis.is_competence and axis.side == "language"
    line_of = ("model_y",) if follow else ("model_y", "group_x")
    for trace in lines_and_dots(points, line_of, color, mode):
        figure.add_scatter(**trace, **at)
    if (is_published := points[PUBLISHED].notna()).any():
        figure.add_scatter(**published_marks(points[is_published], mode), **at)
    if len(fit.band) and points["model_y"].nunique() > 1:  # of one model they are its dots
        means = fit.points.assign(x=axis.unplace(fit.points["x"]))
        figure.add_scatter(**_means(means, mode, axis), **at)


def _add_levels(
    figure: Drawing, points: pd.DataFrame, at: Mapping[str, int], mode: Mode, axis: Axis
) -> None:
    """Draw chance and ceiling where all pairs of a panel have the same; of CKA each pair has a
    chance of its own, shown on its hover card.
    """
    places = axis.place(points["x"])
    margin = 0.04 * (places.max() - places.min()) or 0.02
    outer = list(axis.unplace(pd.Series([places.min() - margin, places.max() + margin])))
    if (chance := points["chance"].unique()).size == 1:
        add_chance(figure, outer, float(chance[0]), mode, at)
    if (ceiling := points["ceiling"].unique()).size == 1:
        add_ceiling(figure, outer, float(ceiling[0]), mode, at)
    add_noise(figure, outer, points[NOISE].dropna(), mode, at)


def _means(points: pd.DataFrame, mode: Mode, axis: Axis) -> dict[str, object]:
    """Return the means over a panel's models, which the line is fitted to."""
    texts = [
        f"mean of the panel {row['y']:.3f}<br>{axis.text(row['x'])}"
        for row in points.to_dict("records")
    ]
    look = {"mode": "markers", "marker": _mean_mark(mode), "legendgroup": MEANS}
    return {"x": points["x"], "y": points["y"], "showlegend": False, **look, **cards(texts)}


def _mean_mark(mode: Mode) -> dict[str, object]:
    edge = {"color": INK[mode].paper, "width": 1}
    return {"symbol": "diamond", "size": 8, "color": INK[mode].text, "line": edge}


def _add_band(figure: Drawing, band: pd.DataFrame, color: str, at: Mapping[str, int]) -> None:
    """Draw a fit as a dashed line in its band."""
    around = {"x": [*band["x"], *band["x"][::-1]], "y": [*band["high"], *band["low"][::-1]]}
    shade = {"fill": "toself", "fillcolor": clear(color, 0.13), "mode": "none"}
    named = {**SILENT, "legendgroup": FIT, **at}
    figure.add_scatter(**around, **shade, **named)
    line = {"color": clear(color, 0.9), "width": 2, "dash": "dash"}
    figure.add_scatter(x=band["x"], y=band["fit"], mode="lines", line=line, **named)


def _marked(points: pd.DataFrame) -> pd.DataFrame:
    """Return the points with the name of their dots in the legend, and their symbol: that of their
    color's group, or of the group that `symbol_x` names.
    """
    if "symbol_x" not in points or not points["symbol_x"].any():
        kinds = zip(points["group_x"], points["modality_x"], strict=True)
        shapes = [symbol(group, find_modality(name)) for group, name in kinds]
        return points.assign(named=points["group_x"], shape=shapes)
    order = {name: place for place, name in enumerate(points["symbol_x"].unique())}
    shapes = [SYMBOLS[order[name] % len(SYMBOLS)] for name in points["symbol_x"]]
    return points.assign(named=points["group_x"] + ", " + points["symbol_x"], shape=shapes)


def _name_axes(figure: Drawing, panels: int, columns: int, label: str, axis: Axis) -> None:
    figure.update_xaxes(matches="x", showticklabels=True)
    for place in range(panels - columns, panels):  # the lowest panel of each column
        figure.update_xaxes(title_text=plain(axis.title), **cell(place, columns))
    name_rows(figure, panels, columns, wrap(label, 34))


def _add_legend(figure: Drawing, points: pd.DataFrame, mode: Mode, *, fitted: bool) -> None:
    for group, dots in points.groupby("named", sort=False):
        edge = {"color": INK[mode].paper, "width": 1}
        look = {"color": hue(dots["group_x"].iloc[0], mode), "symbol": dots["shape"].iloc[0]}
        name_mark(figure, plain(group), {**look, "line": edge}, group=str(group))
    soft = {"color": INK[mode].soft, "width": 2}
    name_line(figure, "a compared model", soft, group=RUNS)
    if fitted:
        name_line(figure, "fit, 95 % band", {**soft, "dash": "dash"}, group=FIT)
        if (points.groupby("facet")["model_y"].nunique() > 1).any():
            name_mark(figure, "mean of the panel, fitted", _mean_mark(mode), group=MEANS)
    if points[PUBLISHED].notna().any():
        name_mark(figure, "published", cross(mode), group=PUBLISHED)
    if (points.groupby("facet")["chance"].nunique() == 1).any():
        name_chance(figure, mode)


def _name_ceilings(
    figure: Drawing, seen: pd.DataFrame, mode: Mode, bound: str, *, top: float
) -> None:
    """Add both ceilings to the legend: the replicates' with its value where all pairs have the
    same; panels' headings have that of noise. top: of the axis.
    """
    levels, noise = seen["ceiling"].dropna(), seen[NOISE].dropna()
    if len(levels):
        value = f" {levels.iloc[0]:.3g}" if levels.nunique() == 1 else ""
        look = ceiling_line(mode, name=f"ceiling{value}{_above(levels, top)}")
        figure.add_scatter(x=[None], y=[None], **look)
    if len(noise):
        look = noise_line(mode, bound, more=_above(noise, top))
        figure.add_scatter(x=[None], y=[None], **look)


def _above(levels: pd.Series, top: float) -> str:
    return ", far above the plot" if levels.min() > top else ""
