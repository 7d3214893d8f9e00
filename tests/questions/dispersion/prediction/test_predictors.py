"""Predictors as columns, and what each tells by itself."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from core.errors import MetricError
from core.questions.dispersion.prediction import (
    KRUSKAL,
    LEAST,
    SPEARMAN,
    distance_to_neighbors,
    read_predictor,
)

RNG = np.random.default_rng(0)
TARGET = RNG.normal(size=60)


def test_a_number_is_one_column_of_variance_1():
    values = pd.Series(np.arange(60) * 3)
    found = read_predictor(values, TARGET)
    assert found.columns[:, 0] == pytest.approx(stats.zscore(values))
    assert (found.columns.shape, found.n, found.test) == ((60, 1), 60, SPEARMAN)


def test_spearman_is_that_of_its_formula_over_what_is_known():
    values = pd.Series(RNG.permutation(60).astype(float))
    values[:7] = np.nan
    found = read_predictor(values, TARGET)
    ranks = [stats.rankdata(each[7:]) for each in (values.to_numpy(), TARGET)]
    assert found.n == 53
    assert found.spearman == pytest.approx(
        1 - 6 * ((ranks[0] - ranks[1]) ** 2).sum() / (53 * (53**2 - 1))
    )
    assert found.share == pytest.approx(1 - (1 - found.spearman**2) * 52 / 51)
    assert found.columns[:7].tolist() == [[0]] * 7  # too few are missing to be marked


def test_missing_numbers_are_marked_where_enough_are_missing_and_infinite_ones_are_missing():
    values = pd.Series(np.arange(60.0))
    values[:LEAST] = [np.nan] * (LEAST - 1) + [np.inf]
    found = read_predictor(values, TARGET)
    assert found.columns.shape == (60, 2)
    assert len(set(found.columns[:LEAST, 1])) == 1
    assert found.columns[0, 1] > 0 > found.columns[-1, 1]
    assert found.columns.mean(axis=0) == pytest.approx(0, abs=1e-12)


def test_a_text_is_a_column_for_each_shared_value_the_rare_and_the_missing():
    values = pd.Series(["sea"] * 20 + ["hill"] * 15 + ["rarer", "missing", "fog"] * 4 + [None] * 13)
    found = read_predictor(values, TARGET)
    assert found.columns.shape == (60, 4)
    same = (found.columns[:, None] == found.columns[None]).all(axis=2)
    expected = np.repeat([0, 1, 2, 3], [20, 15, 12, 13])
    assert (same == (expected[:, None] == expected[None])).all()
    assert found.columns.mean(axis=0) == pytest.approx(0, abs=1e-12)
    assert found.n == 47


def test_kruskal_and_wallis_compare_the_known_values_by_their_formula():
    values = pd.Series(["sea"] * 20 + ["hill"] * 15 + ["city"] * 12 + [None] * 13)
    ranks = stats.rankdata(TARGET[:47])
    sums = [ranks[:20].sum() ** 2 / 20, ranks[20:35].sum() ** 2 / 15, ranks[35:].sum() ** 2 / 12]
    h = 12 / (47 * 48) * sum(sums) - 3 * 48
    found = read_predictor(values, TARGET)
    assert found.test == KRUSKAL
    assert found.p == pytest.approx(stats.chi2.sf(h, 2))
    assert np.isnan(found.spearman)
    assert found.share == pytest.approx((h - 2) / (47 - 3))


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([np.nan] * 51 + list(range(9)), "known of 9 stimuli, and at least 10 are needed"),
        ([4.0] * 50 + [np.nan] * 10, "have the same value"),
        ([f"id {i}" for i in range(60)], "no two values occur in 10 stimuli each"),
        (["sea"] * 60, "no two values occur in 10 stimuli each"),
        ([None] * 60, "known of 0|no two values"),
    ],
)
def test_what_cannot_be_used_says_why(values, why):
    found = read_predictor(pd.Series(values), TARGET)
    assert found.columns.shape == (60, 0)
    assert pd.Series(found.reason).str.contains(why).item()
    assert np.isnan(found.p)


@pytest.mark.parametrize(
    "values", [list(range(30)) + [np.nan] * 30, ["sea", "hill"] * 15 + [None] * 30]
)
def test_where_the_target_is_constant_there_is_no_test(values):
    target = np.r_[np.zeros(30), TARGET[:30]]
    found = read_predictor(pd.Series(values), target)
    assert found.test == ""
    assert np.isnan(found.p)
    assert found.columns.shape[1] >= 2


def test_one_value_and_missing_is_used_but_not_tested():
    found = read_predictor(pd.Series(["sea"] * 30 + [None] * 30), TARGET)
    assert (found.columns.shape[1], found.test) == (2, "")


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.booleans())
def test_distances_are_those_of_a_slow_count(seed, k, copies):
    rng = np.random.default_rng(seed)
    space = rng.normal(size=(9, 3))
    if copies:
        space[:3] = space[4]
    slow = [
        np.mean(sorted(np.linalg.norm(space[i] - space[j]) for j in range(9) if j != i)[:k])
        for i in range(9)
    ]
    assert distance_to_neighbors(space, k=k) == pytest.approx(slow, abs=1e-6)


def test_dense_places_have_near_neighbors_whatever_the_rotation_but_not_whatever_the_scale():
    space = np.r_[RNG.normal(size=(20, 4)) * 0.1, RNG.normal(size=(20, 4)) + 9]
    found = distance_to_neighbors(space, k=5)
    assert found[:20].max() < found[20:].min()
    turned = space @ np.linalg.qr(RNG.normal(size=(4, 4)))[0] + 3
    assert distance_to_neighbors(turned, k=5) == pytest.approx(found)
    assert distance_to_neighbors(2 * space, k=5) == pytest.approx(2 * found)


def test_neighbors_that_are_not_there_are_refused():
    with pytest.raises(MetricError, match="k must lie in 1 … 8 for 9 stimuli; got 9"):
        distance_to_neighbors(RNG.normal(size=(9, 2)), k=9)
    with pytest.raises(MetricError, match="all 9 stimuli have the same vector"):
        distance_to_neighbors(np.ones((9, 2)), k=2)
