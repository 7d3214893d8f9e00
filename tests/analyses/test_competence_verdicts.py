"""Sentences about competence and alignment: they say what the numbers say, whichever way these go."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.analyses.competence_verdicts import tell_bins, tell_score, tell_training
from core.analyses.correlations import Correlation
from core.analyses.emergence import compare_fits

KINDS = {"all": "all pairs", "same": "both of one objective", "different": "across objectives"}
UNKNOWN = Correlation(np.nan, np.nan, np.nan, np.nan, 3, "at least 5 models expected")


def trends(slope: float, p: float) -> pd.DataFrame:
    rows = [("all", slope, p, ""), ("same", -slope, p, ""), ("different", np.nan, np.nan, "there are none")]
    return pd.DataFrame([row for row in rows for _ in range(2)], columns=["pairs_of", "slope", "p", "trend_reason"])


def test_a_rise_is_told_with_its_numbers_for_every_kind_of_pairs():
    told = tell_bins(trends(0.5, 0.004), KINDS)
    assert told.startswith("All pairs: better models agree more (slope +0.50 from no task to all, p = 0.004, q = 0.004)")
    assert "both of one objective: better models agree less (slope −0.50" in told
    assert "across objectives: no trend can be told, there are none" in told
    assert "q is p adjusted for 2 tests of one question" in told


def test_a_trend_that_is_sure_alone_is_not_where_it_is_one_of_several_tests():
    rows = [("all", 0.3, 0.12, ""), ("same", -0.6, 0.33, ""), ("different", 0.4, 0.028, "")]
    three = pd.DataFrame(rows, columns=["pairs_of", "slope", "p", "trend_reason"])
    assert "across objectives: no trend beyond doubt (slope +0.40 from no task to all, p = 0.028, q = 0.084)" in tell_bins(
        three, KINDS
    )
    alone = tell_bins(three.assign(p=three["p"].where(three["pairs_of"] == "different")), KINDS)
    assert "across objectives: better models agree more (slope +0.40 from no task to all, p = 0.028, q = 0.028)" in alone
    assert "tests of one question" not in alone


def test_no_sure_trend_is_none_and_a_metric_that_is_low_where_aligned_turns_the_sense():
    assert "All pairs: no trend beyond doubt (slope +0.50" in tell_bins(trends(0.5, 0.2), KINDS)
    assert "All pairs: better models agree less (slope +0.50" in tell_bins(trends(0.5, 0.01), KINDS, turned=True)


def fits(y: np.ndarray) -> pd.DataFrame:
    return compare_fits(np.linspace(0, 1, len(y)), y)


LINE = np.linspace(0, 1, 24) + 0.02 * np.cos(np.arange(24))
EMERGES = np.maximum(0, np.linspace(-1, 1, 24)) + 0.01 * np.cos(np.arange(24))


@pytest.mark.parametrize(
    ("low", "high", "turned", "said"),
    [
        (0.4, 0.9, False, "score better (ρ = 0.70, 95 % interval 0.40 to 0.90, 24 models), as in the published work"),
        (-0.9, -0.4, False, "score worse (ρ = 0.70, 95 % interval −0.90 to −0.40, 24 models), against the published work"),
        (-0.2, 0.9, False, "does not go with the score beyond doubt"),
        (-0.9, -0.4, True, "score better"),
        (0.4, 0.9, True, "score worse"),
    ],
)
def test_the_order_is_told_by_its_interval(low, high, turned, said):
    order = Correlation(0.7, low, high, 0.01, 24)
    assert said in tell_score(order, UNKNOWN, fits(LINE), turned=turned)


def test_what_size_tells_is_said():
    order = Correlation(0.7, 0.4, 0.9, 0.01, 24)
    assert "more than size alone tells (r = 0.50" in tell_score(order, Correlation(0.5, 0.1, 0.8, 0.01, 24), fits(LINE))
    assert "Size alone may tell as much" in tell_score(order, Correlation(0.1, -0.3, 0.5, 0.6, 24), fits(LINE))
    exact = Correlation(1.0, np.nan, np.nan, 0.0, 24, "what is left lies on a line")
    assert "Given their sizes, what is left lies on a line (r = 1.00)" in tell_score(order, exact, fits(LINE))
    assert "cannot be told: at least 5 models expected" in tell_score(order, UNKNOWN, fits(LINE))


def test_a_line_is_no_emergence_a_bend_upward_is_one_and_a_bend_downward_is_not():
    assert "no sign of emergence." in tell_score(UNKNOWN, UNKNOWN, fits(LINE))
    told = tell_score(UNKNOWN, UNKNOWN, fits(EMERGES))
    assert "A broken stick tells models left out better than a line" in told
    assert "the score gets steeper." in told
    assert "too few" not in told
    assert "gets flatter, which is no emergence" in tell_score(UNKNOWN, UNKNOWN, fits(-EMERGES[::-1]))


def test_few_models_are_a_caution_and_too_few_are_not_compared():
    told = tell_score(UNKNOWN, UNKNOWN, fits(EMERGES[::3]))
    assert "8 models are too few to tell it from luck, but beyond an alignment of" in told
    assert "the score may get steeper." in told
    assert "no sign of emergence, though 8 models are too few to rule it out." in tell_score(UNKNOWN, UNKNOWN, fits(LINE[::3]))
    told = tell_score(UNKNOWN, UNKNOWN, fits(np.arange(3.0)))
    assert "A line and a broken stick cannot be compared: a comparison of fits needs at least 6 models" in told


def test_trainings_that_end_higher_are_counted_by_target_reality_first():
    rows = [("a", 1, "trained vision models", 0.1), ("a", 9, "trained vision models", 0.3), ("b", 1, "reality", 0.2),
            ("b", 9, "reality", 0.1), ("a", 1, "reality", 0.1), ("a", 9, "reality", 0.2), ("c", 1, "reality", 0.2)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["run", "step", "target", "score"])
    reality, vision = "with reality in 1 of 2 trainings", "with trained vision models in 1 of 1 trainings"
    assert tell_training(table) == f"The last checkpoint is more aligned than the first {reality}, {vision}."
    assert "trained vision models in 0 of 1" in tell_training(table, turned=True)
    assert tell_training(table.iloc[-1:]) == "No training has two checkpoints to compare."
