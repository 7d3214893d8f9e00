"""A drawing of plain dictionaries is the figure that Plotly builds object by object."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from core.figures.drawing import Drawing, draw_panels

SHAPE = {"shared_yaxes": True, "horizontal_spacing": 0.1, "vertical_spacing": 0.2}
HEADS = ["a", "b", "c", "d", "e", "f"]


def fill(figure):
    """Do to a drawing or a figure of two rows and three columns whatever both can do."""
    figure.update_layout(margin_t=3, margin_l=4)
    figure.update_layout(margin={"b": 5}, meta={"title": "T"})
    figure.add_scatter(x=[1, 2], y=[2.0, 1.0], marker={"size": [3, 4]}, row=2, col=3)
    figure.add_heatmap(z=[[1, 2], [3, 4]], colorscale=["#000000", "#ffffff"], row=1, col=1)
    bars = {"type": "bar", "x": ["p", "q"], "y": [1, 2], "error_y": {"array": [0.1, 0.2]}}
    figure.add_trace(bars, row=1, col=2)
    figure.add_trace({"type": "histogram", "x": [1, 1, 2]}, row=2, col=1)
    figure.add_annotation(x=1, y=1, yref="y domain", text="in", font_size=8, row=2, col=2)
    figure.add_annotation(x=0, y=1, xref="paper", yref="paper", text="on", showarrow=False)
    figure.update_annotations(font_size=13)
    figure.update_xaxes(title_text="all", title_font_size=7, range=[0, 1])
    figure.update_xaxes(type="log", row=2)
    figure.update_yaxes(title_text="left", col=1)
    figure.update_yaxes(matches="y", row=1, col=3)
    figure.add_shape(type="rect", x0=0, x1=1, y0=0, y1=1, line={"width": 2})
    return figure


def test_it_is_what_plotly_builds():
    look = {"layout": {"font": {"size": 9}}}
    drawing = fill(draw_panels(2, 3, HEADS, **SHAPE)).update_layout(template=look).figure()
    built = fill(make_subplots(2, 3, subplot_titles=HEADS, **SHAPE))
    built.update_layout(template=go.layout.Template(look))
    assert go.Figure(drawing.to_dict()) == built
    assert drawing.data[1].colorscale == ((0.0, "#000000"), (1.0, "#ffffff"))  # as a browser asks


def test_columns_lose_their_labels_and_what_is_passed_in_stays():
    column = pd.Series([1.0, 2.0], index=[7, 9])
    look = {"color": "#123456", "size": column}
    trace = Drawing({}).add_scatter(x=column, y=column.index, marker=look).figure().data[0]
    assert (trace.x[0], trace.y[0], trace.marker.size[1]) == (1.0, 7, 2.0)
    assert isinstance(trace.x, np.ndarray)
    assert look["size"] is column


def test_meta_is_replaced_and_other_branches_grow():
    drawing = Drawing({"meta": {"title": "T", "note": "N"}, "margin": {"t": 1}})
    drawing.update_layout(meta={"title": "U"}, margin={"b": 2})
    assert drawing.layout == {"meta": {"title": "U"}, "margin": {"t": 1, "b": 2}}
