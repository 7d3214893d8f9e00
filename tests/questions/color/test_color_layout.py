"""Layouts fit as well as they can: exactly where they can, and never worse than scikit-learn's from
the same starts.
"""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import procrustes
from scipy.spatial.distance import pdist, squareform

from core.errors import MetricError
from core.progress import heard_by
from core.questions.color.counts import count_colors, dissimilarity, pmi
from core.questions.color.layout import lay_out, smacof, stress
from core.statistics.layouts import classical


def disparity(x: np.ndarray, y: np.ndarray) -> float:
    return float(procrustes(np.pad(x, ((0, 0), (0, 3 - x.shape[1]))), y)[2])


def distances(points: np.ndarray) -> np.ndarray:
    return squareform(pdist(points))


def rough(n: int, seed: int) -> np.ndarray:
    """Return dissimilarities that no points have."""
    rng = np.random.default_rng(seed)
    return squareform(pdist(rng.normal(size=(n, 6))) + rng.random(n * (n - 1) // 2))


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_a_known_configuration_is_recovered(dims):
    points = np.random.default_rng(dims).normal(size=(24, dims))
    found, badness = lay_out(distances(points), starts=30)
    assert disparity(points, found) < 1e-6
    assert badness < 1e-6


def test_random_starts_alone_recover_it_too():
    points = np.random.default_rng(3).normal(size=(24, 3))
    starts = np.random.default_rng(0).random((30, 24, 3))
    found, stresses = smacof(distances(points), starts, iterations=5000, tolerance=1e-14)
    assert disparity(points, found[stresses.argmin()]) < 1e-6


@pytest.mark.parametrize("n", [10, 24])
def test_stress_is_never_above_scikit_learns_from_the_same_starts(n):
    from sklearn.manifold import smacof as reference

    target = rough(n, seed=n)
    starts = np.random.default_rng(1).random((8, n, 3))
    found, stresses = smacof(target, starts)
    for start, points, own in zip(starts, found, stresses, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            _, theirs = reference(
                target,
                metric=True,
                n_components=3,
                init=start,
                n_init=1,
                normalized_stress=False,
            )
        assert own <= theirs * (1 + 1e-9)
        assert own == pytest.approx(np.square(pdist(points) - squareform(target)).sum())
    best, _ = lay_out(target, starts=8, seed=1)
    assert np.square(pdist(best) - squareform(target)).sum() <= stresses.min() + 1e-9


def test_one_transform_is_guttmans():
    """X⁺ = B(X) X / n with bᵢⱼ = −δᵢⱼ / dᵢⱼ for i ≠ j and bᵢᵢ = Σ δᵢⱼ / dᵢⱼ (de Leeuw 1977)."""
    target, start = rough(7, seed=0), np.random.default_rng(2).normal(size=(7, 3))
    apart = distances(start)
    b = -np.divide(target, apart, out=np.zeros_like(target), where=apart > 0)
    np.fill_diagonal(b, -b.sum(axis=1))
    found, _ = smacof(target, start[None], iterations=1, tolerance=0.0)
    assert found[0] == pytest.approx(b @ start / 7)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(4, 12))
def test_stress_falls_with_every_transform_and_neither_order_nor_scale_matters(seed, n):
    target = rough(n, seed=seed)
    rng = np.random.default_rng(seed)
    start, order = rng.random((1, n, 3)), rng.permutation(n)
    steps = [
        float(smacof(target, start, iterations=count, tolerance=0.0)[1][0])
        for count in (0, 1, 2, 5, 20)
    ]
    assert all(b <= a * (1 + 1e-12) for a, b in pairwise(steps))
    found, _ = smacof(target, start)
    moved, _ = smacof(3 * target[np.ix_(order, order)], start[:, order])
    assert disparity(found[0][order], moved[0]) < 1e-6


def test_points_in_one_place_do_not_push_each_other():
    found, stresses = smacof(rough(5, seed=0), np.zeros((1, 5, 3)))
    assert (found == 0).all()
    assert stresses[0] == pytest.approx(np.square(squareform(rough(5, seed=0))).sum())


def test_classical_scaling_of_a_square():
    square = np.array([[0.0, 0], [0, 1], [1, 1], [1, 0]])
    assert distances(classical(distances(square), dims=2)) == pytest.approx(distances(square))


def test_stress_by_hand():
    points = np.array([[0.0], [3.0], [7.0]])  # distances 3, 7, 4
    assert stress(np.array([[0.0, 2, 7], [2, 0, 6], [7, 6, 0]]), points) == pytest.approx(
        (5 / 74) ** 0.5
    )


def test_the_same_seed_gives_the_same_layout_and_progress_is_told():
    heard: list[tuple[int, int]] = []
    target = rough(9, seed=4)
    with heard_by(lambda done, total, _: heard.append((done, total))):
        first = lay_out(target, starts=60, seed=5)
    assert (first[0] == lay_out(target, starts=60, seed=5)[0]).all()
    assert heard == [(0, 2), (1, 2), (2, 2)]


def test_a_planted_ring_of_colors_comes_out_a_ring():
    """Twelve grays in a circle, each next to its two neighbors in stripes of pixels: PMI finds
    the circle.
    """
    levels = np.linspace(8, 248, 12).astype(np.uint8)  # a grid of 16 steps keeps them apart
    width = 6
    around = np.repeat(np.append(levels, levels[:2]), width)
    picture = np.repeat(np.repeat(around[None], 30, axis=0)[:, :, None], 3, axis=2)
    counts = count_colors([picture], radius=4.0, pairs=200_000, grid=16)
    seen = np.flatnonzero(counts.any(axis=1))
    assert len(seen) == 12
    found, _ = lay_out(dissimilarity(pmi(counts[np.ix_(seen, seen)])), starts=100)
    x, y = np.linalg.svd(found, full_matrices=False)[0][:, :2].T
    order = np.argsort(np.arctan2(y, x))
    steps = np.diff(np.append(order, order[0])) % 12
    assert set(steps.tolist()) in ({1}, {11})
    away = np.hypot(x, y)
    assert away.min() > 0.5 * away.max()


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (np.zeros((4, 4)), "not all 0"),
        (np.full((4, 4), np.nan), "finite, 0 or more"),
        (np.triu(np.ones((4, 4)), 1), "symmetric with 0 on the diagonal"),
        (np.ones((4, 4)), "symmetric with 0 on the diagonal"),
        (np.ones((3, 3)) - np.eye(3), "more than 3 colors; got 3"),
    ],
)
def test_what_cannot_be_laid_out_is_refused(target, message):
    with pytest.raises(MetricError, match=message):
        lay_out(target, starts=1)
