"""Sentences about competence and alignment: they say what the numbers say, whichever way these
go.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.questions.competence.findings import describe_bins, describe_score, describe_training
from core.questions.competence.prediction import Prediction
from core.statistics.correlations import Correlation
from core.statistics.emergence import compare_fits

KINDS = {"all": "all pairs", "same": "both of one objective", "different": "across objectives"}
UNKNOWN = Correlation(np.nan, np.nan, np.nan, np.nan, 3, "at least 5 models expected")


def trends(slope: float, p: float) -> pd.DataFrame:
    rows = [
        ("all", slope, p, ""),
        ("same", -slope, p, ""),
        ("different", np.nan, np.nan, "there are none"),
    ]
    table = pd.DataFrame(
        [row for row in rows for _ in range(2)], columns=["pairs_of", "slope", "p", "trend_reason"]
    ).assign(basis="shares")
    return table.assign(groups=5)


def test_a_trend_that_is_sure_alone_is_not_where_it_is_one_of_several_tests():
    rows = [("all", 0.3, 0.12, ""), ("same", -0.6, 0.33, ""), ("different", 0.4, 0.028, "")]
    three = pd.DataFrame(rows, columns=["pairs_of", "slope", "p", "trend_reason"]).assign(
        groups=1, basis="shares"
    )
    assert (
        "across objectives: no significant trend (slope +0.40 from 0 to 1, p = 0.028, q ="
        " 0.084)" in describe_bins(three, KINDS)
    )
    alone = describe_bins(three.assign(p=three["p"].where(three["pairs_of"] == "different")), KINDS)
    assert (
        "across objectives: better models agree more (slope +0.40 from 0 to 1, p = 0.028, q"
        " = 0.028)" in alone
    )
    assert "tests of one question" not in alone
    assert "p treats 1 group as independent" in alone


def test_no_sure_trend_is_none_and_a_metric_that_is_low_where_aligned_turns_the_sense():
    assert "shares: all pairs: no significant trend (slope +0.50" in describe_bins(
        trends(0.5, 0.2), KINDS
    )
    assert "shares: all pairs: better models agree less (slope +0.50" in describe_bins(
        trends(0.5, 0.01), KINDS, turned=True
    )


def fits(y: np.ndarray) -> pd.DataFrame:
    return compare_fits(np.linspace(0, 1, len(y)), y)


LINE = np.linspace(0, 1, 24) + 0.02 * np.cos(np.arange(24))
EMERGES = np.maximum(0, np.linspace(-1, 1, 24)) + 0.01 * np.cos(np.arange(24))


@pytest.mark.parametrize(
    ("value", "p", "lows", "said"),
    [
        (
            0.7,
            0.01,
            {},
            "score better (ρ = 0.70, 95 % interval 0.40 to 0.90, 24 models).",
        ),
        (
            -0.7,
            0.01,
            {},
            "score worse (ρ = −0.70, 95 % interval −0.90 to −0.40, 24 models).",
        ),
        (0.7, 0.127, {}, "score show no significant correlation"),
        (-0.7, 0.01, {"low_aligned": True}, "score better"),
        (0.7, 0.01, {"low_better": True}, "score worse"),
        (0.7, 0.01, {"low_aligned": True, "low_better": True}, "score better"),
    ],
)
def test_the_order_is_told_by_its_interval_and_its_p(value, p, lows, said):
    low, high = sorted((value - 0.3 * np.sign(value), value + 0.2 * np.sign(value)))
    order = Correlation(value, low, high, p, 24)
    sentence = describe_score(Prediction(order, UNKNOWN, fits(LINE)), **lows)
    assert said in sentence


BETTER, WORSE = Correlation(0.7, 0.4, 0.9, 0.01, 24), Correlation(-0.7, -0.9, -0.4, 0.01, 24)


def test_what_is_left_given_size_turns_with_what_is_low():
    assert "given size, more aligned ones score better (r = −0.70" in describe_score(
        Prediction(WORSE, WORSE, fits(LINE)), low_better=True
    )


STEEPER, NONE = (
    "improves more steeply.",
    "bends, but not into a steeper improvement, which is not emergence.",
)
TENT = -np.abs(np.linspace(-1, 1, 24)) + 0.01 * np.cos(np.arange(24))


@pytest.mark.parametrize(
    ("y", "lows", "said"),
    [
        (EMERGES, {}, STEEPER),
        (-EMERGES, {"low_better": True}, STEEPER),
        (EMERGES[::-1], {"low_aligned": True}, STEEPER),
        (-EMERGES[::-1], {"low_aligned": True, "low_better": True}, STEEPER),
        (-EMERGES[::-1], {}, NONE),
        (-EMERGES, {"low_aligned": True}, NONE),
        (TENT, {}, NONE),
        (-2 * EMERGES, {}, NONE),
        (-TENT + np.linspace(0, -0.5, 24), {}, NONE),
    ],
)
def test_a_bend_is_told_by_what_it_means_toward_alignment(y, lows, said):
    sentence = describe_score(Prediction(UNKNOWN, UNKNOWN, fits(y)), **lows)
    assert (
        "A broken stick predicts left-out models better than a line, by more than one standard"
        " error (error " in sentence
    )
    assert f"the score {said}" in sentence
    assert "too few" not in sentence


def test_an_unscored_last_checkpoint_is_not_replaced_by_the_one_before():
    rows = [
        ("a", 1, "reality", 0.1),
        ("a", 5, "reality", 0.2),
        ("a", 9, "reality", np.nan),
        ("b", 1, "reality", 0.1),
        ("b", 9, "reality", 0.2),
        ("c", 1, "reality", 0.1),
        ("c", 5, "reality", 0.2),
        ("c", 9, "vision", 0.2),
    ]
    table = pd.DataFrame(rows, columns=["run", "step", "target", "score"])
    assert (
        describe_training(table)
        == "The last checkpoint is more aligned than the first with reality in 1 of 1 trainings."
    )
