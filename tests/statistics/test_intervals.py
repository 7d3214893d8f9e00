"""Intervals cover what they say they cover, and each part equals its literal definition."""

from __future__ import annotations

import math

import numpy as np
import pytest

from core.errors import MetricError
from core.metrics import METRICS
from core.metrics.cka_halves import cka_of_halves
from core.metrics.knn import mutual_terms
from core.spaces.kernels import linear
from core.spaces.neighbors import nearest
from core.statistics.intervals import (
    bootstrap_mean,
    draw_halves,
    half_interval,
    influences,
)

CKA, UNBIASED, KNN = (METRICS[name] for name in ("cka", "unbiased_cka", "mutual_knn"))


def draw(
    rng: np.random.Generator, n: int, dims: int = 6, noise: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Draw stimuli of one world: three factors that two models see through fixed weights, each with
    its own noise.
    """
    weights = np.random.default_rng(5).standard_normal((2, 3, dims))
    factors = rng.standard_normal((n, 3))
    return tuple(factors @ each + noise * rng.standard_normal((n, dims)) for each in weights)


def coverage(interval, metric, *, n: int, worlds: int, **parameters) -> float:
    """Return how often the interval holds the mean score of n stimuli, over fresh draws of them."""
    rng = np.random.default_rng(0)
    truth = np.mean([metric(*draw(rng, n), **parameters) for _ in range(600)])
    found = [interval(*draw(rng, n)) for _ in range(worlds)]
    return float(np.mean([low <= truth <= high for low, high in found]))


def test_bootstrap_of_independent_terms_covers_their_mean():
    rng = np.random.default_rng(0)
    found = np.array(
        [
            bootstrap_mean(rng.exponential(size=(80, 4)), count=300, seed=seed, level=0.9)
            for seed in range(150)
        ]
    )
    covered = np.mean((found[:, 0] <= 1) & (found[:, 1] >= 1))
    assert abs(covered - 0.9) < 0.04  # 600 intervals of a skewed mean


def test_bootstrap_of_terms_equals_resampling_literally():
    """With many draws both tend to the same quantiles; the mean's standard error is their
    measure.
    """
    terms = np.random.default_rng(1).exponential(size=40)
    rng = np.random.default_rng(2)
    means = [terms[rng.integers(40, size=40)].mean() for _ in range(4000)]
    ours = bootstrap_mean(terms[:, None], count=4000, seed=0)[:, 0]
    assert np.abs(ours - np.quantile(means, [0.025, 0.975])).max() < 0.15 * np.std(means)


def test_bootstrap_shares_its_draws_between_pairs_and_depends_on_the_seed_alone():
    terms = np.random.default_rng(3).random((30, 1))
    low, high = bootstrap_mean(np.hstack([terms, 2 * terms + 1]), count=50, seed=7)
    np.testing.assert_allclose([low[1], high[1]], [2 * low[0] + 1, 2 * high[0] + 1])
    assert bootstrap_mean(terms, count=50, seed=7).tolist() == [[low[0]], [high[0]]]
    assert bootstrap_mean(terms, count=50, seed=8).tolist() != [[low[0]], [high[0]]]


def test_equal_terms_have_an_interval_of_one_point():
    assert bootstrap_mean(np.full((10, 1), 0.25), count=20, seed=0).tolist() == [[0.25], [0.25]]


@pytest.mark.parametrize(
    "terms",
    [pytest.param(metric.terms, id=name) for name, metric in METRICS.items() if metric.terms],
)
def test_influences_equal_leaving_each_stimulus_out_and_finding_neighbors_anew(terms):
    k, n = 3, 14
    x, y = draw(np.random.default_rng(4), n)
    whole = terms(nearest(x, k=k), nearest(y, k=k))
    effects = []
    for j in range(n):
        others = np.delete(np.arange(n), j)
        effects.append(whole.sum() - terms(nearest(x[others], k=k), nearest(y[others], k=k)).sum())
    ours = influences(nearest(x, k=k + 1), nearest(y, k=k + 1), k=k, terms=terms)
    np.testing.assert_allclose(ours, whole.mean() + effects - np.mean(effects), atol=1e-12)


def test_more_neighbors_than_needed_change_no_influence():
    x, y = (nearest(space, k=9) for space in draw(np.random.default_rng(5), 20))
    np.testing.assert_array_equal(
        influences(x, y, k=3, terms=mutual_terms),
        influences(x[:, :4], y[:, :6], k=3, terms=mutual_terms),
    )


def test_bootstrap_of_influences_covers_candidates_drawn_anew_where_that_of_terms_does_not():
    n, k = 60, 6

    def lists(x, y):
        return nearest(x, k=k + 1), nearest(y, k=k + 1)

    def of_influences(x, y):
        return bootstrap_mean(
            influences(*lists(x, y), k=k, terms=mutual_terms)[:, None], count=200, seed=0
        )[:, 0]

    def of_terms(x, y):
        return bootstrap_mean(
            mutual_terms(*(each[:, :k] for each in lists(x, y)))[:, None], count=200, seed=0
        )[:, 0]

    assert coverage(of_influences, KNN, n=n, worlds=100, k=k) >= 0.93
    assert coverage(of_terms, KNN, n=n, worlds=100, k=k) < 0.93


@pytest.mark.parametrize("metric", [CKA, UNBIASED], ids=["biased", "unbiased"])
def test_cka_of_halves_is_cka_of_each_half(metric):
    x, y = draw(np.random.default_rng(6), 23)
    halves = draw_halves(23, count=7, seed=0)
    ours = cka_of_halves(linear(x) + 5, (y + 3) @ (y + 3).T, halves, unbiased=metric is UNBIASED)
    np.testing.assert_allclose(ours, [metric(x[half], y[half]) for half in halves], rtol=1e-9)


@pytest.mark.parametrize("metric", [CKA, UNBIASED], ids=["biased", "unbiased"])
def test_interval_from_halves_covers_cka(metric):
    halves = draw_halves(60, count=200, seed=0)

    def interval(x, y):
        scores = cka_of_halves(linear(x), linear(y), halves, unbiased=metric is UNBIASED)
        return half_interval(metric(x, y), scores, spec=metric.spec)

    assert 0.9 <= coverage(interval, metric, n=60, worlds=200) <= 0.995


def test_copies_would_raise_alignment_while_halves_do_not():
    """Why stimuli are not drawn with replacement: copies are pairs of the highest similarity in
    both spaces.
    """
    rng = np.random.default_rng(7)
    x, y = rng.standard_normal((2, 60, 200))
    with_copies = [UNBIASED(x[drawn], y[drawn]) for drawn in rng.integers(60, size=(40, 60))]
    halves = cka_of_halves(linear(x), linear(y), draw_halves(60, count=200, seed=0), unbiased=True)
    assert np.mean(with_copies) > 0.5
    assert abs(np.mean(halves)) < 0.05
    low, high = half_interval(UNBIASED(x, y), halves, spec=UNBIASED.spec)
    assert low < 0 < high


@pytest.mark.parametrize("n", [8, 9, 100])
def test_halves_are_halves_and_all_stimuli_are_in_as_often(n):
    halves = draw_halves(n, count=2000, seed=0)
    assert (halves.sum(axis=1) == n // 2).all()
    assert np.abs(halves.mean(axis=0) - (n // 2) / n).max() < 4 * math.sqrt(0.25 / 2000)


def test_interval_from_halves_by_hand():
    """Deviations −0.2 … 0.2 around their mean 0.7, whatever that mean: the middle half of them is
    −0.1 … 0.1.
    """
    halves = np.array([0.5, 0.6, 0.7, 0.8, 0.9])
    np.testing.assert_allclose(half_interval(0.4, halves, spec=CKA.spec, level=0.5), [0.3, 0.5])
    np.testing.assert_allclose(
        half_interval(0.95, halves, spec=CKA.spec, level=0.5), [0.85, 1.0]
    )  # no higher than full alignment


def test_interval_of_a_mean_has_the_width_of_its_standard_error():
    """The theorem behind halves: without replacement, a half varies around the whole as the whole
    around the world.
    """
    values = np.random.default_rng(8).standard_normal(400)
    means = np.array([values[half].mean() for half in draw_halves(400, count=3000, seed=0)])
    assert means.std() == pytest.approx(values.std() / math.sqrt(400), rel=0.05)


def test_a_half_without_a_score_leaves_no_interval():
    x, y = draw(np.random.default_rng(9), 20)
    x[:10] = x[0]
    halves = np.stack([np.arange(20) < 10, np.arange(20) % 2 == 0])
    scores = cka_of_halves(linear(x), linear(y), halves, unbiased=False)
    assert np.isnan(scores).tolist() == [True, False]
    assert np.isnan(half_interval(0.5, scores, spec=CKA.spec)).all()


def test_constant_features_are_refused():
    with pytest.raises(MetricError, match="all similarities in this space are equal"):
        cka_of_halves(
            np.ones((20, 20)), np.eye(20), draw_halves(20, count=3, seed=0), unbiased=False
        )


def test_halves_too_small_for_the_unbiased_estimator_are_refused():
    x, y = draw(np.random.default_rng(10), 7)
    with pytest.raises(MetricError, match="the unbiased estimator needs at least 4 stimuli; got 3"):
        cka_of_halves(linear(x), linear(y), draw_halves(7, count=2, seed=0), unbiased=True)


@pytest.mark.parametrize("k", [0, 5])
def test_influences_need_one_more_neighbor(k):
    near = nearest(draw(np.random.default_rng(11), 12)[0], k=5)
    with pytest.raises(
        MetricError,
        match=f"k must lie in 1 … 4, one less than the neighbors kept for each stimulus; got {k}",
    ):
        influences(near, near, k=k, terms=mutual_terms)


def test_a_layer_without_neighbors_has_no_influences():
    near = nearest(draw(np.random.default_rng(12), 12)[0], k=5)
    with pytest.raises(
        MetricError,
        match="this layer has no neighbors: it is constant or has zeros only; choose another layer",
    ):
        influences(np.full_like(near, -1), near, k=3, terms=mutual_terms)


@pytest.mark.parametrize("level", [0.0, 1.0, math.nan])
def test_a_level_outside_its_range_is_refused(level):
    for call in (
        lambda: bootstrap_mean(np.ones((5, 1)), count=9, seed=0, level=level),
        lambda: _half_interval(level),
    ):
        with pytest.raises(
            MetricError, match=f"a confidence level must lie between 0 and 1; got {level}"
        ):
            call()


def _half_interval(level: float) -> np.ndarray:
    return half_interval(0.5, np.array([0.4, 0.6]), spec=CKA.spec, level=level)


def test_no_draws_are_refused():
    with pytest.raises(
        MetricError, match="an interval needs at least one draw of the stimuli; got 0"
    ):
        bootstrap_mean(np.ones((5, 1)), count=0, seed=0)
