"""Clamping equals its literal definition; nothing is divided by an epsilon."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import FeatureError, MetricError
from core.spaces.preprocess import clamp_outliers, normalize_rows, threshold
from tests.metrics.oracles import clamp_average_literally, clamp_literally


def ragged(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [(rng.standard_normal((6, width)) ** 3).astype(np.float32) for width in (1, 5, 3)]


@given(seed=st.integers(0, 2**32 - 1), q=st.floats(0.01, 0.999))
def test_clamp_equals_its_definition_over_layers_of_different_widths(seed, q):
    layers = ragged(seed)
    assert [layer.tolist() for layer in clamp_outliers(layers, q=q)] == clamp_literally(layers, q)


@given(seed=st.integers(0, 2**32 - 1), q=st.floats(0.01, 1))
def test_the_threshold_is_an_entry_of_the_sorted_sizes(seed, q):
    layers = ragged(seed)
    before = [layer.copy() for layer in layers]
    sizes = sorted(abs(value) for layer in layers for value in layer.ravel().tolist())
    assert threshold(layers, q=q) == sizes[min(int(q * len(sizes)), len(sizes) - 1)]
    assert all((layer == same).all() for layer, same in zip(layers, before, strict=True))


def test_the_threshold_takes_no_more_memory_than_one_copy_of_the_model():
    layers = [np.ones((1000, 50), np.float32)] * 4
    tracemalloc.start()
    threshold(layers, q=0.95)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.1 * sum(layer.nbytes for layer in layers)


@given(seed=st.integers(0, 2**32 - 1), q=st.floats(0.01, 0.999))
def test_the_other_published_ways_to_clamp_equal_their_definitions(seed, q):
    layers = ragged(seed)
    average = clamp_average_literally(layers, q)
    for clamped, wanted in zip(clamp_outliers(layers, q=q, clamp="average"), average, strict=True):
        np.testing.assert_allclose(clamped, wanted, rtol=1e-6)
    alone = [clamp_literally([layer], q)[0] for layer in layers]
    each = clamp_outliers(layers, q=q, clamp="layers")
    assert [layer.tolist() for layer in each] == alone


def test_a_loud_stimulus_moves_the_mean_of_quantiles_and_a_loud_layer_its_own():
    """Four stimuli of one size and one of a hundred times that: of 5 · 4 values four are large."""
    layer = np.outer([1, 1, 1, 1, 100], np.ones(4)).astype(np.float32)
    assert clamp_outliers([layer], q=0.5, clamp="exact")[0].max() == 1
    assert clamp_outliers([layer], q=0.5, clamp="average")[0].max() == np.float32(104 / 5)
    small, large = clamp_outliers([layer[:4], 10 * layer[:4, :3]], q=0.5, clamp="layers")
    assert (small.max(), large.max()) == (1, 10)


def test_layers_of_one_width_are_clamped_together_as_the_code_takes_them_as_an_array():
    layers = [layer[:, :1] for layer in ragged(0)]
    together = clamp_outliers(layers, q=0.5, clamp="exact")
    apart = clamp_outliers(layers, q=0.5, clamp="layers")
    assert all((a == b).all() for a, b in zip(apart, together, strict=True))


@pytest.mark.parametrize("q", [0.0, -0.1, 1.5, float("nan")])
def test_a_quantile_outside_its_range_is_refused(q):
    with pytest.raises(MetricError, match=rf"must lie in \(0, 1\]; got {q}$"):
        clamp_outliers(ragged(0), q=q)


def test_a_clamp_that_would_wipe_out_sparse_features_is_refused():
    with pytest.raises(MetricError, match=r"clamping at q = 0\.95 would set every value to 0"):
        clamp_outliers([np.eye(40, dtype=np.float32)], q=0.95)


@given(seed=st.integers(0, 2**32 - 1), size=st.sampled_from([1e-30, 1.0, 1e30]))
def test_rows_get_length_one_and_keep_their_direction(seed, size):
    space = (np.random.default_rng(seed).standard_normal((5, 4)) * size).astype(np.float32)
    unit = normalize_rows(space)
    assert unit.dtype == space.dtype
    np.testing.assert_allclose((unit.astype(float) ** 2).sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(unit / unit[:, :1], space / space[:, :1], rtol=1e-5)


def test_a_vector_of_zeros_is_refused():
    space = np.ones((4, 3), np.float32)
    space[2] = 0
    with pytest.raises(
        FeatureError, match=r"vectors with a direction expected; stimulus 2 has only zeros"
    ):
        normalize_rows(space)
