"""The figures of metrics from small tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.figures.theme import INK
from core.questions.metrics.question import MetricAgreement, MetricPair, MetricTrends


def test_agreement_is_a_map_of_numbers_with_the_reason_of_an_empty_cell():
    rows = [("cka", "cka", 1.0), ("cka", "rsa", 0.62), ("rsa", "cka", 0.62), ("rsa", "rsa", np.nan)]
    table = pd.DataFrame(rows, columns=["metric_x", "metric_y", "spearman"]).assign(
        pairs=10, reason=["", "", "", "all <equal>"], left_out=""
    )
    table = table.assign(variant_x=table["metric_x"], variant_y=table["metric_y"])
    heat = MetricAgreement().plot(table).draw("light").data[0]
    assert heat.z[0].tolist() == [1.0, 0.62]
    assert np.isnan(heat.z[1][1])
    assert "all &lt;equal&gt;" in heat.hovertext[1][1]
    assert "ρ 0.620 over 10 pairs" in heat.hovertext[0][1]


def test_trends_have_a_line_per_k_and_name_it_once():
    rows = [
        (metric, k, f"m{i}", i / 10, k * i / 10)
        for metric in ("mutual_knn", "cknna")
        for k in (2, 9)
        for i in range(4)
    ]
    points = pd.DataFrame(rows, columns=["metric", "k", "model", "competence", "scaled"])
    points = points.assign(title="m <s>", parameters=1e5, score=0.2, axis="competence")
    figure = MetricTrends(over="k").plot(points).draw("light")
    assert [trace.name for trace in figure.data if trace.name] == ["k = 2", "k = 9"]
    lines = [trace for trace in figure.data if trace.mode == "lines" and trace.x[0] is not None]
    assert [list(line.y) for line in lines[:2]] == [
        pytest.approx([0, 0.2, 0.4, 0.6]),
        pytest.approx([0, 0.9, 1.8, 2.7]),
    ]
    assert "m &lt;s&gt;" in figure.layout.yaxis.title.text.replace("<br>", " ")
    few = MetricTrends(over="k").plot(points[:2]).draw("light")
    assert "Needs 3 models" in few.layout.annotations[0].text


@pytest.mark.parametrize(("over", "place"), [("k", "k"), ("stimuli", "n")])
def test_curves_have_their_chance_dotted(over, place):
    table = pd.DataFrame(
        {"metric": ["mutual_knn"] * 2 + ["cka"] * 2, "score": [0.2, 0.5, 0.6, 0.7]}
    )
    table = table.assign(chance=0.1, sd=0.01, curve=table["metric"], **{place: [32, 64, 32, 64]})
    figure = MetricPair(over=over).plot(table).draw("light", narrow=True)
    dotted = [t for t in figure.data if t.line.dash == "dot" and t.x[0] is not None]
    assert [tuple(trace.y) for trace in dotted] == [(0.1, 0.1)] * 2
    dots = [t for t in figure.data if t.mode == "markers" and t.x[0] is not None]
    assert [tuple(trace.y) for trace in dots] == [(0.2, 0.5), (0.6, 0.7)]
    assert figure.layout.xaxis.type == "log"


def test_each_metric_has_a_row_with_its_difference_and_its_calibrated_score():
    rows = [("mutual_knn", 2.5, 0.2), ("shape_angle", -1.0, 0.3), ("rsa", np.nan, 0.0)]
    table = pd.DataFrame(rows, columns=["metric", "difference", "calibrated"])
    table = table.assign(
        score=0.3, null_mean=0.1, null_sd=0.01, threshold=0.2, p=0.01, above=0.9, others=9
    )
    figure = MetricPair().plot(table.assign(reason="")).draw("light")
    dots = [trace for trace in figure.data if trace.x[0] is not None]
    assert {dot.marker.color for dot in dots} == {INK["light"].ember, INK["light"].text}
    values = sorted(float(x) for dot in dots for x in dot.x)
    assert values == sorted([2.5, -1.0, 0.2, 0.3, 0.0])
    ticks = [text.replace("<br>", " ") for text in figure.layout.yaxis.ticktext]
    assert ticks == ["mutual k-NN", "shape angle", "RSA"]
    assert "+2.5 sd from 9 other pairs, above 90% of them" in dots[0].hovertext[0]
