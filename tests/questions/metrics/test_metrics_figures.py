"""The Metrics page's figures from small tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.figures.theme import INK
from core.questions.metrics.curve_figures import over_k, over_size, trends_over_k
from core.questions.metrics.figures import LEAST_DRAWN, agreement, calibrated


def agreements(**changed) -> pd.DataFrame:
    rows = [("cka", "cka", 1.0), ("cka", "rsa", 0.62), ("rsa", "cka", 0.62), ("rsa", "rsa", np.nan)]
    table = pd.DataFrame(rows, columns=["metric_x", "metric_y", "spearman"])
    return table.assign(**{"pairs": 10, "reason": ["", "", "", "all <equal>"], **changed})


def trend_points() -> pd.DataFrame:
    rows = [
        (metric, k, f"m{i}", i / 10, k * i / 10)
        for metric in ("mutual_knn", "cknna")
        for k in (2, 9)
        for i in range(4)
    ]
    points = pd.DataFrame(rows, columns=["metric", "k", "model", "competence", "scaled"])
    return points.assign(title=points["model"] + " <s>", parameters=1e5, score=0.2)


def calibrated_points() -> pd.DataFrame:
    rows = [
        ("mutual_knn", 0.3, 0.1, 0.12, 0.2),
        ("shape_angle", 1.1, 1.5, 1.4, 0.3),
        ("linear_predictivity", -7.5, -8.0, -6.0, 0.0),
    ]
    points = pd.DataFrame(rows, columns=["metric", "score", "null_mean", "threshold", "calibrated"])
    return points.assign(null_sd=0.01, p=0.01, reason="")


def test_agreement_is_a_map_of_numbers_with_the_reason_of_an_empty_cell():
    figure = agreement(agreements(), size=128, mode="light")
    heat = figure.data[0]
    assert list(heat.x) == ["CKA", "RSA"]
    assert heat.z[0].tolist() == [1.0, 0.62]
    assert np.isnan(heat.z[1][1])
    assert "all &lt;equal&gt;" in heat.hovertext[1][1]
    assert "Spearman 0.620 over 10 pairs" in heat.hovertext[0][1]
    assert heat.texttemplate
    assert (heat.zmin, heat.zmax) == (0.6, 1.0)


def test_trends_have_a_line_per_k_in_one_order_of_color_and_name_it_once():
    figure = trends_over_k(trend_points(), smallest="m0 <s>", mode="light")
    assert [trace.name for trace in figure.data] == ["k = 2", "k = 9"] * 2
    assert [trace.name for trace in figure.data if trace.showlegend] == ["k = 2", "k = 9"]
    assert figure.data[0].line.color == figure.data[2].line.color != figure.data[1].line.color
    assert list(figure.data[1].y) == pytest.approx([0, 0.9, 1.8, 2.7])
    assert "m0 &lt;s&gt;" in figure.layout.yaxis.title.text.replace("<br>", " ")
    assert "m1 &lt;s&gt;" in figure.data[0].hovertext[1]


@pytest.mark.parametrize("narrow", [False, True])
def test_curves_have_their_chance_dotted_beside_them(narrow):
    table = pd.DataFrame(
        {
            "metric": ["mutual_knn", "mutual_knn", "cka", "cka"],
            "score": [0.2, 0.5, 0.6, 0.7],
            "chance": 0.1,
            "sd": 0.01,
        }
    )
    by_k = over_k(table.assign(k=[2, 50, 2, 50]), mode="light", narrow=narrow)
    by_n = over_size(
        table.assign(curve=table["metric"], n=[32, 64, 32, 64]), mode="light", narrow=narrow
    )
    for figure in (by_k, by_n):
        dotted = [trace for trace in figure.data if trace.line.dash == "dot" and trace.x[0]]
        assert [tuple(trace.y) for trace in dotted] == [(0.1, 0.1)] * 2
        assert [tuple(trace.y) for trace in figure.data if trace.mode == "lines+markers"] == [
            (0.2, 0.5),
            (0.6, 0.7),
        ]
        assert figure.layout.xaxis.type == "log"
    assert "k = 2<br>alignment 0.200<br>chance 0.100 ± 0.01" in by_k.data[1].hovertext
    assert "64 stimuli<br>alignment 0.500 ± 0.01" in by_n.data[1].hovertext[1]


def test_raw_scores_stand_beside_chance_and_calibrated_ones_in_a_panel_of_their_own():
    figure = calibrated(calibrated_points(), mode="light")
    null, threshold, raw, scaled = figure.data
    assert null.x.tolist() == [0.1, 1.5, LEAST_DRAWN]
    assert null.error_x.array.tolist() == [0.01] * 3
    assert threshold.x.tolist() == [0.12, 1.4, LEAST_DRAWN]
    assert scaled.x.tolist() == [0.2, 0.3, 0.0]
    assert list(raw.y) == ["mutual k-NN", "shape angle (low: aligned)", "linear R²"]
    assert raw.marker.color[0] == INK["light"].ember
