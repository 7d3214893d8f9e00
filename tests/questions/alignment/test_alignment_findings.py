"""The test of the trend, against rows written by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from core.encoders.encoder import REALITY
from core.questions.alignment.axes import AXES, trend_points
from core.questions.alignment.question import Alignment, trend_findings
from core.questions.finding import Finding
from core.study.parts import Comparison

SKILL = np.linspace(0.3, 0.6, 8)


def tables(scores: np.ndarray) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return pairs of as many language models as there are scores with two vision models, one of
    their checkpoints and reality, and all models.
    """
    targets = ["vit-a", "vit-b", "vit-b-step9", REALITY]
    language = [f"gpt-{place}" for place in range(len(scores))]
    pairs = pd.DataFrame(
        {
            "model_x": x,
            "model_y": y,
            "axis": skill,
            "score": score + (0.01 if y == "vit-b" else 5.0 if y == "vit-b-step9" else 0.0),
        }
        for x, score, skill in zip(language, scores, SKILL, strict=False)
        for y in targets
    )
    kinds = ["language"] * len(language) + ["vision"] * 3 + ["world"]
    models = pd.DataFrame({"model": [*language, *targets], "modality": kinds, "group": "a"})
    models.loc[models["model"] == REALITY, "group"] = REALITY
    return pairs, models.assign(
        title=models["model"],
        parameters=1.0,
        family=models["model"],
        copy=models["model"] == "vit-b-step9",
        objective="some",
        recipe=models["model"],
    )


def found(pairs: pd.DataFrame, models: pd.DataFrame, metric: str = "mutual_knn") -> Finding:
    question = Alignment(comparison=Comparison.of(metric, {}))
    points = trend_points(pairs, models)
    return trend_findings(points, question, AXES["competence"], models)[0]


def test_better_models_that_agree_more_are_found_with_effect_interval_and_number():
    scores = 0.1 + SKILL**2
    scores[[2, 3]] = scores[[3, 2]]
    pairs, models = tables(scores)
    trend = found(pairs, models)
    assert trend.value == pytest.approx(spearmanr(SKILL, scores).statistic)
    assert trend.low < trend.value <= trend.high
    assert (trend.n, trend.verdict) == (8, "supported")
    related = found(pairs, models.assign(family="f"))
    assert related.verdict == "unknown"
    assert related.reason.endswith("there are 8 of 1 family")


def test_over_models_of_unknown_family_the_verdict_is_open():
    pairs, models = tables(SKILL)
    trend = found(pairs, models.assign(family="imported"))
    assert trend.verdict == "open"
    assert "8 models are of unknown family (gpt-0, gpt-1, gpt-2 …)" in trend.note


def test_the_direction_is_that_of_alignment_also_if_low_is_aligned():
    rising, falling = tables(SKILL), tables(-SKILL)
    assert found(*rising, "shape_angle").verdict == "contradicted"
    assert found(*falling).verdict == "contradicted"
    assert found(*falling, "shape_angle").verdict == "supported"


def test_models_without_a_place_on_the_axis_are_counted():
    pairs, models = tables(0.1 + SKILL**2)
    pairs["axis"] = pairs["axis"].where(pairs["model_x"] != "gpt-0")
    trend = found(pairs, models)
    assert trend.n == 7
    assert "1 with unknown competence" in trend.note
