"""What the findings say of a trend over k, from tables whose ranks are known."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.questions.metrics.findings import trend_findings

SKILL = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]


def points(**scores) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"metric": "mutual_knn", "k": int(k[1:]), "model": f"m{i}", "competence": x, "score": y}
            for k, column in scores.items()
            for i, (x, y) in enumerate(zip(SKILL, column, strict=True))
        ]
    )


def test_a_trend_at_every_k_is_named_with_its_range():
    (said,) = trend_findings(points(k2=SKILL, k1000=[0.1, 0.3, 0.2, 0.5, 0.4, 0.6]))
    assert said == (
        "Mutual k-NN: alignment rises with competence at every k (Spearman 0.89 (k = 1,000) to"
        " 1.00 (k = 2), 6 models), beyond chance at 2 of 2 sizes."
    )


def test_a_falling_and_a_turning_trend_are_told_apart():
    (falls,) = trend_findings(points(k2=SKILL[::-1]))
    assert "alignment falls with competence at every k (Spearman −1.00" in falls
    (turns,) = trend_findings(points(k2=SKILL, k5=SKILL[::-1]))
    assert "whether alignment rises with competence depends on k" in turns


def test_p_is_adjusted_over_the_sizes():
    """What is sure by itself at one size is not among ten."""
    weak = [0.1, 0.2, 0.4, 0.3, 0.6, 0.5]
    weaker = [0.2, 0.1, 0.6, 0.3, 0.5, 0.4]
    (said,) = trend_findings(points(k2=weak, **{f"k{k}": weaker for k in range(3, 12)}))
    assert "beyond chance at 0 of 10 sizes" in said
    (alone,) = trend_findings(points(k2=weak))
    assert "beyond chance at 1 of 1 size" in alone


def test_too_few_models_give_a_reason():
    few = points(k2=[*SKILL[:3], np.nan, np.nan, np.nan])
    assert trend_findings(few) == [
        "Mutual k-NN: no trend can be judged, since a fit needs at least 5 models with both values;"
        " there are 3."
    ]
