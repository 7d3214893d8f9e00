"""Mutual kNN equals published values, a slow oracle and a hand-computed case, and takes no notice
of how similar neighbors are.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core.metrics import METRICS
from core.spaces.preprocess import normalize_rows
from tests.metrics.oracles import mutual_knn_literally

seeds = st.integers(0, 2**32 - 1)


def spaces(seed: int, *, n: int = 24, dims: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Return two spaces of rows of length 1 that share half of their variance."""
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((n, dims))
    return tuple(normalize_rows(shared + rng.standard_normal((n, dims))) for _ in range(2))


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
    assert METRICS["mutual_knn"](x, y, k=k) == pytest.approx(
        mutual_knn_literally(x, y, k), abs=1e-12
    )


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
    """Cubing all similarities (a kernel of degree 3) keeps their order and so the value."""
    x, y = spaces(seed, dims=3)
    cubed = np.einsum("ia,ib,ic->iabc", x, x, x).reshape(len(x), -1)
    assume(_has_no_near_ties(x))
    assert METRICS["mutual_knn"](cubed, y, k=k) == METRICS["mutual_knn"](x, y, k=k)


def _has_no_near_ties(space: np.ndarray) -> bool:
    gaps = np.diff(np.sort(space @ space.T, axis=1), axis=1)
    return bool(gaps.min() > 1e-5)
