"""The Stimuli page's figure: on how many neighbors two models agree, stimulus by stimulus."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Integer

from core.figures.theme import INK, Mode, blank, chance_line, clear, reason


def agreement(shared: Integer[np.ndarray, "n"], *, chosen: int, k: int, title_x: str, title_y: str, mode: Mode) -> go.Figure:
    """Draw how many of their k nearest neighbors two models share, over all stimuli, with the chosen stimulus marked.

    shared: for each stimulus the number of common neighbors, 0 … k; its mean over k is the alignment of the two layers.
    """
    if len(shared) < 3:
        return reason("With fewer than three stimuli every neighbor is shared.", mode)
    ink = INK[mode]
    counts = np.bincount(shared, minlength=k + 1)
    figure = blank(mode, height=300, title=f"Shared neighbors of {title_x} and {title_y}")
    colors = [ink.ember if value == shared[chosen] else clear(ink.soft, 0.55) for value in range(k + 1)]
    figure.add_bar(x=list(range(k + 1)), y=counts, marker={"color": colors}, showlegend=False,
                   hovertemplate="%{x} of " + str(k) + " shared: %{y} stimuli<extra></extra>")  # fmt: skip
    by_chance, mean = k * k / (len(shared) - 1), float(shared.mean())
    figure.add_vline(x=by_chance, line={"color": ink.chance, "width": 1.5, "dash": "dot"})
    figure.add_vline(x=mean, line={"color": ink.text, "width": 1.5})
    figure.add_scatter(x=[None], y=[None], mode="lines", line={"color": ink.text, "width": 1.5},
                       name=f"mean {mean:.2f}: alignment {mean / k:.3f}")  # fmt: skip
    figure.add_scatter(x=[None], y=[None], **chance_line(mode, name=f"chance {by_chance:.2f}"))
    here = {"x": int(shared[chosen]), "y": int(counts[shared[chosen]]), "text": f"stimulus {chosen}", "bgcolor": ink.paper}
    figure.add_annotation(**here, ax=0, ay=-24, arrowhead=0, arrowcolor=ink.ember, font={"color": ink.ember, "size": 13})
    figure.update_xaxes(title_text=f"shared neighbors, of k = {k}", dtick=max(1, (k + 1) // 20), range=[-0.6, k + 0.6])
    return figure.update_yaxes(title_text="stimuli").update_layout(bargap=0.15, margin_t=36)
