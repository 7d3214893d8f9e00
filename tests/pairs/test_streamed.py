"""Chunks of any size give the metrics of the whole spaces."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import MetricError
from core.metrics import METRICS
from core.metrics.cka import cka_of_sums
from core.metrics.predictivity import predictivity_of_sums
from core.metrics.shapes import procrustes_of_sums
from core.pairs.streamed import add_up

OF_SUMS = {
    "cka": cka_of_sums,
    "procrustes": procrustes_of_sums,
    "linear_predictivity": predictivity_of_sums,
}
every_metric = pytest.mark.parametrize("metric", OF_SUMS)


def spaces(seed: int = 0, *, n: int = 60, offset: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((n, 4))
    return tuple(
        shared @ rng.standard_normal((4, width)) + rng.standard_normal((n, width)) + offset
        for width in (5, 8)
    )


def chunks(
    x: np.ndarray, y: np.ndarray, sizes: list[int]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    edges = np.cumsum([0, *sizes, len(x)]).clip(0, len(x))
    for start, stop in pairwise(edges):
        yield x[start:stop], y[start:stop]


@every_metric
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), sizes=st.lists(st.integers(0, 40), max_size=6))
def test_equal_the_metric_of_the_whole_spaces(metric, seed, sizes):
    x, y = spaces(seed)
    sums = add_up(chunks(x, y, sizes), folds=5)
    assert OF_SUMS[metric](sums) == pytest.approx(METRICS[metric](x, y), abs=1e-9)


@every_metric
def test_keep_their_digits_beside_a_large_mean(metric):
    """Sums of raw products would lose what stands out of it: 10¹² beside 1."""
    x, y = spaces(1, offset=1e6)
    value = OF_SUMS[metric](add_up(chunks(x, y, [7] * 9), folds=5))
    assert value == pytest.approx(METRICS[metric](x - 1e6, y - 1e6), abs=1e-6)


@every_metric
def test_float32_chunks_are_summed_in_float64(metric):
    x, y = (space.astype(np.float32) for space in spaces(2, n=300))
    value = OF_SUMS[metric](add_up(chunks(x, y, [50] * 6), folds=5))
    assert value == pytest.approx(METRICS[metric](x.astype(float), y.astype(float)), abs=1e-9)


def test_hand_computed_cka():
    """XᵀX and YᵀY are diag(4, 4) and XᵀY has the one entry 4: 16 / (√32 √32)."""
    shared, of_x, of_y = (
        np.array([1.0, -1, 1, -1]),
        np.array([1.0, 1, -1, -1]),
        np.array([1.0, -1, -1, 1]),
    )
    x, y = np.stack([shared, of_x], axis=1), np.stack([shared, of_y], axis=1)
    assert cka_of_sums(add_up([(x, y)])) == pytest.approx(1 / 2)


def test_chunks_over_other_stimuli_are_refused():
    x, y = spaces()
    with pytest.raises(
        MetricError,
        match="chunks over the same stimuli expected; given 10 and 9 from stimulus 30 on",
    ):
        add_up([(x[:30], y[:30]), (x[30:40], y[30:39])])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_features_that_are_not_finite_are_refused(bad):
    x, y = spaces()
    y[42, 3] = bad
    with pytest.raises(
        MetricError, match="a space must be finite; stimulus 42 has NaN or infinity"
    ):
        add_up(chunks(x, y, [20, 20]))


@pytest.mark.parametrize("n", [0, 1, 2])
def test_fewer_than_three_stimuli_are_refused(n):
    x, y = spaces()
    with pytest.raises(MetricError, match=f"at least 3 stimuli expected; the chunks hold {n}"):
        add_up(chunks(x[:n], y[:n], [1]))


@pytest.mark.parametrize(
    "flat", [np.ones((60, 8)), np.outer(np.arange(60), np.ones(8)) / 7], ids=["constant", "a line"]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_space_without_two_directions_is_refused(flat, dtype):
    x, _ = spaces()
    with pytest.raises(
        MetricError, match="rank 2 or more expected; the stimuli of y lie on one line"
    ):
        add_up(chunks(x, flat.astype(dtype), [7, 7]))


def test_predictivity_needs_folds_and_stimuli_to_fill_them():
    x, y = spaces()
    with pytest.raises(MetricError, match=r"at least 3 folds expected.*given 2"):
        predictivity_of_sums(add_up([(x, y)], folds=2))
    with pytest.raises(
        MetricError, match="5 folds need at least 10 stimuli; given 9: use fewer folds"
    ):
        predictivity_of_sums(add_up([(x[:9], y[:9])], folds=5))
