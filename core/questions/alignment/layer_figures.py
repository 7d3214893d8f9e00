"""The layer × layer map of two models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Float64

from core.figures.drawing import Drawing
from core.figures.marks import add_chance, add_noise, cards, color_bar
from core.figures.theme import INK, Mode, blank, plain, reason
from core.metrics.spec import MetricSpec
from core.questions.alignment.points import NOISE
from core.study.layers import LayerChoice, layer_matrix, pick
from core.study.noise import bound_of
from core.study.parts import Measure

Scores = Float64[np.ndarray, "layers_x layers_y"]


SIDE_BY_SIDE = "all layers side by side"


@dataclass(frozen=True)
class Layers:
    """The layers of one model: its title, and what each layer is called."""

    title: str
    names: Sequence[str]


@dataclass(frozen=True)
class LayerNoise:
    """How far noise lets each pair of layers come. ceilings: NaN where unknown. bound: see
    `core.study.noise.bound_of`.
    """

    ceilings: Scores
    bound: str

    def levels(self) -> list[float]:
        """Return the ceilings that are known."""
        return list(self.ceilings[np.isfinite(self.ceilings)])

    def texts(self) -> np.ndarray:
        """Return what is said of each pair of layers, to follow its score; "" where unknown."""
        said = [f", noise ceiling {self.bound}{value:.3f}" for value in self.ceilings.flat]
        return np.where(np.isnan(self.ceilings), "", np.reshape(said, self.ceilings.shape))


def layer_noise(table: pd.DataFrame, measure: Measure) -> LayerNoise | None:
    """Return the noise ceilings in an alignment of all layers of two models; None where neither was
    measured several times.
    """
    if NOISE not in table:
        return None
    return LayerNoise(layer_matrix(table, NOISE).to_numpy(float), bound_of(measure))


def layers_of(
    models: pd.DataFrame, names: Sequence[str], *, concatenated: bool = False
) -> list[Layers]:
    """Return the layers of models; concatenated: and all of them side by side."""
    about, more = models.set_index("model"), (SIDE_BY_SIDE,) if concatenated else ()
    return [Layers(about.loc[name, "title"], (*about.loc[name, "layers"], *more)) for name in names]


def layer_grid(
    scores: Scores,
    x: Layers,
    y: Layers,
    *,
    spec: MetricSpec,
    chance: float,
    mode: Mode,
    noise: LayerNoise | None = None,
) -> go.Figure:
    """Draw the alignment of every layer of one model with every layer of another; the best pair is
    framed.

    chance: NaN where no formula gives it.
    """
    if np.isnan(scores).all():
        return reason("No pair of layers has an alignment here.", mode)
    beside = "" if math.isnan(chance) else f", chance {chance:.3f}"
    ceilings = noise.texts() if noise else np.full(scores.shape, "")
    height = max(340, 34 * len(x.names) + 150)
    figure = blank(mode, height=height, title=f"Layers of {x.title} and {y.title}")
    figure.add_heatmap(
        z=scores,
        **_colors(scores, mode, more_is_aligned=spec.higher_is_more_aligned),
        hovertext=[[f"{plain(row)} × {plain(column)}" for column in y.names] for row in x.names],
        customdata=ceilings,
        hovertemplate="%{hovertext}<br>alignment %{z:.3f}"
        + f"{beside}%{{customdata}}<extra></extra>",
    )
    row, column = pick(scores, LayerChoice(), spec=spec)
    _frame(figure, row, column, mode)
    names = f"{plain(x.names[row])} × {plain(y.names[column])}"
    _head(
        figure, f"★ best: {names}, <b>{scores[row, column]:.3f}</b>{beside}{ceilings[row, column]}"
    )
    figure.update_xaxes(title_text=f"layer of {plain(y.title)}", **_steps(scores.shape[1]))
    return figure.update_yaxes(
        title_text=f"layer of {plain(x.title)}", **_steps(scores.shape[0])
    ).figure()


def layer_profiles(
    scores: Scores,
    x: Layers,
    y: Layers,
    *,
    spec: MetricSpec,
    chance: float,
    mode: Mode,
    noise: LayerNoise | None = None,
) -> go.Figure:
    """Draw for each layer of either model, over its relative depth, how aligned it is with the
    layer of the other model that fits it best.

    chance: of one pair of layers; NaN where no formula gives it.
    """
    if np.isnan(scores).all():
        return reason("No pair of layers has an alignment here.", mode)
    figure = blank(mode, height=360, title=f"Depth of {x.title} and {y.title}")
    best = np.fmax.reduce if spec.higher_is_more_aligned else np.fmin.reduce
    for layers, profile, dash in (
        (x, best(scores, axis=1), "solid"),
        (y, best(scores, axis=0), "dot"),
    ):
        depth = np.linspace(0, 1, len(profile)) if len(profile) > 1 else np.array([1.0])
        figure.add_scatter(
            x=depth,
            y=profile,
            mode="lines+markers",
            name=plain(layers.title),
            line={"color": INK[mode].text, "dash": dash, "width": 2},
            **cards(
                f"{plain(name)}<br>alignment {one:.3f}"
                for name, one in zip(layers.names, profile, strict=True)
            ),
        )
    add_chance(figure, [0, 1], chance, mode, {}, named=True)
    if noise:
        add_noise(figure, [0, 1], noise.levels(), mode, {}, named=True, bound=noise.bound)
    figure.update_xaxes(title_text="relative depth: 0 the first layer, 1 the last")
    return figure.update_yaxes(title_text="alignment with the other’s best layer").figure()


def _colors(scores: Scores, mode: Mode, *, more_is_aligned: bool) -> dict[str, object]:
    """Return the look of the cells: the more aligned, the farther from the paper's color."""
    return {
        "colorscale": list(INK[mode].scale[:: 1 if more_is_aligned else -1]),
        "zmin": min(0.0, float(np.nanmin(scores))),
        "xgap": 2,
        "ygap": 2,
        "x": list(range(scores.shape[1])),
        "y": list(range(scores.shape[0])),
        "colorbar": color_bar("alignment" if more_is_aligned else "distance"),
    }


def _frame(figure: Drawing, row: int, column: int, mode: Mode) -> None:
    frame = {"x0": column - 0.5, "x1": column + 0.5, "y0": row - 0.5, "y1": row + 0.5}
    figure.add_shape(type="rect", **frame, line={"color": INK[mode].text, "width": 2.5})
    font = {"size": 16, "color": INK[mode].paper}  # the best cell is the farthest from this color
    figure.add_annotation(x=column, y=row, text="★", font=font, showarrow=False)


def _head(figure: Drawing, text: str) -> None:
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "yshift": 28, "xanchor": "left"}
    figure.add_annotation(text=text, showarrow=False, **place)


def _steps(layers: int) -> dict[str, object]:
    return {"showgrid": False, "dtick": max(1, layers // 12)}
