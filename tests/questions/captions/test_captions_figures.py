"""What captions' tables say and how they are drawn, over small tables whose numbers are known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.questions.captions import CaptionAlignment, facts_findings
from core.study.parts import Comparison

QUESTION = CaptionAlignment()


def means(**changed: object) -> pd.DataFrame:
    """Return alignment by level with three targets: it rises, falls, and neither."""
    rows = [
        {"model_y": name, "level": level, "words": words, "mean": 0.1 + 0.01 * place}
        for name in ("a", "b", "c")
        for place, (level, words) in enumerate({"5": 6.0, "10": 11.0, "40": 41.0}.items())
    ]
    trends = pd.DataFrame(
        {
            "slope": [0.01, -0.02, 0.001],
            "low": [0.005, -0.03, -0.01],
            "high": [0.015, -0.01, 0.02],
            "rho": [0.9, -0.8, 0.1],
            "p_adjusted": [0.01, 0.02, 0.4],
        },
        index=["a", "b", "c"],
    )
    about = {"deviation": 0.02, "chance": 0.01, "models": 3, "families": 2, "paired": 3}
    table = pd.DataFrame(rows).join(trends, on="model_y").assign(**about, reason="", parameters=1e5)
    return table.assign(title=table["model_y"], group=table["model_y"], **changed)


def verdicts(table: pd.DataFrame, question: CaptionAlignment = QUESTION) -> list[str]:
    return [one.verdict for one in question._findings(table)]


def test_longer_captions_align_better_worse_or_neither() -> None:
    assert verdicts(means()) == ["supported", "contradicted", "open"]
    assert verdicts(means(p_adjusted=np.nan, slope=np.nan, reason="too few")) == ["unknown"] * 3


def test_a_trend_needs_the_interval_and_the_order_of_levels_to_agree() -> None:
    assert verdicts(means(rho=-0.5))[0] == "open"
    assert verdicts(means(low=-0.1, high=0.1, p_adjusted=0.01)) == ["open"] * 3


def test_if_low_scores_are_aligned_a_falling_slope_supports() -> None:
    distance = CaptionAlignment(comparison=Comparison("shape_angle"))
    assert verdicts(means(), distance) == ["contradicted", "supported", "open"]


def test_a_line_has_the_mean_and_the_deviation_over_language_models() -> None:
    figure = QUESTION.plot(means()).draw("light")
    dots = [trace for trace in figure.data if trace.error_y.array is not None]
    assert len(dots) == 3
    assert list(dots[0].x) == [6.0, 11.0, 41.0]
    assert list(dots[0].y) == pytest.approx([0.10, 0.11, 0.12])
    assert list(dots[0].error_y.array) == pytest.approx([0.02] * 3)


def bins() -> pd.DataFrame:
    rows = [
        (target, level, share, score, count, 0.02, target)
        for target, score in (("x", 0.2), ("y", 0.1))
        for level, share, count in (("5", 0.1, 100), ("5", 0.3, 25), ("40", 0.8, 16))
    ]
    columns = ["model_y", "level", "facts", "score", "stimuli", "chance", "title"]
    return pd.DataFrame(rows, columns=columns)


def test_bins_are_drawn_by_level_with_marks_by_their_stimuli() -> None:
    figure = CaptionAlignment(over="facts").plot(bins()).draw("light")
    dots = [trace for trace in figure.data if trace.mode == "markers" and trace.x[0] is not None]
    assert [list(trace.x) for trace in dots] == [[0.1, 0.3], [0.8], [0.1, 0.3], [0.8]]
    assert dots[0].marker.size[0] > dots[0].marker.size[1]


def test_directions_are_counted_over_levels() -> None:
    rising = bins().assign(score=lambda table: table["facts"])
    claims = [one.claim for one in facts_findings(rising)]
    assert claims[0].endswith("align better at 1 of 1 levels")
    assert "Too few" in facts_findings(rising.head(1))[0].claim


def test_targets_with_which_longer_captions_align_better_are_counted_without_reality():
    table = means()
    table["group"] = table["model_y"].replace("c", "Reality")
    said = QUESTION.verdict(table, QUESTION._findings(table))
    assert said.line == (
        "Longer captions align better with 1 of 2 objectives of vision models, each with q ≤ .010"
        " (median change per doubling = −0.005, n = 2 families)."
    )
