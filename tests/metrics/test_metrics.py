"""Every metric: three proofs (published value, slow oracle, properties from its spec) and refusal of degenerate input."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core.errors import MetricError
from core.metrics import METRICS
from core.metrics.preprocess import normalize_rows
from core.metrics.spec import INVARIANCES
from tests.metrics.oracles import mutual_knn_literally

every_metric = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS.keys())
seeds = st.integers(0, 2**32 - 1)


def spaces(seed: int, *, n: int = 24, dims: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Return two spaces of rows of length 1 that share half of their variance."""
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((n, dims))
    return tuple(normalize_rows(shared + rng.standard_normal((n, dims))) for _ in range(2))


def rotation(space: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return space @ np.linalg.qr(rng.standard_normal((space.shape[1],) * 2))[0]


def isotropic_scaling(space: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return space * rng.uniform(0.01, 100)


def translation(space: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return space + rng.standard_normal(space.shape[1])


def invertible_linear(space: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    stretch = np.diag(np.geomspace(0.1, 10, space.shape[1]))
    return rotation(rotation(space, rng) @ stretch, rng)


MAPS = {function.__name__: function for function in (rotation, isotropic_scaling, translation, invertible_linear)}


def test_every_invariance_has_a_map():
    assert set(MAPS) == set(INVARIANCES)


@every_metric
@pytest.mark.parametrize("name", INVARIANCES)
def test_invariances_are_those_of_the_spec_and_no_others(metric, name):
    """A claimed invariance holds on every draw; where none is claimed, some draw changes the value."""
    changes = []
    for seed in range(20):
        x, y = spaces(seed)
        changes.append(abs(metric(MAPS[name](x, np.random.default_rng(seed)), y) - metric(x, y)))
    assert (max(changes) <= 1e-9) == (name in metric.spec.invariances)


@every_metric
@given(seed=seeds)
def test_value_lies_in_the_range_and_is_symmetric_where_the_spec_says_so(metric, seed):
    x, y = spaces(seed)
    low, high = metric.spec.range
    assert low <= metric(x, y) <= high
    if metric.spec.symmetric:
        assert metric(x, y) == metric(y, x)


@every_metric
@given(seed=seeds)
def test_a_space_is_at_the_aligned_end_with_itself(metric, seed):
    x, _ = spaces(seed)
    assert metric(x, x) == metric.spec.range[metric.spec.higher_is_more_aligned]


@every_metric
@given(seed=seeds)
def test_a_common_reordering_of_the_stimuli_changes_nothing(metric, seed):
    x, y = spaces(seed)
    order = np.random.default_rng(seed).permutation(len(x))
    assert metric(x[order], y[order]) == pytest.approx(metric(x, y), abs=1e-12)


@every_metric
def test_shuffling_one_space_lowers_alignment(metric):
    x, y = spaces(0, n=100)
    order = np.random.default_rng(0).permutation(100)
    assert (metric(x, y) > metric(x, y[order])) == metric.spec.higher_is_more_aligned


@every_metric
def test_spaces_over_other_stimuli_are_refused(metric):
    x, y = spaces(0)
    with pytest.raises(MetricError, match="two spaces over the same stimuli expected; given 24 and 23 stimuli"):
        metric(x, y[:-1])


@every_metric
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_features_that_are_not_finite_are_refused(metric, bad):
    x, y = spaces(0)
    y[7, 2] = bad
    with pytest.raises(MetricError, match="stimulus 7 has NaN or infinity"):
        metric(x, y)


@every_metric
def test_constant_features_are_refused(metric):
    x, y = spaces(0)
    with pytest.raises(MetricError, match="all 24 stimuli have the same vector"):
        metric(x, np.ones_like(y))


@every_metric
@pytest.mark.parametrize("n", [0, 1, 2])
def test_fewer_than_three_stimuli_are_refused(metric, n):
    x, y = spaces(0)
    with pytest.raises(MetricError, match=rf"a space of at least 3 stimuli and 1 dimension expected; given {n} × 6"):
        metric(x[:n], y[:n])


@every_metric
def test_an_unknown_parameter_is_refused(metric):
    with pytest.raises(MetricError, match=rf"{metric.spec.id} takes the parameters k; given neighbours$"):
        metric(*spaces(0), neighbours=5)


def test_mutual_knn_equals_the_released_code(reference):
    features = np.load(reference / "features_n256.npz")
    x, y = normalize_rows(features["A"]), normalize_rows(features["B"])
    published = json.loads((reference / "metrics_n256.json").read_text())["mutual_knn_by_k"]
    for k, value in ((int(key), value) for key, value in published.items()):
        ours = METRICS["mutual_knn"](x, y, k=k)
        assert ours * 256 * k == round(value * 256 * k), k  # the same number of common neighbors
        assert ours == pytest.approx(value, abs=1e-6), k  # the released code averages in float32


@given(seed=seeds, k=st.integers(1, 23))
def test_mutual_knn_equals_a_slow_oracle(seed, k):
    x, y = spaces(seed)
    assert METRICS["mutual_knn"](x, y, k=k) == pytest.approx(mutual_knn_literally(x, y, k), abs=1e-12)


@given(seed=seeds)
def test_mutual_knn_is_one_when_every_other_stimulus_is_a_neighbor(seed):
    x, y = spaces(seed)
    assert METRICS["mutual_knn"](x, y, k=23) == 1


def test_mutual_knn_of_a_hand_computed_case():
    x = np.array([[1, 0], [0.9, 0.1], [0, 1]])  # nearest: 1, 0, 1
    y = np.array([[1, 0], [0.1, 0.9], [0, 1]])  # nearest: 1, 2, 1
    assert METRICS["mutual_knn"](x, y, k=1) == pytest.approx(2 / 3)


@given(seed=seeds, k=st.integers(1, 22))
def test_mutual_knn_takes_no_notice_of_how_similar_neighbors_are(seed, k):
    """It is ordinal: cubing all similarities (a kernel of degree 3) keeps their order and so the value."""
    x, y = spaces(seed, dims=3)
    cubed = np.einsum("ia,ib,ic->iabc", x, x, x).reshape(len(x), -1)
    assume(_has_no_near_ties(x))
    assert METRICS["mutual_knn"](cubed, y, k=k) == METRICS["mutual_knn"](x, y, k=k)


def _has_no_near_ties(space: np.ndarray) -> bool:
    gaps = np.diff(np.sort(space @ space.T, axis=1), axis=1)
    return bool(gaps.min() > 1e-5)
