"""Kernels of encoders before and after adapters, side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from core.figures.panels import cell, panels
from core.figures.theme import INK, Mode, plain, wrap

SEEN = (2, 98)  # percentiles of the products between which a kernel's colors lie


class Kernel(NamedTuple):
    """One kernel to be drawn: what it is of, what is said of it, and its products in the common
    order of stimuli.
    """

    title: str
    note: str
    products: Float[np.ndarray, "n n"]


def kernels(
    shown: Sequence[Kernel], *, columns: int, mode: Mode, unit: str = "cosine"
) -> go.Figure:
    """Draw kernels over the same stimuli in the same order, each in colors of its own range (see
    SEEN). unit: what the products are.
    """
    rows = math.ceil(len(shown) / columns)
    figure = panels(
        [_head(one) for one in shown],
        columns,
        mode,
        height=(300 if columns > 2 else 240) * rows + 50,
        title="Kernels before and after adapters",
        horizontal_spacing=0.02,
        vertical_spacing=min(0.3, 0.24 / rows),
    )
    figure.update_annotations(font_size=13)
    for place, one in enumerate(shown):
        at = cell(place, columns)
        figure.add_heatmap(**_cells(one, mode, unit), **at)
        across = f"x{place + 1 if place else ''}"
        figure.update_yaxes(scaleanchor=across, autorange="reversed", **at)
    hidden = {"visible": False, "constrain": "domain"}
    return figure.update_xaxes(**hidden).update_yaxes(**hidden).update_layout(margin_t=56).figure()


def _head(one: Kernel) -> str:
    note = f"<span style='font-size:12px'>{one.note}</span>"
    return f"<b>{wrap(plain(one.title), 26)}</b><br>{note}"


def _cells(one: Kernel, mode: Mode, unit: str) -> dict[str, object]:
    between = one.products[~np.eye(len(one.products), dtype=bool)]
    low, high = np.percentile(between, SEEN)
    return {
        "z": one.products.astype(np.float32),
        "zmin": low,
        "zmax": max(high, low + 1e-6),
        "showscale": False,
        "colorscale": list(INK[mode].scale),
        "hovertemplate": f"%{{x}} and %{{y}}: {unit} %{{z:.3g}}<extra></extra>",
    }
