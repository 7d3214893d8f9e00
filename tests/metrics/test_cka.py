"""Kernel alignment: definitions written out, the released code, cases by hand."""

from __future__ import annotations

import json
import math
from itertools import permutations
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import MetricError
from core.metrics import METRICS
from core.spaces import neighbors
from core.spaces.kernels import centered, linear, local_kernel, u_centered
from core.spaces.preprocess import normalize_rows
from tests.metrics.oracles import nearest_literally, song_hsic

cka, unbiased_cka, rbf_cka = METRICS["cka"], METRICS["unbiased_cka"], METRICS["rbf_cka"]
seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=20)


def spaces(seed: int, *, n: int = 7) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((n, 3))
    return shared + rng.standard_normal((n, 3)), np.hstack([shared, rng.standard_normal((n, 2))])


def published(reference: Path) -> tuple[np.ndarray, np.ndarray, dict[str, float]]:
    features = np.load(reference / "features_n256.npz")
    values = json.loads((reference / "metrics_n256.json").read_text())["values"]
    return normalize_rows(features["A"]), normalize_rows(features["B"]), values


def products_literally(space: np.ndarray) -> list[list[float]]:
    return [
        [sum(a * b for a, b in zip(own, other, strict=True)) for other in space.tolist()]
        for own in space.tolist()
    ]


def gaussian_literally(space: np.ndarray, sigma: float) -> list[list[float]]:
    return [
        [math.exp(-(math.dist(own, other) ** 2) / (2 * sigma**2)) for other in space.tolist()]
        for own in space.tolist()
    ]


def median_distance(space: np.ndarray) -> float:
    return float(
        np.median([math.dist(space[i], space[j]) for i in range(len(space)) for j in range(i)])
    )


def hsic_literally(K: list[list[float]], L: list[list[float]]) -> float:
    """Return tr(KHLH) by four nested sums over indices, with no matrix centered."""
    n = len(K)
    every = range(n)
    pairs = sum(K[i][j] * L[i][j] for i in every for j in every)
    rows = sum(sum(K[i]) * sum(L[i]) for i in every)
    return pairs - 2 * rows / n + sum(map(sum, K)) * sum(map(sum, L)) / n**2


def unbiased_hsic_literally(K: list[list[float]], L: list[list[float]]) -> float:
    """Average K_ij (L_ij + L_qr − 2 L_iq) over all draws of four different stimuli: what the
    estimator is unbiased for.
    """
    terms = [
        K[i][j] * (L[i][j] + L[q][r] - 2 * L[i][q]) for i, j, q, r in permutations(range(len(K)), 4)
    ]
    return sum(terms) / len(terms)


def alignment_literally(hsic, K: list[list[float]], L: list[list[float]]) -> float:
    return hsic(K, L) / math.sqrt(hsic(K, K) * hsic(L, L))


@few
@given(seed=seeds)
def test_cka_equals_its_definition(seed):
    x, y = spaces(seed)
    assert cka(x, y) == pytest.approx(
        alignment_literally(hsic_literally, *map(products_literally, (x, y))), abs=1e-12
    )


@few
@given(seed=seeds)
def test_unbiased_cka_equals_the_average_over_draws_of_four_stimuli(seed):
    x, y = spaces(seed)
    expected = alignment_literally(unbiased_hsic_literally, *map(products_literally, (x, y)))
    assert unbiased_cka(x, y) == pytest.approx(expected, abs=1e-10)


@few
@given(seed=seeds, bandwidth=st.floats(0.7, 5))
def test_rbf_cka_equals_its_definition_in_both_units(seed, bandwidth):
    x, y = spaces(seed)
    fixed = [gaussian_literally(space, bandwidth) for space in (x, y)]
    relative = [gaussian_literally(space, bandwidth * median_distance(space)) for space in (x, y)]
    for unit, kernels in (("feature", fixed), ("median", relative)):
        expected = alignment_literally(hsic_literally, *kernels)
        assert rbf_cka(x, y, bandwidth=bandwidth, unit=unit) == pytest.approx(expected, abs=1e-9)


def test_cka_and_rbf_cka_equal_the_released_code(reference):
    x, y, values = published(reference)
    assert cka(x, y) == pytest.approx(values["cka_linear"], rel=1e-6)
    assert rbf_cka(x, y, bandwidth=1.0, unit="feature") == pytest.approx(
        values["cka_rbf_sigma_1"], rel=1e-6
    )


def test_unbiased_cka_differs_from_the_released_code_by_the_constant_in_its_denominator(reference):
    """It divides by the root + 1e-6, and HSIC per pair of rows of length 1 is about 0.05: the value
    comes out 2e-5 too low.
    """
    x, y, values = published(reference)
    root = math.sqrt(
        math.prod(
            song_hsic(space @ space.T, space @ space.T)
            for space in (x.astype(float), y.astype(float))
        )
    )
    theirs = values["unbiased_cka_linear"]
    assert unbiased_cka(x, y) * root / (root + 1e-6) == pytest.approx(theirs, rel=1e-6)
    assert unbiased_cka(x, y) == pytest.approx(theirs, rel=3e-5)
    assert unbiased_cka(x, y) != pytest.approx(theirs, rel=1e-5)


def test_cka_of_two_single_dimensions_is_their_squared_correlation():
    x, y = np.array([[0.0], [1], [2], [5]]), np.array([[1.0], [0], [3], [4]])
    assert cka(x, y) == pytest.approx(
        10**2 / (14 * 10), abs=1e-12
    )  # sums of products and of squares around the means


def test_two_crossed_splits_of_four_stimuli():
    """Uncorrelated, so CKA is 0; over pairs, whoever shares one half never shares the other, which
    the unbiased form calls −1/2.

    By hand: K̃ is 4/3 within a half and −2/3 across, two pairs against four, so Σ K̃L̃ = −24/9 and
    Σ K̃² = 48/9.
    """
    x, y = np.array([[1.0], [1], [-1], [-1]]), np.array([[1.0], [-1], [1], [-1]])
    assert cka(x, y) == pytest.approx(0, abs=1e-12)
    assert unbiased_cka(x, y) == pytest.approx(-0.5, abs=1e-12)


def test_over_all_shufflings_unbiased_cka_averages_0_and_cka_its_analytic_chance():
    x, y = spaces(0, n=6)
    orders = [list(order) for order in permutations(range(6))]
    free_x, free_y, biased_x, biased_y = (
        f(linear(space)) for f in (u_centered, centered) for space in (x, y)
    )
    assert np.mean(
        [np.vdot(free_x, free_y[np.ix_(order, order)]) for order in orders]
    ) == pytest.approx(0, abs=1e-12)
    chance = np.trace(biased_x) * np.trace(biased_y) / 5
    assert np.mean(
        [np.vdot(biased_x, biased_y[np.ix_(order, order)]) for order in orders]
    ) == pytest.approx(chance, abs=1e-12)


@pytest.mark.parametrize("metric", [cka, unbiased_cka, rbf_cka], ids=lambda metric: metric.spec.id)
@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_a_far_center_and_tiny_or_huge_features_cost_no_digits(metric, size):
    x, y = spaces(0, n=30)
    assert metric(x + 1e6, y) == pytest.approx(metric(x, y), abs=1e-8)
    assert metric((x * size).astype(np.float32), y) == pytest.approx(metric(x, y), abs=1e-6)


def rotated_simplex(n: int) -> np.ndarray:
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((n, n)))[0]
    return (np.eye(n) @ turn).astype(np.float32)


def test_where_all_stimuli_are_equally_similar_only_the_unbiased_form_has_no_value():
    """The biased form has one: its chance level, whatever the other space is."""
    _, y = spaces(0, n=20)
    for x in (np.eye(20), rotated_simplex(20)):
        with pytest.raises(
            MetricError,
            match=r"all similarities in this space are equal.*only rounding; choose another layer",
        ):
            unbiased_cka(x, y)
        chance = np.trace(centered(linear(y))) / math.sqrt(19)
        assert cka(x, y) == pytest.approx(chance, abs=1e-6)


def test_the_unbiased_form_needs_four_stimuli():
    x, y = spaces(0)
    with pytest.raises(MetricError, match="the unbiased estimator needs at least 4 stimuli; got 3"):
        unbiased_cka(x[:3], y[:3])
    assert unbiased_cka(x[:4], x[:4]) == pytest.approx(1)


def test_a_kernel_so_narrow_that_nothing_is_similar_is_refused():
    x, y = spaces(0)
    with pytest.raises(
        MetricError,
        match=r"leaves every stimulus similar to itself alone, .*larger bandwidth than 0\.01",
    ):
        rbf_cka(x, y, bandwidth=0.01)


cknna = METRICS["cknna"]
some = settings(max_examples=25)


def local_spaces(
    seed: int, *, n: int = 10, noise: float = 1.0, offset: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((n, 6)) + offset
    return tuple(normalize_rows(shared + noise * rng.standard_normal((n, 6))) for _ in range(2))


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


@some
@given(seed=seeds, k=st.integers(1, 9))
def test_the_paper_s_variant_equals_its_definition(seed, k):
    x, y = local_spaces(seed)
    assert cknna(x, y, k=k) == pytest.approx(cknna_literally(x, y, k), abs=1e-12)


@some
@given(seed=seeds, k=st.integers(2, 9))
def test_the_released_variant_equals_its_definition(seed, k):
    x, y = local_spaces(seed)
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


@some
@given(seed=seeds)
def test_the_released_variant_is_unbiased_cka_where_all_are_neighbors(seed):
    x, y = local_spaces(seed)
    assert cknna(x, y, k=9, variant="released") == pytest.approx(
        METRICS["unbiased_cka"](x, y), abs=1e-9
    )


@some
@given(seed=seeds)
def test_the_paper_s_variant_is_cka_without_diagonals_where_all_are_neighbors_and_means_are_0(seed):
    x, y = (space - space.mean(axis=0) for space in local_spaces(seed))
    K, L = (space @ space.T * (1 - np.eye(len(space))) for space in (x, y))
    assert cknna(x, y, k=9) == pytest.approx(
        (K * L).sum() / math.sqrt((K * K).sum() * (L * L).sum()), abs=1e-9
    )


def test_the_released_variant_exceeds_1_and_is_not_symmetric():
    x, y = local_spaces(34, n=24, noise=0.3, offset=3.0)
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


@some
@given(seed=seeds, k=st.integers(1, 9))
def test_a_local_kernel_holds_n_k_numbers_and_has_length_1(seed, k):
    x, _ = local_spaces(seed)
    local = local_kernel(x, k=k, variant="paper")
    assert local.nnz == 10 * k
    assert (local.data**2).sum() == pytest.approx(1, abs=1e-12)


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
        cknna(octahedron(), local_spaces(0, n=6)[1], k=4, variant=variant)


def test_a_root_of_a_negative_hsic_is_refused():
    x = np.array([[-0.51, 0.23], [0.75, -2.16], [-1.4, 0.24], [-0.4, -0.18], [1.18, 0.8]])
    with pytest.raises(
        MetricError, match=r"has an HSIC of -.* with itself, which has no root to divide by"
    ):
        cknna(x, local_spaces(0, n=5)[1], k=2, variant="released")


def test_rounding_is_not_taken_for_a_positive_hsic():
    """One stimulus opposite to all others: off the diagonal this kernel is a sum of row and column
    terms, so its HSIC is 0.
    """
    x = np.ones((8, 1))
    x[3] = -1
    turned = x @ np.array([[0.6, 0.8]])
    unrefused = mock.patch.object(neighbors, "MOST_TIED", 1.0)
    with unrefused, pytest.raises(MetricError, match="which has no root to divide by"):
        cknna(turned, local_spaces(0, n=8)[1], k=7, variant="released")
