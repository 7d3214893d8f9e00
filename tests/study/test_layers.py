"""Which layers stand for two models, and the tables of their scores."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from core.errors import MetricError, UnknownNameError
from core.metrics import METRICS
from core.metrics.knn import mutual_knn_chance
from core.pairs.lists import overlaps
from core.spaces.neighbors import nearest
from core.statistics.correlations import competence_fit
from core.study.layers import (
    LayerChoice,
    PairScores,
    aggregate,
    align,
    align_all_layers,
    align_among,
    concatenate,
    pick,
    read_choice,
    score_matrix,
)
from tests.metrics.oracles import permuted_neighbors

KNN, ANGLE = METRICS["mutual_knn"].spec, METRICS["shape_angle"].spec


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("best", LayerChoice()),
        ("last", LayerChoice(depth=1.0)),
        ("0.25", LayerChoice(depth=0.25)),
        ("1", LayerChoice(depth=1.0)),
        ("3:-1", LayerChoice(pair=(3, -1))),
    ],
)
def test_choices_are_read(text, choice):
    assert read_choice(text) == choice


@pytest.mark.parametrize("text", ["", "first", "1.5", "3", "a:b", "-0.5"])
def test_other_words_are_refused_with_what_is_known(text):
    with pytest.raises(MetricError, match="layers are chosen by best, last, a pair such as 3:5"):
        read_choice(text)


def test_all_layers_side_by_side_are_a_candidate_for_the_best_alone():
    assert read_choice("best", concatenated=True) == LayerChoice(concatenated=True)
    with pytest.raises(MetricError, match="got layers 'last': choose best, or as released"):
        read_choice("last", concatenated=True)


def test_of_equal_pairs_the_lowest_layers_win():
    assert pick(np.array([[0.1, 0.2, 0.5], [0.5, 0.5, 0.0]]), LayerChoice(), spec=KNN) == (0, 2)
    assert pick(np.array([[-0.3, -0.2], [-0.2, -0.9]]), LayerChoice(), spec=KNN) == (
        0,
        1,
    )  # a metric may be negative


def test_layers_side_by_side_keep_their_scales():
    rng = np.random.default_rng(1)
    wide, narrow = 100 * rng.standard_normal((6, 4)), rng.standard_normal((6, 2))
    joined = concatenate([wide, np.zeros((6, 1)), narrow])
    assert joined.tolist() == [
        [*a, 0.0, *b] for a, b in zip(wide.tolist(), narrow.tolist(), strict=True)
    ]


def test_a_pair_counts_from_either_end_and_must_be_there():
    assert pick(np.zeros((3, 2)), LayerChoice(pair=(-3, -1)), spec=KNN) == (0, 1)
    with pytest.raises(
        MetricError, match="there is no layer 2, only 0 … 1, or -2 … -1 from the end"
    ):
        pick(np.zeros((3, 2)), LayerChoice(pair=(0, 2)), spec=KNN)


def test_a_depth_is_the_same_share_of_both_models():
    assert LayerChoice(depth=0.5).place(5, 13) == (2, 6)
    assert LayerChoice(depth=0.0).place(5, 13) == (0, 0)


def test_a_null_aggregates_as_the_observed_score_is_picked():
    scores = np.random.default_rng(0).normal(size=(7, 3, 4))
    for choice in (LayerChoice(), LayerChoice(depth=1.0), LayerChoice(pair=(1, 2))):
        for spec in (KNN, ANGLE):
            expected = [each[pick(each, choice, spec=spec)] for each in scores]
            np.testing.assert_array_equal(aggregate(choice, spec=spec)(scores), expected)


AB = PairScores(np.array([[0.1, 0.4], [0.2, 0.3]]))


def test_every_two_models_have_a_row_and_those_without_scores_a_nan():
    table = align_among(
        ["a", "b", "c"],
        {("a", "b"): AB},
        choice=read_choice("best"),
        spec=METRICS["mutual_knn"].spec,
    )
    assert table[["model_x", "model_y", "layer_x", "layer_y"]].to_numpy().tolist() == [
        ["a", "b", 0, 1],
        ["a", "c", -1, -1],
        ["b", "c", -1, -1],
    ]
    assert table["score"][0] == 0.4
    assert table["score"][1:].isna().all()
    assert table["reason"].tolist() == ["", "", ""]


def test_the_matrix_is_symmetric_in_the_order_asked_for():
    pairs = pd.DataFrame(
        {"model_x": ["a", "c", "b"], "model_y": ["b", "a", "c"], "score": [0.1, 0.2, np.nan]}
    )
    matrix = score_matrix(pairs, ["c", "a", "b"])
    expected = [[np.nan, 0.2, np.nan], [0.2, np.nan, 0.1], [np.nan, 0.1, np.nan]]
    np.testing.assert_array_equal(matrix, expected)
    np.testing.assert_array_equal(score_matrix(pairs, ["b", "a"]), [[np.nan, 0.1], [0.1, np.nan]])
    with pytest.raises(UnknownNameError, match="no compared model named 'd'"):
        score_matrix(pairs, ["a", "d"])


KNN = METRICS["mutual_knn"].spec
A_B, C_B = np.array([[0.1, 0.2], [0.5, 0.3], [0.0, 0.4]]), np.array([[0.2, 0.3]])


def test_align_gives_the_best_pair_of_layers_of_every_pair_of_models():
    table = align(
        {("a", "b"): PairScores(A_B), ("c", "b"): PairScores(C_B)}, choice=LayerChoice(), spec=KNN
    )
    assert table.to_numpy().tolist() == [
        ["a", "b", 1, 0, 0.5, ""],
        ["c", "b", 0, 1, 0.3, ""],
    ]
    assert list(table) == ["model_x", "model_y", "layer_x", "layer_y", "score", "reason"]


def test_align_takes_a_fixed_pair_a_depth_or_the_last_layers():
    chosen = [
        align({("a", "b"): PairScores(A_B)}, choice=read_choice(text), spec=KNN)
        .iloc[0, 2:5]
        .tolist()
        for text in ("2:1", "last", "0.5")
    ]
    assert chosen == [[2, 1, 0.4], [2, 1, 0.4], [1, 0, 0.5]]


def test_a_missing_score_has_the_reason_of_its_layers():
    refused = PairScores(
        np.array([[0.1, np.nan, np.nan], [np.nan, np.nan, np.nan]]),
        (("", "flat"), ("", "", "zeros")),
        {(0, 1): "too wide"},
    )
    table = align_all_layers({("a", "b"): refused})
    assert table["reason"].tolist() == [
        "",
        "layers 0 and 1: too wide",
        "layer 2 of b: zeros",
        *["layer 1 of a: flat"] * 3,
    ]


def test_the_best_of_no_scores_has_the_first_reason_of_two_layers():
    refused = PairScores(np.full((1, 2), np.nan), (("",), ("", "flat")), {(0, 0): "too wide"})
    row = align({("a", "b"): refused}, choice=LayerChoice(), spec=KNN).iloc[0]
    assert row["reason"] == "layers 0 and 0: too wide"
    row = align(
        {("a", "b"): PairScores(np.full((1, 2), np.nan), model="none")},
        choice=LayerChoice(),
        spec=KNN,
    ).iloc[0]
    assert (row["layer_x"], row["layer_y"], row["reason"]) == (-1, -1, "none")


@pytest.mark.parametrize("k", [1, 5, 12])
def test_chance_is_the_mean_over_random_permutations(k):
    rng = np.random.default_rng(0)
    near = nearest(rng.standard_normal((60, 5)), k=12)[None]
    null = [
        overlaps(near, permuted_neighbors(near[0], rng.permutation(60))[None], k=k)[0, 0]
        for _ in range(300)
    ]
    error = np.std(null) / math.sqrt(len(null))
    assert abs(np.mean(null) - mutual_knn_chance(k=k, n=60)) < 4 * error


points = st.integers(5, 30).flatmap(
    lambda n: st.integers(0, 2**32 - 1).map(
        lambda seed: np.random.default_rng(seed).standard_normal((2, n))
    )
)


@given(points=points)
def test_fit_equals_the_normal_equations(points):
    x, y = points
    fit = competence_fit(x, y)
    design = np.stack([np.ones_like(x), x], axis=1)
    inverse = np.linalg.inv(design.T @ design)
    intercept, slope = inverse @ design.T @ y
    np.testing.assert_allclose([fit.intercept, fit.slope], [intercept, slope], atol=1e-8)
    assert fit.r2 == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2, abs=1e-9)
    variance = ((y - intercept - slope * x) ** 2).sum() / (len(x) - 2)
    ends = np.stack([np.ones(len(fit.band)), fit.band["x"]], axis=1)
    half = stats.t.ppf(0.975, len(x) - 2) * np.sqrt(
        variance * np.einsum("ij,jk,ik->i", ends, inverse, ends)
    )
    np.testing.assert_allclose(fit.band["high"] - fit.band["fit"], half, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(fit.band["fit"] - fit.band["low"], half, rtol=1e-6, atol=1e-9)


def test_fit_of_a_hand_computed_case():
    """x̄ = ȳ = 3, Sxy = 9, Sxx = 10; SSE = 1.9, SST = 10; two neighboring ranks swapped: ρ = 0.9."""
    x, y = np.array([1.0, 2, 3, 4, 5]), np.array([1.0, 3, 2, 4, 5])
    fit = competence_fit(x, y)
    assert (fit.n, fit.slope, fit.intercept, fit.r2) == (
        5,
        pytest.approx(0.9),
        pytest.approx(0.3),
        pytest.approx(0.81),
    )
    assert fit.spearman == pytest.approx(0.9)
    assert fit.p == pytest.approx(
        10 / 120
    )  # |ρ| ≥ 0.9 in the identity, four swaps of neighbors, and their reverses
    assert fit.reason == ""
    assert fit.points.to_numpy().T.tolist() == [x.tolist(), y.tolist()]


def test_band_covers_the_true_line_as_often_as_it_says():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=12)
    fits = [
        competence_fit(x, 2 * x - 1 + rng.standard_normal(12)).band.iloc[25] for _ in range(600)
    ]
    covered = np.mean([band["low"] <= 2 * band["x"] - 1 <= band["high"] for band in fits])
    assert abs(covered - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 600)


@pytest.mark.parametrize("n", [9, 20])
def test_p_of_many_points_is_scipy_s(n):
    x, y = np.random.default_rng(n).standard_normal((2, n))
    fit = competence_fit(x, y)
    assert (fit.spearman, fit.p) == pytest.approx(tuple(stats.spearmanr(x, y)))


def test_p_of_few_points_with_ties_is_exact():
    """A monotone relation of five points in two tied groups: 2 of C(5, 2) = 10 splits are as
    extreme.
    """
    fit = competence_fit(np.array([1.0, 1, 2, 2, 2]), np.array([1.0, 1, 2, 2, 2]))
    assert fit.spearman == pytest.approx(1)
    assert fit.p == pytest.approx(1 / 10)


def test_points_with_a_value_missing_are_left_out():
    x = np.array([0.1, 0.2, math.nan, 0.4, 0.5, 0.6, 0.7])
    y = np.array([1.0, 3, 2, math.nan, 4, 6, 5])
    fit, left = competence_fit(x, y), [0, 1, 4, 5, 6]
    assert fit.n == 5
    assert fit.slope == competence_fit(x[left], y[left]).slope


@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [
        ([], [], "a fit needs at least 5 models with both values; there are 0"),
        (
            [1.0, 2, 3, 4],
            [1.0, 2, 3, 4],
            "a fit needs at least 5 models with both values; there are 4",
        ),
        (
            [1.0, 2, 3, 4, math.nan],
            [1.0, 2, 3, 4, 5],
            "a fit needs at least 5 models with both values; there are 4",
        ),
        ([0.1] * 5, [1.0, 2, 3, 4, 5], "all 5 models have the same competence"),
        ([1.0, 2, 3, 4, 5], [0.1] * 5, "all 5 models have the same alignment"),
    ],
)
def test_a_fit_that_means_nothing_is_nan_with_its_reason(x, y, reason):
    fit = competence_fit(np.array(x, dtype=float), np.array(y, dtype=float))
    assert fit.reason == reason
    assert np.isnan([fit.slope, fit.intercept, fit.r2, fit.spearman, fit.p]).all()
    assert fit.band.empty
