"""Metrics over all pairs of models against one call each, and their rankings against Spearman's ρ
by hand.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from core.metrics import METRICS
from core.questions.metrics.question import agreement_findings
from core.questions.metrics.scores import COMPARED, make_engines, rank_agreement, score_pairs
from core.spaces.preprocess import normalize_rows

K = 5


def spaces(models: int = 5, n: int = 40) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    world = rng.standard_normal((n, 4))
    return {
        f"m{i}": np.hstack(
            [world + i * rng.standard_normal((n, 4)) / 2, rng.standard_normal((n, i + 1))]
        )
        for i in range(models)
    }


def scored(**columns: list[float]) -> pd.DataFrame:
    """Return scores of as many pairs as each column has values."""
    rows = [
        (metric, "a", f"b{i}", score, "")
        for metric, scores in columns.items()
        for i, score in enumerate(scores)
    ]
    table = pd.DataFrame(rows, columns=["metric", "model_x", "model_y", "score", "reason"])
    return table.assign(variant=table["metric"])


def by_all(spaces: dict[str, np.ndarray]) -> pd.DataFrame:
    """Return the scores of all metrics with their defaults."""
    engines = make_engines(k=K)
    table = pd.concat([score_pairs(spaces, name, engine) for name, engine in engines.items()])
    return table.assign(variant=table["metric"])


def rho(table: pd.DataFrame, x: str, y: str) -> pd.Series:
    return table[(table["metric_x"] == x) & (table["metric_y"] == y)].iloc[0]


def test_every_metric_scores_every_pair_as_its_function_does():
    models = spaces(3)
    table = by_all(models)
    assert len(table) == 3 * len(COMPARED)
    assert set(table["reason"]) == {""}
    for row in table.itertuples():
        metric = METRICS[row.metric]
        x, y = normalize_rows(models[row.model_x]), normalize_rows(models[row.model_y])
        parameters = {"k": K} if "k" in metric.spec.defaults else {}
        direct = (
            [metric(x, y, **parameters)]
            if metric.spec.symmetric
            else [metric(x, y, **parameters), metric(y, x, **parameters)]
        )
        assert row.score == pytest.approx(np.mean(direct), rel=1e-6, abs=1e-9)


def test_a_refused_model_has_no_score_and_the_metrics_own_words():
    table = by_all({**spaces(2), "flat": np.ones((40, 3))})
    flat = table["model_y"] == "flat"
    assert table.loc[flat, "score"].isna().all()
    assert table.loc[flat, "reason"].str.contains("have the same vector").all()
    assert table.loc[~flat, "score"].notna().all()
    more = by_all({"flat": np.ones((40, 3)), **spaces(3)})
    (left_out,) = rank_agreement(more)["left_out"].unique()
    assert left_out.startswith("flat (")
    assert "have the same vector" in left_out
    assert left_out.count("(") == 1


def test_rankings_by_hand():
    # the ranks 1 2 3 4 against 2 1 4 3: ρ = 1 − 6 · (1 + 1 + 1 + 1) / (4 · 15) = 0.6
    row = rho(
        rank_agreement(scored(cka=[0.1, 0.2, 0.3, 0.9], rsa=[0.2, 0.1, 0.8, 0.4])), "cka", "rsa"
    )
    assert (row["spearman"], row["pairs"], row["reason"]) == (pytest.approx(0.6), 4, "")


def test_a_metric_that_is_low_where_spaces_are_aligned_is_turned():
    models = spaces()
    table = rank_agreement(by_all(models))
    assert rho(table, "procrustes", "shape_angle")["spearman"] == pytest.approx(1)
    assert rho(table, "cka", "procrustes")["spearman"] > 0.9
    assert rho(table, "cka", "cka")["pairs"] == len(list(combinations(models, 2)))


@settings(max_examples=20)
@given(some.lists(some.floats(0, 1), min_size=3, max_size=12, unique=True), some.randoms())
def test_only_the_ranking_counts_and_the_order_of_two_metrics_does_not(scores, random):
    other = random.sample(scores, len(scores))
    table = rank_agreement(scored(cka=scores, rsa=other))
    bent = rank_agreement(
        scored(cka=[rank / len(scores) for rank in np.argsort(np.argsort(scores))], rsa=other)
    )
    assert rho(table, "cka", "rsa")["spearman"] == pytest.approx(
        rho(bent, "cka", "rsa")["spearman"], abs=1e-12
    )
    assert rho(table, "cka", "rsa")["spearman"] == pytest.approx(
        rho(table, "rsa", "cka")["spearman"], abs=1e-12
    )
    assert rho(table, "cka", "cka")["spearman"] == pytest.approx(1)


def test_pairs_without_a_score_are_left_out():
    row = rho(
        rank_agreement(scored(cka=[0.1, np.nan, 0.3, 0.4], rsa=[0.1, 0.9, 0.2, 0.3])), "cka", "rsa"
    )
    assert (row["spearman"], row["pairs"]) == (pytest.approx(1), 3)


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ([0.1, 0.2], "2 pairs of models have both scores, 3 are needed"),
        ([0.5, 0.5, 0.5], "gives all pairs of models the same score"),
    ],
)
def test_what_cannot_be_ranked_is_nan_with_its_reason(scores, said):
    row = rho(rank_agreement(scored(cka=scores, rsa=list(range(len(scores))))), "cka", "rsa")
    assert np.isnan(row["spearman"])
    assert said in row["reason"]


def agreement(**values: float) -> pd.DataFrame:
    """Return a table of agreement by `x__y`, both ways round, and of each metric with itself."""
    names = list(dict.fromkeys(name for pair in values for name in pair.split("__")))
    rows = [(name, name, 1.0, 10, "") for name in names]
    for pair, value in values.items():
        x, y = pair.split("__")
        why = "too few pairs" if np.isnan(value) else ""
        rows += [(x, y, value, 10, why), (y, x, value, 10, why)]
    columns = ["metric_x", "metric_y", "spearman", "pairs", "reason"]
    table = pd.DataFrame(rows, columns=columns).assign(left_out="")
    return table.assign(variant_x=table["metric_x"], variant_y=table["metric_y"])


def test_metrics_agree_by_the_median_over_two_and_by_what_they_see():
    table = agreement(
        mutual_knn__cknna=0.9,
        mutual_knn__cka=0.2,
        mutual_knn__rsa=-0.1,
        cknna__cka=0.5,
        cknna__rsa=0.3,
        cka__rsa=0.8,
    )
    every, least, across = agreement_findings(table)
    assert [every.value, across.value] == pytest.approx([0.4, 0.25])
    assert "two local metrics 0.90 and two global ones 0.80" in across.note
    assert (every.n, every.verdict) == (10, "")
    assert least.sentence.startswith("Mutual_knn and rsa agree least (ρ = −0.10)")


def test_metrics_that_cannot_be_compared_give_the_reason():
    table = agreement(mutual_knn__cka=np.nan)
    assert [one.reason for one in agreement_findings(table)] == ["too few pairs"]
    assert "needs two metrics" in agreement_findings(table[:1])[0].reason
