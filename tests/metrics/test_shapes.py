"""Metrics of shapes, subspaces and rankings: independent definitions, cases by hand."""

from __future__ import annotations

import json
import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import MetricError
from core.metrics import METRICS
from core.metrics.predictivity import predictivity_of_sums, stream_folds
from core.metrics.shapes import SVCCA, procrustes_of_sums
from core.pairs.engine import join
from core.spaces.preprocess import normalize_rows

procrustes, shape_angle = METRICS["procrustes"], METRICS["shape_angle"]
mean_cca, pwcca = METRICS["mean_cca"], METRICS["pwcca"]
seeds = st.integers(0, 2**32 - 1)


def svcca(x: np.ndarray, y: np.ndarray, *, rank: int) -> float:
    return SVCCA.engine(rank=rank).score(x, y)


def spaces(seed: int, *, n: int = 20, dims: tuple[int, ...] = (4, 6)) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((n, 3))
    return [shared @ rng.standard_normal((3, d)) + rng.standard_normal((n, d)) for d in dims]


def rotation(dims: int, seed: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((dims, dims)))[0]


@given(seed=seeds)
def test_procrustes_agrees_with_scipy(seed):
    """SciPy also scales one space to fit the other; what is left then is 1 − s²."""
    from scipy.spatial import procrustes as fit

    x, y = spaces(seed, dims=(5, 5))
    assert 1 - procrustes(x, y) ** 2 == pytest.approx(fit(x, y)[2], abs=1e-10)


def test_a_stretched_cross_by_hand():
    """Inner products of the axes are 4 and 2 and the lengths √4 and √10, so the overlap is 6 /
    √40.
    """
    x = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
    y = x * [2, 1] + 3
    assert procrustes(x, y) == pytest.approx(6 / np.sqrt(40), abs=1e-12)
    assert shape_angle(x, y) == pytest.approx(np.arccos(6 / np.sqrt(40)), abs=1e-12)


def test_two_crosses_at_right_angles_by_hand():
    """The stimuli that one space tells apart are at the origin of the other: nothing in common,
    overlap 0, angle π/2.
    """
    cross = np.concatenate([np.eye(4), -np.eye(4)])
    assert procrustes(cross[:, :2], cross[:, 2:]) == pytest.approx(0, abs=1e-15)
    assert shape_angle(cross[:, :2], cross[:, 2:]) == pytest.approx(np.pi / 2)


@given(seed=seeds)
def test_the_angle_is_the_arc_cosine_of_the_similarity_whichever_space_is_wider(seed):
    x, y = spaces(seed)
    assert shape_angle(x, y) == pytest.approx(np.arccos(procrustes(x, y)), abs=1e-7)
    assert shape_angle(y, x) == pytest.approx(shape_angle(x, y), abs=1e-12)


@given(seed=seeds)
def test_a_rotated_scaled_and_moved_copy_is_at_distance_zero_even_in_more_dimensions(seed):
    x, _ = spaces(seed)
    copy = 7 * np.pad(x, [(0, 0), (0, 3)]) @ rotation(7, seed) + 1
    assert shape_angle(x, copy) == pytest.approx(0, abs=1e-13)
    assert 1 - 1e-13 < procrustes(x, copy) <= 1


@given(seed=seeds)
def test_a_small_change_is_not_lost_in_the_rounding_of_a_cosine(seed):
    """The cosine of 10⁻¹⁰ is 1 to the last bit."""
    (x,) = spaces(seed, dims=(4,))
    nearby = x + 1e-10 * np.random.default_rng(seed).standard_normal(x.shape)
    assert 1e-12 < shape_angle(x, nearby) < 1e-9


@given(seed=seeds)
def test_the_angle_is_a_distance_while_canonical_correlations_see_no_stretch(seed):
    x, y, z = spaces(seed, dims=(4, 6, 5))
    assert shape_angle(x, z) <= shape_angle(x, y) + shape_angle(y, z) + 1e-12
    stretched = x @ np.diag([1, 2, 4, 8])
    assert mean_cca(x, stretched) == pytest.approx(1)
    assert shape_angle(x, stretched) > 0.01


@given(seed=seeds)
def test_more_dimensions_than_stimuli_give_the_same_as_the_inner_products_alone(seed):
    """The nuclear norm of XᵀY is the sum of square roots of the eigenvalues of the product of the
    two kernels.
    """
    x, y = spaces(seed, n=10, dims=(40, 25))
    kernels = [
        centered @ centered.T / (centered**2).sum()
        for centered in (x - x.mean(axis=0), y - y.mean(axis=0))
    ]
    squares = np.linalg.eigvals(kernels[0] @ kernels[1]).real
    assert procrustes(x, y) == pytest.approx(np.sqrt(np.clip(squares, 0, None)).sum(), abs=1e-6)


@pytest.mark.parametrize("name", ["procrustes", "shape_angle", "svcca", "pwcca", "mean_cca"])
def test_one_dimension_and_rank_one_are_refused(name):
    x, y = spaces(0)
    for line in (x[:, :1], x[:, :1] @ y[:1]):
        with pytest.raises(MetricError, match="a space of rank 2 or more expected"):
            METRICS[name](line, y)
        with pytest.raises(MetricError, match="a space of rank 2 or more expected"):
            METRICS[name](y, line)


CROSS = np.repeat(
    np.concatenate([np.eye(4), -np.eye(4)]), 2, axis=0
)  # 16 stimuli on four axes at right angles


def noisy_spaces(
    seed: int, *, n: int = 40, dims: tuple[int, int] = (5, 8)
) -> tuple[np.ndarray, np.ndarray]:
    """Return two noisy_spaces that share three directions, each in noise of its own."""
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((n, 3))
    return tuple(shared @ rng.standard_normal((3, d)) + rng.standard_normal((n, d)) for d in dims)


def eigen_cca(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Solve Cxx⁻¹ Cxy Cyy⁻¹ Cyx w = ρ² w (Hotelling); return every ρ and its variate x w at length
    1, largest first.
    """
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    product = np.linalg.solve(x.T @ x, x.T @ y) @ np.linalg.solve(y.T @ y, y.T @ x)
    squares, weights = np.linalg.eig(product)
    order = np.argsort(-squares.real)[: min(x.shape[1], y.shape[1])]
    variates = x @ weights[:, order].real
    return np.sqrt(squares[order].real), variates / np.linalg.norm(variates, axis=0)


def pwcca_literally(x: np.ndarray, y: np.ndarray) -> float:
    correlations, variates = eigen_cca(x, y)
    features = (x - x.mean(axis=0)).T
    weights = [sum(abs(float(variate @ feature)) for feature in features) for variate in variates.T]
    return sum(w * r for w, r in zip(weights, correlations, strict=True)) / sum(weights)


def svcca_literally(x: np.ndarray, y: np.ndarray, rank: int) -> float:
    """Take the eigenvectors of standardized Gram matrices, and the eigenvalues of the product of
    their projectors.
    """
    kept = []
    for space in (x, y):
        standard = (space - space.mean(axis=0)) / space.std(axis=0)
        kept.append(np.linalg.eigh(standard @ standard.T)[1][:, -rank:])
    a, b = kept
    squares = np.linalg.eigvals(a @ a.T @ b @ b.T).real
    return float(np.sqrt(np.sort(squares)[-rank:]).mean())


@given(seed=seeds)
def test_mean_cca_equals_an_eigenvalue_problem(seed):
    x, y = noisy_spaces(seed)
    assert mean_cca(x, y) == pytest.approx(eigen_cca(x, y)[0].mean(), abs=1e-8)


@pytest.mark.parametrize("dims", [(5, 8), (8, 5)])
@given(seed=seeds)
def test_pwcca_equals_its_definition(seed, dims):
    x, y = noisy_spaces(seed, dims=dims)
    assert pwcca(x, y) == pytest.approx(pwcca_literally(x, y), abs=1e-7)


@given(seed=seeds, rank=st.integers(2, 5))
def test_svcca_equals_projectors(seed, rank):
    x, y = noisy_spaces(seed)
    assert svcca(x, y, rank=rank) == pytest.approx(svcca_literally(x, y, rank), abs=1e-6)


def test_svcca_equals_the_exact_form_of_the_released_code_which_itself_is_random(reference):
    """The released code draws a random decomposition on each call, so its five values differ by
    0.09; ours lies among them.
    """
    features = np.load(reference / "features_n256.npz")
    x, y = normalize_rows(features["A"]), normalize_rows(features["B"])
    published = json.loads((reference / "metrics_n256.json").read_text())["values"]
    ours = METRICS["svcca"](x, y)
    assert ours == pytest.approx(
        published["svcca_exact_svd_mean_singular_value_of_UaT_Ub_rank_10"], rel=1e-6
    )
    assert (
        min(published["svcca_released_code_five_seeds"])
        < ours
        < max(published["svcca_released_code_five_seeds"])
    )


def test_correlations_of_a_cross_by_hand():
    """Two of three axes are common, the third of each is at right angles to all: correlations 1, 1,
    0.
    """
    x, y = CROSS[:, [0, 1, 2]], CROSS[:, [1, 0, 3]]
    assert mean_cca(x, y) == pytest.approx(2 / 3)
    assert svcca(x * [5, 4, 3], y * [1, 2, 4], rank=3) == pytest.approx(2 / 3)


def test_pwcca_weighs_by_what_x_carries_by_hand():
    """Axis 0 is common (correlation 1), axis 1 is not (0); x holds three times as much along the
    first.
    """
    x, y = CROSS[:, [0, 1]] * [3, 1], CROSS[:, [0, 2]]
    assert pwcca(x, y) == pytest.approx(3 / 4)
    assert pwcca(y, x) == pytest.approx(1 / 2)


@pytest.mark.parametrize("metric", [mean_cca, pwcca], ids=["mean_cca", "pwcca"])
def test_too_few_stimuli_would_make_correlations_trivial_and_are_refused(metric):
    """5 + 8 dimensions: from 14 stimuli on, no correlation is 1 by force; with 13 one is, whatever
    the noisy_spaces.
    """
    x, y = noisy_spaces(0, n=14)
    assert 0 < metric(x, y) < 1
    assert eigen_cca(x[:13], y[:13])[0][0] == pytest.approx(1)
    with pytest.raises(
        MetricError,
        match=r"of ranks 5 and 8 need more than 13 stimuli; got 13.* svcca with a lower rank",
    ):
        metric(x[:13], y[:13])


@pytest.mark.parametrize(
    "metric", ["mean_cca", "pwcca", "svcca", "procrustes", "shape_angle", "linear_predictivity"]
)
@pytest.mark.parametrize("offset", [1e6, 1e10])
def test_a_constant_feature_however_far_from_zero_changes_nothing(metric, offset):
    dice = np.random.default_rng(4)
    factors = dice.standard_normal((300, 6))
    x = (factors @ dice.standard_normal((6, 12)) + 0.1 * dice.standard_normal((300, 12))).astype(
        "f"
    )
    y = np.tanh(factors @ dice.standard_normal((6, 12))).astype("f")
    beside = np.column_stack([x, np.full(300, offset, "f")])
    options = METRICS[metric].spec.defaults
    alone = METRICS[metric](x, y, **options), METRICS[metric](y, x, **options)
    both = METRICS[metric](beside, y, **options), METRICS[metric](y, beside, **options)
    np.testing.assert_allclose(both, alone, rtol=1e-6)


def test_summed_a_constant_feature_far_from_zero_changes_nothing_either():
    dice = np.random.default_rng(4)
    factors = dice.standard_normal((300, 6))
    x = (factors @ dice.standard_normal((6, 12))).astype("f")
    y = stream_folds(np.tanh(factors @ dice.standard_normal((6, 12))).astype("f"), folds=5)
    beside = np.column_stack([x, np.full(300, 1e8, "f")])
    for of_sums in (procrustes_of_sums, predictivity_of_sums):
        alone, both = (of_sums(join(stream_folds(one, folds=5), y)) for one in (x, beside))
        assert both == pytest.approx(alone, rel=1e-9)


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


@given(seed=seeds)
def test_pwcca_ignores_an_invertible_map_of_y_but_not_of_x(seed):
    x, y = noisy_spaces(seed)
    mix = np.random.default_rng(seed).standard_normal((8, 8)) + 4 * np.eye(8)
    stretch = np.diag([100, 1, 1, 1, 1])
    assert pwcca(x, y @ mix) == pytest.approx(pwcca(x, y), abs=1e-8)
    assert abs(pwcca(x @ stretch, y) - pwcca(x, y)) > 1e-6
