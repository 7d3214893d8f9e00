"""What better models buy, as figures."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from core.figures.drawing import Drawing
from core.figures.marks import cards, logarithmic, name_groups
from core.figures.numbers import p_text
from core.figures.panels import cell, grid, per_row
from core.figures.theme import INK, Mode, clear, dotted, hover_card, hue, plain, reason, wrap
from core.modalities import LANGUAGE
from core.questions.benefits.transfer import MEAN

HEADS = {
    "language": ("<b>Language models that learn from images</b>", "1 − bits per byte of captions"),
    "vision": ("<b>Vision models that learn from captions</b>", "share of tasks solved"),
}
OWN = {"language": "captioned events seen", "vision": "images seen"}
SIZES = (50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000)


def transfer(table: pd.DataFrame, mode: Mode, *, narrow: bool = False) -> go.Figure:
    """Draw how good learners are over the data they saw, with transfer and without: means over the
    seeds, and the seeds as small dots. table: rows of `Transfer`.
    """
    if table.empty:
        return reason("No learner here was trained with and without transfer.", mode)
    kinds = list(dict.fromkeys(table["modality"]))
    columns = per_row(len(kinds), narrow)
    figure = grid([HEADS[kind][0] for kind in kinds], mode, narrow=narrow, height=330, gap=0.12)
    figure.update_yaxes(matches=None, showticklabels=True)
    looks = {"without": INK[mode].soft, "with_transfer": hue("CLIP", mode)}
    for place, kind in enumerate(kinds):
        at, rows = cell(place, columns), table[table["modality"] == kind]
        for column, color in looks.items():
            _add_curve(figure, rows, column, color, place == 0, at)
        ticks = sorted(set(rows["events"]))
        figure.update_xaxes(**logarithmic(ticks), title_text=OWN[kind], **at)
        figure.update_yaxes(title_text=HEADS[kind][1], **at)
    return figure.update_layout(meta={"title": "Transfer between modalities"}).figure()


def _add_curve(
    figure: Drawing,
    rows: pd.DataFrame,
    column: str,
    color: str,
    named: bool,
    at: Mapping[str, int],
) -> None:
    means, seeds = rows[rows["seed"] == MEAN], rows[rows["seed"] != MEAN]
    name = "with transfer" if column == "with_transfer" else "without"
    texts = [
        hover_card(
            f"<b>{name}</b>",
            f"{row[column]:.3f}, mean over the seeds",
            ids=f"{row['learner']}, {row['events']:,} events",
        )
        for row in means.to_dict("records")
    ]
    figure.add_scatter(
        x=seeds["events"],
        y=seeds[column],
        mode="markers",
        marker={"color": clear(color, 0.55), "size": 6},
        hoverinfo="skip",
        showlegend=False,
        legendgroup=name,
        **at,
    )
    figure.add_scatter(
        x=means["events"],
        y=means[column],
        mode="lines+markers",
        marker={"color": color, "size": 10, "symbol": "diamond"},
        line={"color": color, "width": 2},
        name=f"{name}, mean and seeds",
        legendgroup=name,
        showlegend=named,
        **cards(texts),
        **at,
    )


def over_size(
    table: pd.DataFrame,
    axes: Mapping[str, str],
    mode: Mode,
    *,
    title: str,
    narrow: bool = False,
) -> go.Figure:
    """Draw each measure of language models over their size, a panel each: a line per family through
    the means over seeds.

    table: rows of `Bias` or `Hallucination`. axes: what to call a measure, by its name; a line
    without a model, as a control, is drawn from edge to edge. title: names exported files.
    """
    shown = table[table["value"].notna()]
    if (shown["model"] == "").all():
        return reason("No language model here could be measured.", mode)
    columns = per_row(len(axes), narrow)
    figure = grid([_head(table, name) for name in axes], mode, narrow=narrow, height=320, gap=0.12)
    figure.update_yaxes(matches=None, showticklabels=True)
    for place, (name, axis) in enumerate(axes.items()):
        at, rows = cell(place, columns), shown[shown["measure"] == name]
        models = rows[rows["model"] != ""]
        _add_zero(figure, models, rows[rows["model"] == ""], mode, at)
        for line, of_line in models.groupby("line", sort=False):
            _add_family(figure, str(line), of_line, mode, at)
        figure.update_xaxes(
            **logarithmic(SIZES),
            title_text="parameters",
            **at,
        )
        figure.update_yaxes(title_text=wrap(axis, 34), **at)
    families = dict.fromkeys(_family(line) for line in shown.loc[shown["model"] != "", "line"])
    name_groups(figure, families, LANGUAGE, mode)
    return figure.update_layout(meta={"title": title}).figure()


def _family(line: str) -> str:
    """Return a line's family: its name without the objective."""
    return line.removesuffix(" language").removesuffix(" masked")


def _head(table: pd.DataFrame, name: str) -> str:
    row = table[table["measure"] == name].iloc[0]
    said = (
        plain(row["trend_reason"])
        if math.isnan(row["p"])
        else f"{row['rise']:+.3f} per tenfold · {p_text(row['p'])}".replace("-", "−")
    )
    return f"<b>{plain(name).capitalize()}</b><br><span style='font-size:12px'>{said}</span>"


def _add_zero(
    figure: Drawing,
    models: pd.DataFrame,
    controls: pd.DataFrame,
    mode: Mode,
    at: Mapping[str, int],
) -> None:
    """Draw the line that an unbiased model would lie on, and controls, from the smallest model to
    the largest.
    """
    ends = [float(models["parameters"].min()), float(models["parameters"].max())]
    levels = {"": 0.0} | dict(zip(controls["title"], controls["value"], strict=True))
    for title, level in levels.items():
        figure.add_scatter(
            x=ends,
            y=[level] * 2,
            mode="lines",
            line=dotted(mode),
            showlegend=False,
            **cards([plain(title)] * 2),
            **at,
        )


def _add_family(
    figure: Drawing, line: str, rows: pd.DataFrame, mode: Mode, at: Mapping[str, int]
) -> None:
    family = _family(line)
    color = hue(family, mode)
    means = rows.groupby("recipe", sort=False).agg(
        parameters=("parameters", "first"), value=("value", "mean")
    )
    means = means.sort_values("parameters")
    look = {"legendgroup": family, "showlegend": False}
    figure.add_scatter(
        x=means["parameters"],
        y=means["value"],
        mode="lines",
        line={"color": color, "width": 2},
        hoverinfo="skip",
        **look,
        **at,
    )
    texts = [
        hover_card(f"<b>{plain(row['title'])}</b>", f"{row['value']:.3f}", ids=str(row["model"]))
        for row in rows.to_dict("records")
    ]
    figure.add_scatter(
        x=rows["parameters"],
        y=rows["value"],
        mode="markers",
        marker={"color": color, "size": 9, "line": {"color": INK[mode].paper, "width": 1}},
        customdata=[[name] for name in rows["model"]],
        **cards(texts),
        **look,
        **at,
    )
