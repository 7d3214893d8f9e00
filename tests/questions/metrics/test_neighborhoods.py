"""Scores over k against one call each; what they are at the ends; trends centered and scaled by
hand.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from core.errors import MetricError
from core.metrics import METRICS
from core.progress import heard_by
from core.questions.metrics.scores import (
    curve_over_k,
    scale_trends,
    scores_over_k,
    spread_ks,
)
from core.spaces.preprocess import normalize_rows
from core.statistics.nulls import draw_orders


def space(seed: int, n: int = 50) -> np.ndarray:
    shared = np.random.default_rng(99).standard_normal((n, 5))
    return shared + 0.8 * np.random.default_rng(seed).standard_normal((n, 5))


@settings(max_examples=20)
@given(some.integers(3, 5000), some.integers(2, 20))
def test_ks_rise_from_2_to_all_others(n, count):
    ks = spread_ks(n, count=count)
    assert ks == sorted(set(ks))
    assert (ks[0], ks[-1]) == (2, n - 1)
    assert len(ks) <= count


def test_each_k_is_the_metric_itself_beside_its_shuffles():
    x, y = space(0), space(1)
    table = curve_over_k(x, y, ks=[2, 7, 49], seed=4, shuffles=6)
    wide = [normalize_rows(each) for each in (x, y)]
    for row in table.itertuples():
        metric = METRICS[row.metric]
        null = [
            metric(wide[0], wide[1][order], k=row.k) for order in draw_orders(50, count=6, seed=4)
        ]
        assert row.score == pytest.approx(metric(*wide, k=row.k), rel=1e-9)
        assert (row.chance, row.sd) == (
            pytest.approx(np.mean(null), abs=1e-12),
            pytest.approx(np.std(null, ddof=1), abs=1e-12),
        )


def test_with_all_others_as_neighbors_mutual_knn_says_nothing_and_cknna_compares_all_pairs():
    x, y = space(0), space(1)
    last = curve_over_k(x, y, ks=[49], seed=0).set_index("metric")["score"]
    assert last["mutual_knn"] == 1
    assert last["cknna"] == pytest.approx(off_diagonal_cosine(normalize_rows(x), normalize_rows(y)))


def off_diagonal_cosine(x: np.ndarray, y: np.ndarray) -> float:
    """Return the cosine of all entries off the diagonal of two kernels, whose rows are centered on
    their mean.
    """
    off = ~np.eye(len(x), dtype=bool)
    a, b = ((each @ (each - each.mean(axis=0)).T)[off] for each in (x, y))
    return a @ b / np.sqrt(a @ a * (b @ b))


def test_degenerate_spaces_and_k_are_refused():
    with pytest.raises(MetricError, match="all 50 stimuli have the same vector"):
        curve_over_k(space(0), np.ones((50, 2)), ks=[2], seed=0)
    with pytest.raises(MetricError, match="k must lie in 1 … 49"):
        scores_over_k({"a": space(0)}, {"b": space(1)}, ks=[50])


def test_a_model_scores_its_mean_over_the_others_and_flat_ones_are_left_out():
    x = {"a": space(0), "flat": np.ones((50, 2))}
    y = {"b": space(1), "c": space(2), "flat": np.ones((50, 2))}
    heard = []
    with heard_by(lambda *told: heard.append(told[:2])):
        table = scores_over_k(x, y, ks=[3, 8])
    for row in table[table["model"] == "a"].itertuples():
        direct = [
            METRICS[row.metric](*map(normalize_rows, (x["a"], y[name])), k=row.k)
            for name in ("b", "c")
        ]
        assert row.score == pytest.approx(np.mean(direct), rel=1e-9)
    assert table.loc[table["model"] == "flat", "score"].isna().all()
    assert heard == [(done, 4) for done in range(5)]


def trends(scores: list[float], k: int = 3) -> pd.DataFrame:
    return pd.DataFrame(
        {"metric": "cknna", "k": k, "model": [f"m{i}" for i in range(len(scores))], "score": scores}
    )


def test_trends_by_hand():
    # (0, 1, 3) − 1 = (−1, 0, 2); their sd with 2 degrees of freedom is √(7/3)
    table = scale_trends(trends([0.0, 1.0, 3.0]), smallest="m1")
    assert table["scaled"].tolist() == pytest.approx([-1 / np.sqrt(7 / 3), 0, 2 / np.sqrt(7 / 3)])
    assert set(table["reason"]) == {""}


def test_each_k_is_scaled_on_its_own_and_equal_models_have_no_trend():
    both = pd.concat([trends([0.0, 1.0, 3.0]), trends([1.0, 1.0, 1.0], k=9)])
    table = scale_trends(both, smallest="m0")
    assert table.loc[table["k"] == 3, "scaled"].notna().all()
    flat = table[table["k"] == 9]
    assert flat["scaled"].isna().all()
    assert set(flat["reason"]) == {"all models have the same score at this k"}
