"""The Adapters page's figures from small tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.figures.theme import INK, hue
from core.questions.adapters.figures import cost, curve
from core.questions.adapters.findings import costs, retrieval
from core.questions.adapters.gain_figures import before_after
from core.questions.adapters.measures import row, summarize

TITLES = {"mae:2": "MAE <m>", "gpt:3": "GPT"}
GROUPS = {"mae:2": "MAE", "gpt:3": "GPT-2"}
BOTH = ("mae:2 → gpt:3", "gpt:3 → mae:2")


def measured(*, chance: float = 0.05, pairs: int = 100, off: float = 0.0) -> pd.DataFrame:
    """Two trainings: MAE goes from 0.1 to 0.3, GPT from 0.2 to 0.25, their mean to 0.4; the average
    before is 0.15.
    """
    rows = [row("alignment", "chance", "average", chance)]
    before = {"mae:2": 0.1, "gpt:3": 0.2, "average": 0.15}
    rows += [
        row("alignment", method, what, value + more)
        for method, more in (("before", 0), ("centered", 0.01))
        for what, value in before.items()
    ]
    for what, value in {"mae:2": 0.3, "gpt:3": 0.25, "mean": 0.4}.items():
        rows += [
            row("alignment", "adapters", what, value + off + sway, seed=seed)
            for seed, sway in enumerate((-0.01, 0.01))
        ]
        rows += [
            row("gain", "adapters", what, value + off - 0.15 + sway, seed=seed)
            for seed, sway in enumerate((-0.01, 0.01))
        ]
        rows.append(
            row("gain", "adapters", what, value + off - 0.15, interval=(value - 0.2, value - 0.1))
        )
    for method, value in (("adapters", 0.5), ("CCA", 0.4), ("raw", np.nan), ("chance", 0.1)):
        rows += [row("recall_10", method, what, value + off, seed=0) for what in BOTH]
    return summarize(pd.DataFrame(rows).assign(pairs=pairs))


def drawn(**chosen) -> object:
    return before_after(measured(**chosen), TITLES, GROUPS, label="alignment", mode="light")


def dots(figure, symbol: str):
    return next(trace for trace in figure.data if trace.marker.symbol == symbol and trace.hovertext)


def test_encoders_are_drawn_before_centered_and_after_with_the_interval_of_the_gain():
    figure = drawn()
    assert list(dots(figure, "circle-open").x) == pytest.approx([0.1, 0.2])
    assert list(dots(figure, "diamond-open").x) == pytest.approx([0.11, 0.21])
    after = dots(figure, "circle")
    assert list(after.x) == pytest.approx([0.3, 0.25, 0.4])
    assert list(after.y) == ["MAE &lt;m&gt;", "GPT", "mean of all"]
    assert list(after.error_x.array) == pytest.approx([0.05] * 3)
    assert list(after.error_x.arrayminus) == pytest.approx([0.05] * 3)
    assert after.error_x.color == INK["light"].soft
    assert list(after.marker.color) == [
        hue("MAE", "light"),
        hue("GPT-2", "light"),
        INK["light"].text,
    ]
    assert (
        "gain over the average before +0.250<br>95% interval +0.200 to +0.300" in after.hovertext[2]
    )


def test_retrieval_is_told_next_to_the_best_baseline():
    found = retrieval(measured())
    assert found.value == pytest.approx(0.5)
    assert found.note == "The best method without training, CCA, reaches 0.400; chance is 0.100."
    assert "no baseline" in retrieval(measured().query("method != 'CCA'")).note


def test_costs_are_the_change_from_the_fewest_to_the_most_pairs():
    several = pd.concat([measured(pairs=50, off=-0.1), measured(pairs=1000)])
    assert [one.value for one in costs(several)] == pytest.approx([0.1, 0.1])
    missing = measured(pairs=1000)
    lost = (missing["method"] == "adapters") & (missing["measure"] == "recall_10")
    missing.loc[lost, "value"] = np.nan
    assert np.isnan(retrieval(missing).value)
    align, recall = costs(pd.concat([measured(pairs=50), missing]))
    assert align.value == pytest.approx(0)
    assert recall.reason


@pytest.mark.parametrize("narrow", [False, True])
def test_cost_draws_the_adapters_and_every_baseline_by_the_number_of_pairs(narrow):
    table = pd.concat([measured(pairs=50, off=-0.1), measured(pairs=100)])
    figure = cost(table, label="alignment", mode="dark", narrow=narrow)
    named = {(trace.name, trace.xaxis): trace for trace in figure.data}
    assert list(named["adapters", "x"].x) == [50, 100]
    assert list(named["adapters", "x"].y) == pytest.approx([0.3, 0.4])
    assert list(named["average before", "x"].y) == pytest.approx([0.15, 0.15])
    assert list(named["CCA", "x2"].y) == pytest.approx([0.3, 0.4])
    assert named["CCA", "x2"].marker.symbol != named["raw", "x2"].marker.symbol
    assert list(figure.layout.xaxis.ticktext) == ["50", "100"]
    assert (figure.layout.xaxis.domain == figure.layout.xaxis2.domain) == narrow


def test_the_curve_draws_loss_recall_and_alignment_over_passes():
    rows = pd.DataFrame(
        {
            "epoch": [0, 1, 2],
            "loss": [4.0, 3.0, 2.0],
            "validation": [4.0, 3.5, 3.6],
            "recall_10": [0.1, 0.2, 0.2],
            "alignment": [0.1, 0.3, 0.3],
        }
    )
    figure = curve(
        rows, label="alignment", chances={"recall_10": 0.08, "alignment": np.nan}, mode="light"
    )
    assert [list(trace.y) for trace in figure.data] == [
        [4, 3, 2],
        [4, 3.5, 3.6],
        [0.1, 0.2, 0.2],
        [0.1, 0.3, 0.3],
        [0.08, 0.08],
    ]
    assert figure.data[-1].line.dash == "dot"
    assert figure.layout.xaxis3.dtick == 1
    assert (
        len(
            {
                axis.domain
                for axis in curve(
                    rows,
                    label="a",
                    chances={"recall_10": 0.1, "alignment": 0.1},
                    mode="dark",
                    narrow=True,
                ).select_yaxes()
            }
        )
        == 3
    )
