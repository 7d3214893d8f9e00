"""What the trend says, against rows written by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from core.encoders.encoder import REALITY
from core.questions.alignment.findings import KIN, pair_findings, trend_findings

SKILL = np.linspace(0.3, 0.6, 8)

CLAIM = "better language models agree more with vision models"
MORE, LESS = f"B{CLAIM[1:]} here. ", f"B{CLAIM[1:]} here. ".replace("more", "less")


def tables(scores: np.ndarray) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the points of as many language models as there are scores, compared with two vision
    models, one of their checkpoints and reality, and all models.
    """
    targets = {"vit-a": "MAE", "vit-b": "MAE", "vit-b-step9": "MAE", REALITY: REALITY}
    language = [f"gpt-{place}" for place in range(len(scores))]
    points = pd.DataFrame(
        {
            "model_x": x,
            "model_y": y,
            "facet": facet,
            "axis": skill,
            "score": score + (0.01 if y == "vit-b" else 5.0 if y == "vit-b-step9" else 0.0),
        }
        for x, score, skill in zip(language, scores, SKILL, strict=False)
        for y, facet in targets.items()
    )
    kinds = ["language"] * len(language) + ["vision"] * 3 + ["world"]
    models = pd.DataFrame({"model": [*language, *targets], "modality": kinds, "group": "a"})
    return points, models.assign(
        family=models["model"],
        copy=models["model"] == "vit-b-step9",
        objective="some",
        recipe=models["model"],
    )


def test_better_models_that_agree_more_are_found_with_effect_interval_and_number():
    scores = 0.1 + SKILL**2
    scores[[2, 3]] = scores[[3, 2]]
    verdict, caveat = trend_findings(*tables(scores), aligned_high=True)
    assert verdict.startswith(MORE)
    assert f"is {spearmanr(SKILL, scores).statistic:.2f} (95 % interval " in verdict
    assert "with 2 vision models" in verdict
    assert verdict.endswith("8 language models).")
    assert caveat == KIN
    points, models = tables(scores)
    (related,) = trend_findings(points, models.assign(family="f"), aligned_high=True)
    assert related.endswith("there are 8 of 1 family.")
    one = points[points["model_y"] == "vit-a"]
    assert "with 1 vision model is" in trend_findings(one, models, aligned_high=True)[0]


def test_over_models_of_unknown_family_the_verdict_is_open():
    points, models = tables(SKILL)
    said = trend_findings(points, models.assign(family="imported"), aligned_high=True)[0]
    assert "is open: 8 models are of unknown family (gpt-0, gpt-1, gpt-2 …)" in said


def test_the_direction_is_that_of_alignment_also_where_low_is_aligned():
    points, models = tables(SKILL)
    assert trend_findings(points, models, aligned_high=False)[0].startswith(LESS)
    falling, models = tables(-SKILL)
    assert trend_findings(falling, models, aligned_high=True)[0].startswith(LESS)
    assert trend_findings(falling, models, aligned_high=False)[0].startswith(MORE)


def test_models_without_a_place_on_the_axis_are_counted():
    points, models = tables(0.1 + SKILL**2)
    points["axis"] = points["axis"].where(points["model_x"] != "gpt-0")
    assert trend_findings(points, models, aligned_high=True)[0].endswith(
        "7 language models; 1 without competence)."
    )


def test_the_most_aligned_model_and_the_pairs_beyond_chance_are_said():
    points = pd.DataFrame(
        {
            "title_y": ["A", "A", "B", "B", "world"],
            "facet": ["MAE", "MAE", "CLIP", "CLIP", REALITY],
            "score": [0.1, 0.3, 0.3, 0.4, 0.9],
        }
    )
    said = pair_findings(points, aligned_high=True)
    assert said[0] == "Most aligned with the language models on average: B (0.350)."
    assert "Permutations" in said[1]
    assert "average: A (0.200)" in pair_findings(points, aligned_high=False)[0]
    tested = points.assign(p_adjusted=[0.2, 0.01, 0.04, np.nan, 0.001])
    assert pair_findings(tested, aligned_high=True)[1] == (
        "2 of 3 pairs are aligned beyond chance (p < 0.05, adjusted for all of them)."
    )
    assert pair_findings(points.head(0), aligned_high=True) == []
