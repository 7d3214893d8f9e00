"""Figures of contrastive learners: the PMI kernel beside what is learned, and what modalities,
widths and tasks do to it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Float64

from core.figures.drawing import Drawing, draw_panels
from core.figures.theme import INK, Mode, blank, chance_line, scatter_of, template

VIEWS = {
    "lossy": ("events merged", "circle"),
    "noisy": ("noisy", "square"),
    "shuffled": ("shuffled pairs", "diamond"),
}
_EDGE = 1.02  # of axes from 0 to 1, so that a point at 1 is whole
Kernel = Float64[np.ndarray, "n n"]


def kernels(kernel: Kernel, learned: Kernel, *, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw the PMI kernel beside the learned products, each on its own scale since slope and offset
    are free.
    """
    heads = ["<b>K<sub>PMI</sub>, in nats</b>", "<b>learned ⟨f(a), f(b)⟩</b>"]
    grid = (2, 1) if narrow else (1, 2)
    figure = draw_panels(*grid, heads, horizontal_spacing=0.08, vertical_spacing=0.1)
    figure.update_layout(
        template=template(mode),
        height=720 if narrow else 400,
        meta={"title": "PMI kernel and learned products"},
    )
    for place, values in enumerate((kernel, learned)):
        at = {"row": place + 1, "col": 1} if narrow else {"row": 1, "col": place + 1}
        figure.add_heatmap(
            z=values,
            colorscale=list(INK[mode].scale),
            showscale=False,
            **at,
            hovertemplate="events %{y} and %{x}: %{z:.3f}<extra></extra>",
        )
        figure.update_yaxes(autorange="reversed", title_text="event", showgrid=False, **at)
    return figure.update_xaxes(title_text="event", showgrid=False).figure()


def products(
    kernel: Kernel, learned: Kernel, *, slope: float, offset: float, mode: Mode
) -> go.Figure:
    """Draw the learned product of every pair of events against its PMI, with the least-squares
    line.
    """
    above = np.triu_indices(len(kernel), 1)
    figure = blank(mode, height=400, title="Learned products against PMI")
    figure.add_trace(
        {
            "type": scatter_of(len(above[0])),
            "x": kernel[above],
            "y": learned[above],
            "mode": "markers",
            "name": "two events",
            "marker": {"color": INK[mode].soft, "size": 5},
        }
    )
    figure.add_scatter(
        x=kernel.diagonal(),
        y=learned.diagonal(),
        mode="markers",
        name="an event with itself",
        marker={"color": INK[mode].ember, "size": 7, "symbol": "diamond"},
    )
    ends = np.array([kernel.min(), kernel.max()])
    figure.add_scatter(
        x=ends,
        y=slope * ends + offset,
        mode="lines",
        name="least-squares fit",
        line={"color": INK[mode].text, "width": 1.5, "dash": "dash"},
    )
    return (
        figure.update_xaxes(title_text="K<sub>PMI</sub>, in nats")
        .update_yaxes(title_text="learned ⟨f(a), f(b)⟩")
        .figure()
    )


def over_training(points: pd.DataFrame, *, mode: Mode) -> go.Figure:
    """Draw R² of the fit over training; points: at, r2."""
    figure = blank(mode, height=300, title="R² over training")
    color = INK[mode].ember
    figure.add_scatter(
        x=points["at"],
        y=points["r2"],
        mode="lines+markers",
        line={"color": color, "width": 2},
        showlegend=False,
        marker={"size": 5, "color": color},
    )
    return (
        figure.update_xaxes(title_text="steps")
        .update_yaxes(range=[0, _EDGE], title_text="R² against K<sub>PMI</sub>")
        .figure()
    )


def plane(embedding: Float64[np.ndarray, "n d"], edges: Kernel, *, mode: Mode) -> go.Figure:
    """Draw an embedding's first two principal components, with the steps that the world's sequence
    takes as lines.

    edges: weights between events. Events without a step between them are joined by jumps alone.
    """
    around = embedding - embedding.mean(axis=0)
    left, values, _ = np.linalg.svd(around, full_matrices=False)
    at = np.pad(left * values, ((0, 0), (0, max(2 - len(values), 0))))[:, :2]
    figure = blank(mode, height=400, title="The embedding in its first two components")
    first, second = np.nonzero(np.triu(edges > np.median(edges[edges > 0]) / 100))
    lines = np.full((len(first), 3, 2), np.nan)  # a gap after each
    lines[:, 0], lines[:, 1] = at[first], at[second]
    if len(first) <= 4 * len(edges):
        figure.add_scatter(
            x=lines[..., 0].ravel(),
            y=lines[..., 1].ravel(),
            mode="lines",
            hoverinfo="skip",
            showlegend=False,
            line={"color": INK[mode].chance, "width": 1},
        )
    look = {"color": np.arange(len(at)), "colorscale": list(INK[mode].scale)[1:-1], "size": 10}
    figure.add_scatter(
        x=at[:, 0],
        y=at[:, 1],
        mode="markers",
        marker=look,
        showlegend=False,
        text=np.arange(len(at)),
        hovertemplate="event %{text}<extra></extra>",
    )
    figure.update_yaxes(scaleanchor="x", title_text="component 2")
    return figure.update_xaxes(title_text="component 1").figure()


def information(points: pd.DataFrame, *, measure: str, mode: Mode) -> go.Figure:
    """Draw alignment of two modalities against the mutual information that is left, points
    measured, dashed lines predicted.

    points: view, bits, cka and predicted, chance_cka; or mutual_knn and chance_knn. measure: "cka"
    or "mutual_knn".
    """
    figure = blank(mode, height=400, title="Alignment against what is left to know")
    colors = (INK[mode].ember, INK[mode].text, INK[mode].soft)
    chance = {"cka": "chance_cka", "mutual_knn": "chance_knn"}[measure]
    for color, (view, (name, symbol)) in zip(colors, VIEWS.items(), strict=True):
        run = points[points["view"] == view].sort_values("bits")
        if measure == "cka":
            figure.add_scatter(
                x=run["bits"],
                y=run["predicted"],
                mode="lines",
                name=f"{name}, predicted",
                line={"color": color, "width": 1.5, "dash": "dash"},
            )
        figure.add_scatter(
            x=run["bits"],
            y=run[measure],
            mode="markers",
            name=f"{name}, measured",
            cliponaxis=False,
            marker={"color": color, "size": 10, "symbol": symbol},
        )
        figure.add_scatter(
            x=run["bits"],
            y=run[chance],
            **chance_line(mode, name="unrelated pairs"),
            showlegend=view == "lossy",
        )
    figure.update_xaxes(title_text="mutual information left, in bits", rangemode="tozero")
    return figure.update_yaxes(
        range=[0, _EDGE], title_text={"cka": "CKA", "mutual_knn": "mutual k-NN"}[measure]
    ).figure()


def widths(points: pd.DataFrame, *, mode: Mode) -> go.Figure:
    """Draw R² against the width of the embedding, with the best that any embedding of the width
    could have.
    """
    figure = blank(mode, height=380, title="R² against width")
    _add_predicted(figure, points["width"], points["best"], "best of any embedding", mode)
    _add_measured(figure, points["width"], points["r2"], "learned", INK[mode].ember)
    return (
        figure.update_xaxes(title_text="width of the embedding")
        .update_yaxes(range=[0, _EDGE], title_text="R² against K<sub>PMI</sub>")
        .figure()
    )


def tasks(points: pd.DataFrame, *, mode: Mode) -> go.Figure:
    """Draw the alignment of two learners against how many tasks each has, of which they share
    none.
    """
    figure = blank(mode, height=380, title="Alignment against the number of tasks")
    _add_predicted(figure, points["tasks"], points["predicted"], "CKA of the exact kernels", mode)
    _add_measured(figure, points["tasks"], points["cka"], "CKA", INK[mode].ember)
    _add_measured(figure, points["tasks"], points["mutual_knn"], "mutual k-NN", INK[mode].text)
    figure.add_scatter(
        x=points["tasks"], y=points["chance_knn"], **chance_line(mode, name="chance of mutual k-NN")
    )
    figure.update_xaxes(
        title_text="tasks of each learner",
        type="log",
        tickvals=points["tasks"],
        ticktext=points["tasks"].astype(str),
    )
    return figure.update_yaxes(range=[0, _EDGE], title_text="alignment").figure()


def _add_predicted(figure: Drawing, x: pd.Series, y: pd.Series, name: str, mode: Mode) -> None:
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines",
        name=name,
        line={"color": INK[mode].soft, "width": 1.5, "dash": "dash"},
    )


def _add_measured(figure: Drawing, x: pd.Series, y: pd.Series, name: str, color: str) -> None:
    figure.add_scatter(x=x, y=y, mode="markers", name=name, marker={"color": color, "size": 10})
