"""Scores on sets of stimuli are what the metric itself gives for those rows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from core.errors import MetricError
from core.metrics import METRICS
from core.metrics.catalog import make_engine
from core.pairs import subsets
from core.pairs.subsets import score_sets
from core.spaces.preprocess import normalize_rows


def spaces(seed, count, n=60, dims=9):
    rng = np.random.default_rng(seed)
    shared = np.random.default_rng(99).normal(size=(n, 4))
    return [
        (shared @ rng.normal(size=(4, dims)) + rng.normal(size=(n, dims))).astype(np.float32)
        for _ in range(count)
    ]


X, Y = spaces(0, 2), spaces(1, 3)


def scorer(x, y, metric, **parameters):
    complete = METRICS[metric].complete(parameters)
    return score_sets(make_engine(metric, **complete), x, y, k=complete.get("k", 0))


ROWS = np.sort(np.random.default_rng(2).permutation(60)[:25])


@pytest.mark.parametrize("metric", list(METRICS))
def test_every_metric_scores_a_set_as_if_there_were_no_other_stimuli(metric):
    found = scorer(X, Y, metric)(ROWS)
    expected = [
        [METRICS[metric](normalize_rows(x[ROWS]), normalize_rows(y[ROWS])) for y in Y] for x in X
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("metric", ["cknna", "cycle_knn"])
def test_more_stimuli_than_are_ranked_ahead_score_alike(metric, monkeypatch):
    ahead = scorer(X, Y, metric)(ROWS)
    monkeypatch.setattr(subsets, "LARGEST", 59)
    np.testing.assert_allclose(scorer(X, Y, metric)(ROWS), ahead, rtol=1e-6)


def test_threads_share_a_scorer():
    scores = scorer(X, Y, "cknna")
    sets = [np.sort(np.random.default_rng(seed).permutation(60)[:30]) for seed in range(20)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda rows: scores(rows), sets))
    np.testing.assert_array_equal(together, [scores(rows) for rows in sets])


@pytest.mark.parametrize("metric", ["cknna", "cka"])
@pytest.mark.parametrize("seed", range(5))
def test_a_space_that_is_constant_on_a_set_has_no_score_there(metric, seed):
    flat = X[0].copy()
    flat[ROWS] = np.random.default_rng(seed).normal(size=9)
    found = scorer([flat, X[1]], Y, metric)(ROWS)
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1]).all()


def test_what_cannot_be_scored_is_refused():
    with pytest.raises(
        MetricError, match=r"k must lie in 1 … 24 .* of 25 stimuli; got 30: take larger sets"
    ):
        scorer(X, Y, "cknna", k=30)(ROWS)
    with pytest.raises(MetricError, match="all 60 stimuli have the same vector"):
        scorer([np.ones((60, 4), np.float32)], Y, "cknna")
