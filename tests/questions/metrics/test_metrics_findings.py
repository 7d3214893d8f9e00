"""What the findings say of metrics and of a trend over k, from tables whose ranks are known."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.questions.metrics.findings import agreement_findings, trend_findings
from core.questions.metrics.question import MetricAgreement

SKILL = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]


def points(**scores) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"metric": "mutual_knn", "k": int(k[1:]), "model": f"m{i}", "competence": x, "score": y}
            for k, column in scores.items()
            for i, (x, y) in enumerate(zip(SKILL, column, strict=True))
        ]
    ).assign(line=lambda rows: rows["model"])


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
    assert "no correlation of alignment and competence beyond chance (Spearman" in said
    (alone,) = trend_findings(points(k2=weak))
    assert "beyond chance at 1 of 1 size" in alone


def test_too_few_models_give_a_reason():
    few = points(k2=[*SKILL[:3], np.nan, np.nan, np.nan])
    assert trend_findings(few) == [
        "Mutual k-NN: no trend can be judged, since a fit needs at least 5 models with both values;"
        " there are 3."
    ]


def agreement(**values: float) -> pd.DataFrame:
    """Return a table of agreement by `x__y`, both ways round, and of each metric with itself."""
    names = list(dict.fromkeys(name for pair in values for name in pair.split("__")))
    rows = [(name, name, 1.0, 10, "") for name in names]
    for pair, value in values.items():
        x, y = pair.split("__")
        why = "too few pairs" if np.isnan(value) else ""
        rows += [(x, y, value, 10, why), (y, x, value, 10, why)]
    columns = ["metric_x", "metric_y", "spearman", "pairs", "reason"]
    return pd.DataFrame(rows, columns=columns).assign(left_out="")


def test_metrics_agree_by_the_median_over_two_and_by_what_they_see():
    table = agreement(
        mutual_knn__cknna=0.9,
        mutual_knn__cka=0.2,
        mutual_knn__rsa=-0.1,
        cknna__cka=0.5,
        cknna__rsa=0.3,
        cka__rsa=0.8,
    )
    assert agreement_findings(MetricAgreement(), table) == [
        "Any two of 4 metrics agree on the ranking of 10 pairs of models with a median Spearman’s ρ"
        " of 0.40 (0.90 between two that see neighborhoods, 0.80 between two that see all pairs of"
        " stimuli, 0.25 across). The two that agree least are mutual k-NN and RSA (−0.10).",
        "Pairs that share a model are not independent, so ρ has no interval here.",
    ]


def test_metrics_that_cannot_be_compared_give_the_reason():
    table = agreement(mutual_knn__cka=np.nan)
    assert agreement_findings(MetricAgreement(), table) == [
        "Whether metrics agree cannot be judged: too few pairs."
    ]
    assert agreement_findings(MetricAgreement(), table[:1]) == [
        "Whether metrics agree cannot be judged: there is one metric alone."
    ]
