"""Figures of predictors and words from small tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.figures.theme import INK
from core.questions.dispersion.prediction.figures import importances, words


def predictors(**changed) -> pd.DataFrame:
    rows = [
        ("image", "bright <b>", 1, 0.2, 0.1, 0.3, 0.4, "Spearman", 0.001, 50, "", 0.002),
        ("factor", "scene", 1, 0.01, -0.02, 0.04, np.nan, "Kruskal-Wallis", 0.3, 50, "", 0.3),
        ("factor", "count", 1, -0.01, -0.02, 0.0, 0.1, "Spearman", 0.2, 40, "", 0.3),
        (
            "factor",
            "id",
            1,
            np.nan,
            np.nan,
            np.nan,
            np.nan,
            "",
            np.nan,
            50,
            "no two <values>",
            np.nan,
        ),
        ("factor", "all together", 2, 0.02, 0.01, 0.03, np.nan, "", np.nan, 50, "", np.nan),
    ]
    columns = [
        "kind",
        "predictor",
        "covers",
        "importance",
        "low",
        "high",
        "spearman",
        "test",
        "p",
        "n",
        "reason",
        "p_adjusted",
    ]
    return pd.DataFrame(rows, columns=columns).assign(r2=0.2, r2_low=0.1, r2_high=0.3, **changed)


def counted() -> pd.DataFrame:
    rows = [
        ("owl <i>", 2, 8, 0.2, 0.001, 0.01),
        ("fog" * 20, 6, 1, np.inf, 0.02, 0.06),
        ("a", 5, 5, 1.0, 1.0, 1.0),
    ]
    table = pd.DataFrame(
        rows, columns=["word", "in_low", "in_high", "odds_ratio", "p", "p_adjusted"]
    )
    return table.assign(low=10, high=20)


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("narrow", [False, True])
def test_predictors_stand_in_order_and_whole_kinds_below_them(mode, narrow):
    figure = importances(predictors(), mode=mode, narrow=narrow)
    zero, alone, _, together, _ = figure.data
    assert [name.replace("<br>", " ") for name in figure.layout.yaxis.ticktext] == [
        "bright &lt;b&gt; (image)",
        "scene (factor)",
        "count (factor)",
        "all together (factor)",
    ]
    assert (list(alone.y), list(together.y)) == ([0, 1, 2], [3])
    assert list(figure.layout.yaxis.range) == [3.5, -0.5]  # the first on top
    assert list(alone.x) == [0.2, 0.01, -0.01]
    assert alone.error_x.array.tolist() == pytest.approx([0.1, 0.03, 0.01])
    assert alone.error_x.arrayminus.tolist() == pytest.approx([0.1, 0.03, 0.01])
    assert list(alone.marker.color) == [INK[mode].ember, INK[mode].paper, INK[mode].paper]
    assert figure.layout.shapes[0].y0 == 2.5
    assert zero.line.dash == "dot"


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_words_lie_to_the_side_of_the_set_that_has_them_more_often(mode):
    figure = words(counted(), mode=mode)
    assert [trace.name for trace in figure.data if trace.showlegend is not False] == [
        "more in the low set",
        "more in the high set",
    ]
    _, low, _, high, _ = figure.data
    assert list(low.x) == pytest.approx([6 / 10 - 1 / 20, 5 / 10 - 5 / 20])
    assert list(high.x) == pytest.approx([2 / 10 - 8 / 20])
    assert list(low.marker.color) == [INK[mode].paper] * 2
    assert list(high.marker.color) == [INK[mode].ember]
    assert figure.layout.yaxis.ticktext == ("fogfogfogfogfogfogfogfo…", "a", "owl &lt;i&gt;")
    assert "in 2 of 10 low and 8 of 20 high captions" in high.hovertext[0]
    assert "odds ratio inf" in low.hovertext[0]
