"""Nulls, calibrated scores and discoveries: by hand, by definition, over many draws."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from core.errors import MetricError
from core.metrics import METRICS
from core.metrics.catalog import make_engine
from core.pairs.lists import permuted_overlaps, shuffled_scores
from core.spaces.neighbors import nearest
from core.statistics.nulls import (
    adjust,
    best_pair,
    calibrate,
    draw_orders,
    fixed_pair,
    null_scores,
)

KNN = METRICS["mutual_knn"].spec
DISTANCE = replace(
    KNN, id="distance", title="A distance", range=(0.0, math.inf), higher_is_more_aligned=False
)
K, N, P = 5, 48, 99


def knn(x: list[np.ndarray], y: list[np.ndarray]):
    near_x, near_y = (np.stack([nearest(space, k=K) for space in spaces]) for spaces in (x, y))
    return lambda orders: permuted_overlaps(near_x, near_y, orders, k=K)


def distance(x: list[np.ndarray], y: list[np.ndarray]):
    """Score a metric with its direction reversed, from kernels: the distance between unit centered
    Gram matrices.
    """
    units = [[_unit(space) for space in spaces] for spaces in (x, y)]
    return lambda orders: np.array(
        [
            [[np.linalg.norm(a - b[np.ix_(order, order)]) for b in units[1]] for a in units[0]]
            for order in orders
        ]
    )


def _unit(space: np.ndarray) -> np.ndarray:
    centered = space - space.mean(axis=0)
    gram = centered @ centered.T
    return gram / np.linalg.norm(gram)


def layers(rng: np.random.Generator, count: int, n: int = N) -> list[np.ndarray]:
    """Return the layers of one model, each like the one before."""
    base = rng.standard_normal((n, 6))
    return [base + 0.7 * rng.standard_normal((n, 6)) for _ in range(count)]


SOME = layers(np.random.default_rng(0), 1)


def compared(score, spec, choice, seed: int, n: int = N, count: int = P, sizes=(3, 2)):
    observed, null = (
        null_scores(score, orders, choice=choice, layers_x=[sizes[0]], layers_y=[sizes[1]])
        for orders in (np.arange(n)[None], draw_orders(n, count=count, seed=seed))
    )
    return calibrate(observed[0], null, spec=spec).iloc[0]


@pytest.mark.parametrize(
    ("score", "spec", "choice", "count"),
    [
        (knn, KNN, best_pair(KNN), P),
        (knn, KNN, fixed_pair(-1, -1), P),
        (distance, DISTANCE, best_pair(DISTANCE), 39),
    ],
    ids=["mutual kNN, best pair", "mutual kNN, last layers", "a distance, best pair"],
)
def test_on_independent_spaces_p_is_uniform_and_the_calibrated_score_is_zero(
    score, spec, choice, count
):
    rows = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        x, y = layers(rng, 3), layers(rng, 2)
        rows.append(compared(score(x, y), spec, choice, seed + 1000, count=count))
    p = np.array([row["p"] for row in rows])
    assert stats.kstest(p, "uniform").pvalue > 0.01
    above = np.mean([row["calibrated"] > 0 for row in rows])
    assert above <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 200)


def test_calibrating_one_pair_as_if_it_had_not_been_chosen_would_not_be_a_null():
    """Why the aggregate is calibrated: the best of six pairs against the null of one has p-values
    that are too small.
    """
    p = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        score, orders = knn(layers(rng, 3), layers(rng, 2)), draw_orders(N, count=P, seed=seed)
        best = score(np.arange(N)[None]).max(axis=(1, 2))
        p.append(calibrate(best, score(orders)[:, 0, :1], spec=KNN).loc[0, "p"])
    assert stats.kstest(p, "uniform").pvalue < 1e-4


def test_every_pair_of_models_has_its_column_and_shares_the_permutations():
    rng = np.random.default_rng(1)
    x, y = [layers(rng, count) for count in (2, 1)], [layers(rng, count) for count in (1, 3, 2)]
    orders = draw_orders(N, count=7, seed=0)
    together = knn([*x[0], *x[1]], [*y[0], *y[1], *y[2]])
    null = null_scores(together, orders, choice=best_pair(KNN), layers_x=[2, 1], layers_y=[1, 3, 2])
    apart = [knn(a, b)(orders).max(axis=(1, 2)) for a in x for b in y]
    np.testing.assert_array_equal(null, np.transpose(apart))


@pytest.mark.parametrize("name", ["mutual_knn", "unbiased_cka", "procrustes"])
def test_any_metric_is_scored_on_shuffled_spaces(name):
    rng = np.random.default_rng(4)
    x, y = (
        [layers(rng, count, 20) for count in (2, 1)],
        [layers(rng, count, 20) for count in (1, 2)],
    )
    orders, engine = draw_orders(20, count=3, seed=0), make_engine(name)
    prepared = (
        [engine.prepare(spaces, preprocess=lambda space: space) for spaces in models]
        for models in (x, y)
    )
    direct = [
        [[METRICS[name](a, b[order]) for b in [*y[0], *y[1]]] for a in [*x[0], *x[1]]]
        for order in orders
    ]
    np.testing.assert_allclose(
        shuffled_scores(engine, *prepared)(orders), direct, atol=1e-6
    )  # engines may work in float32


def test_the_best_pair_passes_over_layers_without_scores_and_knows_the_metric_s_direction():
    scores = np.array([[[np.nan, 0.2], [np.nan, 0.5]], [[np.nan, np.nan], [np.nan, np.nan]]])
    np.testing.assert_array_equal(best_pair(KNN)(scores), [0.5, np.nan])
    np.testing.assert_array_equal(best_pair(DISTANCE)(scores), [0.2, np.nan])


@given(n=st.integers(1, 20), count=st.integers(1, 6), seed=st.integers(0, 2**32))
def test_orders_are_permutations_and_more_of_them_begin_with_the_same(n, count, seed):
    orders = draw_orders(n, count=count, seed=seed)
    assert (np.sort(orders, axis=1) == np.arange(n)).all()
    np.testing.assert_array_equal(draw_orders(n, count=count + 3, seed=seed)[:count], orders)


def test_a_hand_computed_case():
    """τ is the ⌈0.95 · 20⌉ = 19th of 0.02 … 0.38 and 0.37: 0.37, hence 0; 0.375 is above it: τ is
    0.375 itself.
    """
    null = np.arange(1, 20)[:, None] / 50
    row = calibrate(np.array([0.37]), null, spec=KNN).iloc[0]
    assert (row["threshold"], row["p"], row["calibrated"]) == (0.37, 2 / 20, 0)
    row = calibrate(np.array([0.69]), null, spec=KNN).iloc[0]
    assert (row["threshold"], row["p"]) == (0.38, 1 / 20)
    assert row["calibrated"] == pytest.approx(1 / 2)
    assert (row["null_mean"], row["null_sd"]) == (
        pytest.approx(0.2),
        pytest.approx(math.sqrt(570 / 18) / 50),
    )


def test_the_same_case_with_the_direction_reversed():
    """0.01 among 0.02 … 0.38, where 0 is full alignment: τ is 0.02, halfway to 0."""
    row = calibrate(np.array([0.01]), np.arange(1, 20)[:, None] / 50, spec=DISTANCE).iloc[0]
    assert (row["threshold"], row["p"]) == (0.02, 1 / 20)
    assert row["calibrated"] == pytest.approx(1 / 2)


@given(null=st.lists(st.integers(0, 8), min_size=19, max_size=60), observed=st.integers(0, 8))
def test_p_and_threshold_equal_their_definition_even_among_ties(null, observed):
    row = calibrate(np.array([observed / 10]), np.array(null)[:, None] / 10, spec=KNN).iloc[0]
    together = sorted([*null, observed])
    rank = min(r for r in range(1, len(together) + 1) if r * 20 >= 19 * len(together))
    assert row["threshold"] == together[rank - 1] / 10
    assert row["p"] == sum(value >= observed for value in together) / len(together)
    assert (row["calibrated"] > 0) == (observed / 10 > row["threshold"])
    assert row["calibrated"] == 0 or row["p"] <= 0.05


def test_a_score_that_is_missing_has_its_reason():
    table = calibrate(np.array([np.nan, 0.5]), np.full((19, 2), 0.2), spec=KNN)
    assert table["reason"].tolist() == ["there is no score", ""]
    assert table.iloc[0].drop("reason").isna().all()


def test_a_null_that_is_undefined_somewhere_has_its_reason():
    null = np.full((19, 1), 0.2)
    null[3:5] = np.nan
    row = calibrate(np.array([0.5]), null, spec=KNN).iloc[0]
    assert row["reason"] == "Mutual k-nearest neighbors is undefined for 2 of 19 permutations"
    assert row["score"] == 0.5
    assert np.isnan(row["p"])


def test_where_shuffled_spaces_are_fully_aligned_there_is_nothing_to_calibrate():
    row = calibrate(np.array([1.0]), np.ones((19, 1)), spec=KNN).iloc[0]
    assert np.isnan(row["calibrated"])
    assert row["reason"] == "shuffled spaces are fully aligned, too"
    assert row["p"] == 1


def test_a_metric_without_a_best_value_has_p_but_no_calibrated_score():
    spec = replace(KNN, title="A score", range=(-math.inf, math.inf))
    row = calibrate(np.array([2.0]), np.zeros((19, 1)), spec=spec).iloc[0]
    assert (row["p"], row["threshold"], row["reason"]) == (1 / 20, 0, "A score has no best value")
    assert np.isnan(row["calibrated"])


def test_too_few_permutations_are_refused():
    with pytest.raises(MetricError, match="needs at least 19 permutations; got 18"):
        calibrate(np.array([0.5]), np.zeros((18, 1)), spec=KNN)
    assert calibrate(np.array([0.5]), np.zeros((19, 1)), spec=KNN).loc[0, "p"] == 0.05


@pytest.mark.parametrize(("sizes", "count"), [(([], [1]), 3), (([2], []), 3), (([1], [1]), 0)])
def test_nothing_to_score_is_refused(sizes, count):
    given = f"got {len(sizes[0])} and {len(sizes[1])} models, {count} permutations"
    with pytest.raises(
        MetricError, match=f"expected at least one model on each side and one permutation; {given}"
    ):
        null_scores(
            knn(SOME, SOME),
            draw_orders(N, count=count, seed=0),
            choice=best_pair(KNN),
            layers_x=sizes[0],
            layers_y=sizes[1],
        )


def test_discoveries_of_a_hand_computed_case():
    """Sorted: 0.01, 0.02, 0.03, 0.5 times 4/1, 4/2, 4/3, 4/4 = 0.04, 0.04, 0.04, 0.5."""
    np.testing.assert_allclose(adjust(np.array([0.03, 0.5, 0.01, 0.02])), [0.04, 0.5, 0.04, 0.04])


def test_what_was_not_tested_counts_for_nothing():
    q = adjust(np.array([np.nan, 0.02, np.nan, 0.04]))
    np.testing.assert_allclose(q, [np.nan, 0.04, np.nan, 0.04])


def test_of_no_tests_there_are_no_discoveries():
    assert adjust(np.array([])).size == 0
