"""CKNNA in two variants: published values, the definitions in plain Python, and what each is where
all stimuli are neighbors.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import MetricError
from core.metrics import METRICS
from core.metrics.cka import compare_centered
from core.spaces import neighbors
from core.spaces.kernels import local_kernel
from core.spaces.preprocess import normalize_rows
from tests.metrics.oracles import nearest_literally, song_hsic

cknna = METRICS["cknna"]
seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=25)


def spaces(
    seed: int, *, n: int = 10, noise: float = 1.0, offset: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((n, 6)) + offset
    return tuple(normalize_rows(shared + noise * rng.standard_normal((n, 6))) for _ in range(2))


def published(reference: Path) -> tuple[np.ndarray, np.ndarray, dict[str, float]]:
    features = np.load(reference / "features_n256.npz")
    values = json.loads((reference / "metrics_n256.json").read_text())["values"]
    return normalize_rows(features["A"]), normalize_rows(features["B"]), values


def cknna_literally(x: np.ndarray, y: np.ndarray, k: int) -> float:
    """Sum over pairs in loops, from the paper's equations."""

    def centered(space: np.ndarray, i: int, j: int) -> float:
        return float(space[i] @ space[j]) - sum(float(space[i] @ other) for other in space) / len(
            space
        )

    def align(a: np.ndarray, b: np.ndarray) -> float:
        near_a, near_b = nearest_literally(a, k), nearest_literally(b, k)
        return sum(
            centered(a, i, j) * centered(b, i, j)
            for i in range(len(a))
            for j in near_a[i]
            if j in near_b[i]
        )

    return align(x, y) / math.sqrt(align(x, x) * align(y, y))


def masked_hsic(x: np.ndarray, y: np.ndarray, near_x: np.ndarray, near_y: np.ndarray) -> float:
    return song_hsic(near_x * near_y * (x @ x.T), near_x * near_y * (y @ y.T))


def released_literally(x: np.ndarray, y: np.ndarray, k: int, *, constant: float = 0.0) -> float:
    """Mask whole kernels, as the released code does; constant: what it adds to the denominator."""
    x, y = x.astype(float), y.astype(float)
    near = []
    for space in (x, y):
        mask = np.zeros((len(space), len(space)))
        for i, row in enumerate(
            np.argsort(
                -(space @ space.T) + np.diag(np.full(len(space), np.inf)), axis=1, kind="stable"
            )
        ):
            mask[i, row[:k]] = 1
        near.append(mask)
    own_x, own_y = masked_hsic(x, x, near[0], near[0]), masked_hsic(y, y, near[1], near[1])
    return masked_hsic(x, y, *near) / (math.sqrt(own_x * own_y) + constant)


@few
@given(seed=seeds, k=st.integers(1, 9))
def test_the_paper_s_variant_equals_its_definition(seed, k):
    x, y = spaces(seed)
    assert cknna(x, y, k=k) == pytest.approx(cknna_literally(x, y, k), abs=1e-12)


@few
@given(seed=seeds, k=st.integers(2, 9))
def test_the_released_variant_equals_its_definition(seed, k):
    x, y = spaces(seed)
    assert cknna(x, y, k=k, variant="released") == pytest.approx(
        released_literally(x, y, k), abs=1e-9
    )


def test_the_paper_s_variant_equals_the_published_value(reference):
    x, y, values = published(reference)
    assert cknna(x, y) == pytest.approx(values["cknna_paper_equations_center_then_mask"], rel=1e-6)


def test_the_released_variant_differs_from_the_released_code_by_the_constant_in_its_denominator(
    reference,
):
    """It adds 1e-6 to a root that is small where most of a kernel is masked: its value is 1.5e-4
    too low, 2e-5 at k = n − 1.
    """
    x, y, values = published(reference)
    for k, key in (
        (10, "cknna_released_code_unbiased"),
        (255, "cknna_released_code_k_n_minus_1_equals_unbiased_cka"),
    ):
        assert released_literally(x, y, k, constant=1e-6) == pytest.approx(values[key], rel=1e-6)
        assert cknna(x, y, k=k, variant="released") == pytest.approx(
            released_literally(x, y, k), rel=1e-9
        )
        assert cknna(x, y, k=k, variant="released") == pytest.approx(values[key], rel=2e-4)


@few
@given(seed=seeds)
def test_the_released_variant_is_unbiased_cka_where_all_are_neighbors(seed):
    x, y = spaces(seed)
    assert cknna(x, y, k=9, variant="released") == pytest.approx(
        METRICS["unbiased_cka"](x, y), abs=1e-9
    )


@few
@given(seed=seeds)
def test_the_paper_s_variant_is_cka_without_diagonals_where_all_are_neighbors_and_means_are_0(seed):
    x, y = (space - space.mean(axis=0) for space in spaces(seed))
    K, L = (space @ space.T * (1 - np.eye(len(space))) for space in (x, y))
    assert cknna(x, y, k=9) == pytest.approx(
        (K * L).sum() / math.sqrt((K * K).sum() * (L * L).sum()), abs=1e-9
    )


def test_the_paper_s_variant_is_neither_cka_where_means_are_not_0():
    x, y = spaces(0, n=100, offset=1.0)
    value = cknna(x, y, k=99)
    assert abs(value - METRICS["cka"](x, y)) > 0.01
    assert abs(value - METRICS["unbiased_cka"](x, y)) > 0.01


def test_the_released_variant_exceeds_1_and_is_not_symmetric():
    x, y = spaces(34, n=24, noise=0.3, offset=3.0)
    values = cknna(x, y, k=22, variant="released"), cknna(y, x, k=22, variant="released")
    assert min(values) > 2
    assert abs(values[0] - values[1]) > 1e-3
    assert cknna(x, y, k=22) < 1


def test_a_hand_computed_case():
    """Nearest in x: 1, 0, 1, with products 2, 2, 1 less row means of 1, 8/3, 2/3; in y: 1, 0, 0,
    with 2, 2, 1 less 8/3, 1, 2/3.

    Centered: 1, −2/3, 1/3 in x and −2/3, 1, 1/3 in y. The neighbors of the first two are shared:
    (−2/3 − 2/3) / (14/9).
    """
    x = np.array([[1.0, 0], [2, 1], [0, 1]])
    y = np.array([[2.0, 1], [1, 0], [0, 1]])
    assert cknna(x, y, k=1) == pytest.approx(-6 / 7, abs=1e-12)


def test_without_common_neighbors_the_paper_s_variant_is_0():
    x = np.array([[1, 0.1, 0], [1, 0, 0.1], [0, 1, 0.1], [0.1, 1, 0]])
    y = x[[0, 2, 1, 3]]
    assert cknna(x, y, k=1) == 0


@few
@given(seed=seeds, k=st.integers(1, 9))
def test_a_local_kernel_holds_n_k_numbers_and_has_length_1(seed, k):
    x, _ = spaces(seed)
    local = local_kernel(x, k=k, variant="paper")
    assert local.nnz == 10 * k
    assert compare_centered(local, local) == pytest.approx(1, abs=1e-12)


@few
@given(seed=seeds, k=st.integers(1, 9))
def test_the_paper_s_variant_lies_in_its_range_for_every_k(seed, k):
    x, y = spaces(seed)
    assert abs(cknna(x, y, k=k)) <= 1


def octahedron() -> np.ndarray:
    return np.vstack([np.eye(3), -np.eye(3)])


@pytest.mark.parametrize("variant", ["paper", "released"])
def test_neighbors_without_any_similarity_are_refused(variant):
    """Each corner of an octahedron is at a right angle to its four neighbors, and the mean
    similarity is 0 too.
    """
    messages = {
        "paper": "all similarities in this space are equal",
        "released": r"has an HSIC of 0 with itself.*another k, or the variant",
    }
    with (
        mock.patch.object(neighbors, "MOST_TIED", 1.0),
        pytest.raises(MetricError, match=messages[variant]),
    ):
        cknna(octahedron(), spaces(0, n=6)[1], k=4, variant=variant)


def test_a_root_of_a_negative_hsic_is_refused():
    x = np.array([[-0.51, 0.23], [0.75, -2.16], [-1.4, 0.24], [-0.4, -0.18], [1.18, 0.8]])
    with pytest.raises(
        MetricError, match=r"has an HSIC of -.* with itself, which has no root to divide by"
    ):
        cknna(x, spaces(0, n=5)[1], k=2, variant="released")


def test_rounding_is_not_taken_for_a_positive_hsic():
    """One stimulus opposite to all others: off the diagonal this kernel is a sum of row and column
    terms, so its HSIC is 0.
    """
    x = np.ones((8, 1))
    x[3] = -1
    turned = x @ np.array([[0.6, 0.8]])
    unrefused = mock.patch.object(neighbors, "MOST_TIED", 1.0)
    with unrefused, pytest.raises(MetricError, match="which has no root to divide by"):
        cknna(turned, spaces(0, n=8)[1], k=7, variant="released")


def test_the_released_variant_needs_four_stimuli():
    x, y = spaces(0)
    with pytest.raises(MetricError, match="the unbiased estimator needs at least 4 stimuli; got 3"):
        cknna(x[:3], y[:3], k=2, variant="released")
    assert -1 <= cknna(x[:3], y[:3], k=2) <= 1


def test_an_unknown_variant_is_refused():
    with pytest.raises(MetricError, match="variant of cknna is paper or released; got 'fast'"):
        cknna(*spaces(0), k=2, variant="fast")
