"""Intervals cover what they say they cover, and each part equals its literal definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from core.errors import MetricError
from core.metrics import METRICS
from core.metrics.cka import cka_of_halves
from core.spaces.kernels import linear
from core.statistics.intervals import (
    check_draws,
    draw_halves,
    fewest_draws,
    half_interval,
    ratio_interval,
    student_interval,
)

CKA, UNBIASED = (METRICS[name] for name in ("cka", "unbiased_cka"))


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


@pytest.mark.parametrize("level", [0.0, 1.0, math.nan])
def test_a_level_outside_its_range_is_refused(level):
    for call in (
        lambda: student_interval(0.5, 0.1, freedom=9, level=level),
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
        student_interval(0.5, 0.1, freedom=0)


def test_quantiles_need_a_draw_beyond_each_end():
    assert [fewest_draws(level) for level in (0.5, 0.9, 0.95, 0.99)] == [4, 20, 40, 200]
    check_draws(40)
    with pytest.raises(MetricError, match="a 95% interval from quantiles needs at least 40 draws"):
        check_draws(39)


def test_the_interval_of_a_ratio_ends_where_its_t_test_does():
    rng = np.random.default_rng(3)
    over = rng.normal(0.5, 1, 200)
    under = 0.5 * over + rng.normal(1, 1, 200)
    value, *ends = ratio_interval(over, under)
    assert value == pytest.approx(over.mean() / under.mean())
    for end in ends:
        assert stats.ttest_1samp(over - end * under, 0).pvalue == pytest.approx(0.05)
    assert np.isnan(ratio_interval(over, rng.normal(0, 1, 200))).all()
    assert np.isnan(ratio_interval(over[:4], under[:4])).all()
    assert ratio_interval(over, over) == pytest.approx((1, 1, 1))


def test_the_interval_of_a_ratio_covers_it():
    rng = np.random.default_rng(4)
    held = []
    for _ in range(400):
        under = (rng.random(150) < 0.6).astype(float) - 0.2
        over = np.where(rng.random(150) < 0.5, under, -0.2)
        _, low, high = ratio_interval(over, under)
        held.append(low <= 0.1 / 0.4 <= high)
    assert 0.92 <= np.mean(held) <= 0.98
