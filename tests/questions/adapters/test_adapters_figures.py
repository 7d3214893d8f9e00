"""The figures of adapters from small tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.questions.adapters.figures import curve_plot, gain_plot, kernel_plot, retrieval_plot
from core.questions.adapters.findings import costs, retrieval
from core.questions.adapters.measures import row, summarize
from core.questions.adapters.question import Adaptation

TITLES = {"mae:2": "MAE <m>", "gpt:3": "GPT", "mean": "mean of all"}
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
            row(measure, "adapters", what, value + off + sway - base, seed=seed)
            for seed, sway in enumerate((-0.01, 0.01))
            for measure, base in (("alignment", 0), ("gain", 0.15))
        ]
        rows.append(
            row("gain", "adapters", what, value + off - 0.15, interval=(value - 0.2, value - 0.1))
        )
    for method, value in (("adapters", 0.5), ("CCA", 0.4), ("raw", np.nan), ("chance", 0.1)):
        rows += [row("recall_10", method, what, value + off, seed=0) for what in BOTH]
        rows += [
            row(f"recall_{k}", method, what, value / 2, seed=0) for what in BOTH for k in (1, 5)
        ]
        rows += [row("median_rank", method, what, 3.0, seed=0) for what in BOTH]
    frame = pd.DataFrame(rows).assign(encoders="mae:2 + gpt:3", reference="", pairs=pairs)
    frame.loc[frame["measure"].isin(["alignment", "gain"]), "reference"] = "R"
    table = summarize(frame)
    return table.assign(title=table["what"].map(TITLES).fillna(table["what"]))


def dots(figure, symbol: str):
    return next(trace for trace in figure.data if trace.marker.symbol == symbol and trace.hovertext)


def test_encoders_are_drawn_before_centered_and_after_with_the_interval_of_the_gain():
    figure = gain_plot(measured(), "alignment").draw("light")
    assert list(dots(figure, "circle-open").x) == pytest.approx([0.1, 0.2])
    assert list(dots(figure, "diamond-open").x) == pytest.approx([0.11, 0.21])
    after = dots(figure, "circle")
    assert list(after.x) == pytest.approx([0.3, 0.25, 0.4])
    assert list(after.error_x.array) == pytest.approx([0.05] * 3)
    assert list(after.error_x.arrayminus) == pytest.approx([0.05] * 3)
    assert list(figure.layout.yaxis.ticktext) == ["MAE &lt;m&gt;", "GPT", "mean of all"]
    assert "gain +0.250 [+0.200, +0.300]" in after.hovertext[2]
    assert sorted(line.x0 for line in figure.layout.shapes) == pytest.approx([0.05, 0.15])


def test_a_chance_that_no_formula_tells_is_not_drawn():
    figure = gain_plot(measured(chance=np.nan), "alignment").draw("light")
    assert [line.x0 for line in figure.layout.shapes] == pytest.approx([0.15])


def test_retrieval_is_told_next_to_the_best_baseline():
    (found,) = retrieval(measured())
    assert found.value == pytest.approx(0.5)
    assert "CCA 0.400" in found.note
    assert "CCA" not in retrieval(measured().query("method != 'CCA'"))[0].note
    figure = retrieval_plot(measured()).draw("light")
    assert sorted(x for trace in figure.data if trace.hovertext for x in trace.x) == pytest.approx(
        [0.4, 0.4, 0.5, 0.5]
    )
    assert [line.x0 for line in figure.layout.shapes] == pytest.approx([0.1])


def test_fewer_pairs_are_drawn_and_told():
    table = pd.concat([measured(pairs=50, off=-0.1), measured(pairs=100)], ignore_index=True)
    figure = curve_plot(table, "alignment").draw("light", narrow=True)
    lines = [list(trace.y) for trace in figure.data if trace.mode == "lines" and trace.x[0]]
    assert pytest.approx([0.3, 0.4]) in lines
    assert pytest.approx([0.15, 0.15]) in lines
    assert [one.value for one in costs(table)] == pytest.approx([0.1, 0.1])


def test_a_training_is_drawn_over_its_epochs():
    table = pd.DataFrame({"epoch": [0, 1], "training pairs": [2.0, 1.0], "validation": [2.1, 1.5]})
    drawn = Adaptation().plot(table).draw("dark").data
    assert [list(one.y) for one in drawn if one.x[0] is not None] == [[2, 1], [2.1, 1.5]]


def test_kernels_are_drawn_in_their_order_the_first_row_on_top():
    products = {(7, 7): 1.0, (7, 3): 0.2, (3, 7): 0.2, (3, 3): 0.9}
    rows = [{"x": x, "y": y, "product": value} for (x, y), value in products.items()]
    named = {"when": "before", "what": "a", "title": "A", "alignment": 0.25}
    figure = kernel_plot(pd.DataFrame(rows).assign(**named), "cosine").draw("light")
    (square,) = figure.data
    assert square.hovertext.tolist() == [
        ["3 and 7: cosine 0.2", "3 and 3: cosine 0.9"],
        ["7 and 7: cosine 1", "7 and 3: cosine 0.2"],
    ]
    assert "alignment 0.250" in figure.layout.annotations[0].text
