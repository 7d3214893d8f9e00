"""RSA equals its definition in plain Python, ties included, and hand-computed cases; what has no
order is refused.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import MetricError
from core.metrics import METRICS

rsa = METRICS["rsa"]
few = settings(max_examples=25)
correlations = pytest.mark.parametrize("correlation", ["spearman", "pearson"])


def mean_ranks(values: list[float]) -> list[float]:
    """Count for each value those below it and half of those equal to it."""
    return [
        sum(other < value for other in values) + sum(other == value for other in values) / 2
        for value in values
    ]


def correlation_literally(a: list[float], b: list[float]) -> float:
    mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
    crossed = sum((p - mean_a) * (q - mean_b) for p, q in zip(a, b, strict=True))
    return crossed / math.sqrt(
        sum((p - mean_a) ** 2 for p in a) * sum((q - mean_b) ** 2 for q in b)
    )


def rsa_literally(x: np.ndarray, y: np.ndarray, correlation: str) -> float:
    distances = [[math.dist(a, b) for a, b in combinations(space.tolist(), 2)] for space in (x, y)]
    return correlation_literally(
        *(map(mean_ranks, distances) if correlation == "spearman" else distances)
    )


@correlations
@few
@given(seed=st.integers(0, 2**32 - 1))
def test_it_equals_its_definition(correlation, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((10, 3)), rng.standard_normal((10, 5))
    assert rsa(x, y, correlation=correlation) == pytest.approx(
        rsa_literally(x, y, correlation), abs=1e-12
    )


@correlations
def test_equal_distances_share_their_rank(correlation):
    """One-hot factors and duplicates: few distances, each many times."""
    rng = np.random.default_rng(0)
    x, y = (
        np.hstack([np.eye(4)[rng.integers(0, 4, 30)], np.eye(3)[rng.integers(0, 3, 30)]])
        for _ in range(2)
    )
    assert rsa(x, y, correlation=correlation) == pytest.approx(
        rsa_literally(x, y, correlation), abs=1e-12
    )


def test_a_hand_computed_case():
    """Distances of pairs 01, 02, 12 on two lines: 1, 3, 2 and 2, 3, 5. Ranks 1 3 2 and 1 2 3
    correlate 1/2.
    """
    x, y = np.array([[0.0], [1], [3]]), np.array([[0.0], [2], [-3]])
    assert rsa(x, y) == pytest.approx(1 / 2)
    assert rsa(x, y, correlation="pearson") == pytest.approx(1 / math.sqrt(2 * 14 / 3))


def test_bending_a_line_keeps_the_order_of_its_distances_and_not_their_proportions():
    angles = np.linspace(0, np.pi, 12)[:, None]
    bent = np.hstack([np.cos(angles), np.sin(angles)])
    assert rsa(angles, bent, correlation="pearson") < 0.99
    ordered = np.sort(np.random.default_rng(0).uniform(0, np.pi, 12))[:, None]
    assert rsa(ordered, np.hstack([np.cos(ordered), np.sin(ordered)])) == pytest.approx(
        1, abs=1e-12
    )


def test_opposite_orders_are_at_the_other_end():
    x, y = np.array([[0.0], [1], [3]]), np.array([[0.0], [3], [1]])
    assert rsa(x, y) == pytest.approx(-1)


@correlations
def test_stimuli_that_are_all_equally_far_apart_are_refused(correlation):
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((9, 9)))[0]
    y = np.random.default_rng(1).standard_normal((9, 2))
    for simplex in (np.eye(9), turn.astype(np.float32)):
        with pytest.raises(
            MetricError,
            match="equally far apart in this space, so their distances correlate with nothing",
        ):
            rsa(simplex, y, correlation=correlation)


def test_an_unknown_correlation_is_refused():
    space = np.random.default_rng(0).standard_normal((9, 2))
    with pytest.raises(
        MetricError, match="correlation of rsa is spearman or pearson; got 'kendall'"
    ):
        rsa(space, space, correlation="kendall")
