"""What tables of competence and alignment say, whichever way the numbers go."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.questions.competence.question import (
    Bins,
    Downstream,
    Training,
    emergence,
    training_findings,
)
from core.statistics.emergence import compare_fits
from core.study.parts import Comparison


def bins(*rows: tuple[str, float, float, float, str]) -> pd.DataFrame:
    names = ["pairs_of", "slope", "p", "q", "trend_reason"]
    table = pd.DataFrame(rows, columns=names).assign(groups=5, basis="share of tasks solved")
    numbers = {"low": 0.2, "high": 0.4, "models": 2, "pairs": 1, "mean": 0.4, "se": 0.05, "bin": 1}
    return table.assign(**numbers, se_pairs=0.01, reason="")


def verdicts(table: pd.DataFrame, metric: str = "mutual_knn") -> list[str]:
    return [one.verdict for one in Bins(comparison=Comparison(metric))._findings(table)]


def test_a_trend_is_judged_by_its_p_adjusted_for_all_kinds_of_pairs():
    table = bins(
        ("all", 0.3, 0.01, 0.03, ""),
        ("same", -0.6, 0.01, 0.03, ""),
        ("different", 0.4, 0.028, 0.084, ""),
    )
    assert verdicts(table) == ["supported", "contradicted", "open"]
    assert verdicts(table, "shape_angle") == ["contradicted", "supported", "open"]


def test_a_trend_over_unknown_families_is_open_and_one_without_pairs_unknown():
    table = bins(
        ("all", 0.3, 0.01, 0.03, "1 model is of unknown family"),
        ("same", np.nan, np.nan, np.nan, "there are none"),
    )
    assert verdicts(table) == ["open", "unknown"]
    assert Bins()._findings(bins())[0].claim.startswith("No model's competence was measured")


def test_bins_are_means_with_errors_at_the_middle_of_each_bin():
    figure = Bins().plot(bins(("all", 0.3, 0.01, 0.03, ""))).draw("light")
    dots = next(trace for trace in figure.data if trace.error_y.array is not None)
    assert list(dots.x) == pytest.approx([0.3])
    assert list(dots.error_y.array) == pytest.approx([0.05])
    assert list(dots.error_x.array) == pytest.approx([0.1])


EMERGES = np.maximum(0, np.linspace(-1, 1, 24)) + 0.01 * np.cos(np.arange(24))
TENT = -np.abs(np.linspace(-1, 1, 24)) + 0.01 * np.cos(np.arange(24))
LINE = np.linspace(0, 1, 24) + 0.02 * np.cos(np.arange(24))


@pytest.mark.parametrize(
    ("y", "lows", "verdict"),
    [
        (EMERGES, {}, "supported"),
        (-EMERGES, {"turned": True}, "supported"),
        (EMERGES[::-1], {"low_aligned": True, "turned": True}, "supported"),
        (-EMERGES[::-1], {"low_aligned": True}, "supported"),
        (-EMERGES[::-1], {}, "open"),
        (TENT, {}, "open"),
        (-2 * EMERGES, {}, "open"),
        (LINE, {}, "open"),
        (LINE[:3], {}, "unknown"),
    ],
)
def test_a_score_emerges_if_a_stick_wins_and_bends_upward(y, lows, verdict):
    assert emergence(compare_fits(np.linspace(0, 1, len(y)), y), **lows).verdict == verdict


def scored(sign: float, unit: str = "%") -> pd.DataFrame:
    dice = np.random.default_rng(0)
    near = np.linspace(0, 1, 24)
    return pd.DataFrame(
        {
            "model": [f"m{place}" for place in range(24)],
            "near": near,
            "chance": 0.01,
            "reason": "",
            "title": "M",
            "family": [f"f{place}" for place in range(24)],
            "group": "g",
            "modality": "language",
            "parameters": 10 ** (5 + dice.random(24)),
            "value": sign * near + 0.05 * dice.random(24),
            "rank": near,
            "line": near,
            "stick": near,
            "task": "t",
            "origin": "user",
            "unit": unit,
        }
    )


@pytest.mark.parametrize(
    ("sign", "unit", "metric", "verdict"),
    [
        (1, "%", "mutual_knn", "supported"),
        (-1, "%", "mutual_knn", "contradicted"),
        (-1, "bits per byte", "mutual_knn", "supported"),
        (-1, "%", "shape_angle", "supported"),
        (1, "bits per byte", "shape_angle", "supported"),
    ],
)
def test_the_order_turns_with_what_is_low(sign, unit, metric, verdict):
    table = scored(sign, unit).assign(own=[f"m{place}" for place in range(24)])
    fits = compare_fits(table["near"].to_numpy(), table["value"].to_numpy())
    order, partial, _ = Downstream(comparison=Comparison(metric))._findings(table, fits)
    assert order.verdict == partial.verdict == verdict


def test_scores_are_dots_in_the_color_of_their_rank_with_both_fits():
    figure = Downstream(target="reality").plot(scored(1)).draw("light")
    dots = next(
        trace for trace in figure.data if trace.mode == "markers" and trace.x[0] is not None
    )
    assert list(dots.marker.color) == pytest.approx(np.linspace(0, 1, 24))
    lines = [trace for trace in figure.data if trace.mode == "lines" and trace.x[0] is not None]
    assert len(lines) == 2


def test_an_unscored_last_checkpoint_is_not_replaced_by_the_one_before():
    rows = [
        ("a", 1, "reality", 0.1),
        ("a", 5, "reality", 0.2),
        ("a", 9, "reality", np.nan),
        ("b", 1, "reality", 0.1),
        ("b", 9, "reality", 0.2),
        ("c", 1, "reality", 0.1),
        ("c", 9, "vision", 0.2),
    ]
    table = pd.DataFrame(rows, columns=["run", "step", "target", "score"])
    (found,) = training_findings(table)
    assert found.claim.endswith("with reality in 1 of 1 trainings")
    none = pd.DataFrame(columns=list(Training.columns))
    assert "No training has two" in Training().plot(none).draw("light").layout.annotations[0].text
