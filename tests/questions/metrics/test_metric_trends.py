"""Alignment by each metric is the study's own; correlations with competence, and what they say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from core.errors import MetricError
from core.metrics.catalog import PRINTED
from core.questions.asking import answer, ask
from core.questions.metrics.question import (
    MetricTrends,
    add_trends,
    compare_metrics,
    trend_finding,
)
from core.store import Store
from core.study.comparing import align_models
from core.study.parts import Comparison, LayerRule
from core.study.study import Study
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build

METRICS_ASKED = ("cka", "mutual_knn", "shape_angle")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    root = tmp_path_factory.mktemp("store")
    kinds = {"vision": VISION[:2], "language": LANGUAGE[:3], "reality": False}
    return Study(Store(build(root, PaintedDataset(40), **kinds)), "cave")


def test_each_metric_aligns_as_the_study_does_with_the_layers_that_are_asked_for(study):
    rule = LayerRule(candidates="paper")
    table = ask(MetricTrends(metrics=METRICS_ASKED, k=4, rule=rule), study)
    assert table["metric"].unique().tolist() == list(METRICS_ASKED)
    skill = study.competence().set_index("model")["value"]
    assert (table["competence"] == table["model_x"].map(skill)).all()
    x, y = (table[side].unique().tolist() for side in ("model_x", "model_y"))
    for metric, k in (("cka", None), ("mutual_knn", 4), ("shape_angle", None)):
        own = align_models(study, x, y, Comparison(metric, k=k, candidates="paper"))
        rows = table[table["metric"] == metric].reset_index(drop=True)
        pd.testing.assert_frame_equal(rows[own.columns[:5]], own[own.columns[:5]])


def test_usual_are_the_papers_eight_and_what_cannot_be_is_refused(study):
    with pytest.raises(MetricError, match="choose best, or as released"):
        ask(MetricTrends(rule=LayerRule("last", "paper")), study)
    with pytest.raises(MetricError, match="k must"):
        ask(MetricTrends(k=40), study)
    table = ask(MetricTrends(y=("vit-mae-s",), k=3, rule=LayerRule("last")), study)
    assert table["metric"].unique().tolist() == list(PRINTED)


SKILL = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]


def trends(metric: str = "mutual_knn", **scores: list[float]) -> pd.DataFrame:
    """Return trends of scores by k, such as k2, over competence."""
    rows = [
        {"metric": metric, "k": int(k[1:]), "model": f"m{i}", "competence": x, "score": y}
        for k, column in scores.items()
        for i, (x, y) in enumerate(zip(SKILL, column, strict=True))
    ]
    return add_trends(pd.DataFrame(rows), ["metric", "k"], {}, "competence")


def test_the_correlation_is_that_of_means_over_the_models_compared_with(study):
    answered = answer(MetricTrends(metrics=METRICS_ASKED, k=4), study)
    for metric, rows in answered.table.groupby("metric"):
        means = rows.groupby("model_x")[["competence", "score"]].mean()
        turn = -1 if metric == "shape_angle" else 1
        few = len(means) < 5
        assert rows["no_trend"].str.startswith("a fit needs at least 5 models").all() == few
        rho = np.nan if few else turn * stats.spearmanr(*means.to_numpy().T).statistic
        assert rows["rho"].unique() == pytest.approx([rho], nan_ok=True)
    [finding] = answered.findings
    assert finding.verdict == "unknown"


def test_a_trend_at_every_k_is_supported_by_its_least_correlation():
    table = trends(k2=SKILL, k1000=[0.1, 0.3, 0.2, 0.5, 0.4, 0.6])
    found = trend_finding("it rises", table, "k")
    assert found.value == pytest.approx(stats.spearmanr(SKILL, [1, 3, 2, 5, 4, 6]).statistic)
    assert found.p == pytest.approx(table["p_adjusted"].max())
    assert (found.n, found.verdict) == (6, "supported")
    assert "ρ from 0.89 (1000) to 1.00 (2); significant for 2 of 2" in found.note


def test_a_trend_that_falls_at_one_k_is_contradicted_there():
    for table in (trends(k2=SKILL[::-1]), trends(k2=SKILL, k5=SKILL[::-1])):
        found = trend_finding("it rises", table, "k")
        assert (found.value, found.verdict) == (-1.0, "contradicted")


def test_p_is_adjusted_over_the_sizes():
    """What is sure by itself at one size is not among ten."""
    weak = [0.1, 0.2, 0.4, 0.3, 0.6, 0.5]
    weaker = [0.2, 0.1, 0.6, 0.3, 0.5, 0.4]
    table = trends(k2=weak, **{f"k{k}": weaker for k in range(3, 12)})
    assert trend_finding("it rises", table, "k").verdict == "open"
    assert trend_finding("it rises", trends(k2=weak), "k").verdict == "supported"


def test_too_few_models_give_a_reason():
    found = trend_finding("it rises", trends(k2=[*SKILL[:3], np.nan, np.nan, np.nan]), "k")
    assert found.verdict == "unknown"
    assert found.reason == "a fit needs at least 5 models with both values; there are 3"


def test_metrics_that_rise_and_that_do_not_are_named():
    trends = pd.DataFrame(
        {
            "metric": ["cka", "mutual_knn", "svcca", "cknna"],
            "rho": [0.82, 0.77, 0.1, np.nan],
            "q": [0.01, 0.039, 0.8, np.nan],
            "n": 9,
        }
    )
    assert [one.line for one in compare_metrics(trends, "language models")] == [
        "Better models align more by mutual k-NN and CKA, each with q ≤ .039"
        " (least ρ = 0.77, n = 9 language models).",
        "No significant rise by SVCCA (largest ρ = 0.10, q = .80, n = 9 language models).",
    ]
    (falls,) = compare_metrics(trends.assign(rho=-trends["rho"]).iloc[:2], "models")
    assert (
        falls.line
        == "No significant rise by CKA and mutual k-NN (largest ρ = −0.77, q = .039, n = 9)."
    )
    assert compare_metrics(trends.iloc[3:], "models") == []
