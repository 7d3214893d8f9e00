"""Information imbalance: an oracle by sorting distances, a projection, both ends by hand."""

from __future__ import annotations

import numpy as np
import pytest

from core.metrics import METRICS
from core.metrics.imbalance import imbalance_terms, rank_all
from core.spaces.preprocess import normalize_rows
from core.statistics.controls import compare_paired

IMBALANCE = METRICS["information_imbalance"]


def on_sphere(points: np.ndarray) -> np.ndarray:
    """Lift points to rows of length 1 whose cosines order as the points' distances do."""
    small = 0.01 * points
    return np.column_stack([small, np.sqrt(1 - (small**2).sum(axis=1))])


def literally(x: np.ndarray, y: np.ndarray) -> float:
    n, ranks = len(x), []
    for i in range(n):
        others = [j for j in range(n) if j != i]
        near = min(others, key=lambda j: np.linalg.norm(x[i] - x[j]))
        ordered = sorted(others, key=lambda j: np.linalg.norm(y[i] - y[j]))
        ranks.append(ordered.index(near) + 1)
    return 2 / n**2 * sum(ranks)


def test_it_is_the_mean_rank_in_one_space_of_the_nearest_in_the_other() -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        shared = rng.standard_normal((30, 4))
        x, y = (normalize_rows(shared + rng.standard_normal((30, 4))) for _ in range(2))
        assert IMBALANCE(x, y) == pytest.approx(literally(x, y), abs=1e-12)
        assert IMBALANCE(y, x) == pytest.approx(literally(y, x), abs=1e-12)


def test_three_stimuli_by_hand() -> None:
    x = normalize_rows(np.array([[1, 0], [0.9, 0.1], [0, 1]]))  # nearest: 1, 0, 1
    y = normalize_rows(np.array([[1, 0], [0.1, 0.9], [0, 1]]))  # ranks of these: 1, 2, 1
    assert IMBALANCE(x, y) == pytest.approx(2 / 9 * 4)


def test_a_space_tells_its_projection_and_not_the_other_way_around() -> None:
    forth, back = [], []
    for seed in range(3):
        points = np.random.default_rng(seed).random((400, 6))
        whole, part = on_sphere(points), on_sphere(points[:, :3])
        assert IMBALANCE(whole, whole) == pytest.approx(2 / 400)
        forth.append(IMBALANCE(whole, part))
        back.append(IMBALANCE(part, whole))
    assert np.mean(forth) == pytest.approx(0.067, abs=0.008)  # 10 draws of an own simulation
    assert np.mean(back) == pytest.approx(0.376, abs=0.04)


def test_independent_spaces_are_at_chance() -> None:
    rng = np.random.default_rng(1)
    found = [IMBALANCE(*rng.standard_normal((2, 200, 5))) for _ in range(20)]
    assert np.mean(found) == pytest.approx(IMBALANCE.chance_level(200, {}), abs=0.03)


def test_influences_are_what_the_sum_loses_without_a_stimulus() -> None:
    rng = np.random.default_rng(0)
    x, y = (normalize_rows(rng.standard_normal((30, 4))) for _ in range(2))
    own, influences = imbalance_terms(rank_all(x), rank_all(y))
    assert own.mean() == pytest.approx(IMBALANCE(x, y))
    for left in range(30):
        few = [np.delete(one, left, axis=0) for one in (x, y)]
        without = 29**2 / 30 * IMBALANCE(*few)  # the sum of 2/n · ranks, n as before
        assert influences[left] == pytest.approx(own.sum() - without)


@pytest.mark.slow
@pytest.mark.parametrize("dims", [4, 16])
def test_two_directions_alike_differ_at_most_as_often_as_they_should(dims: int) -> None:
    """The jackknife of nearest neighbors is too wide: none of these would be called different."""
    low = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        shared = rng.standard_normal((200, dims))
        x, y = (
            rank_all(normalize_rows(shared + 0.7 * rng.standard_normal((200, dims))))
            for _ in range(2)
        )
        (a, first), (b, second) = imbalance_terms(x, y), imbalance_terms(y, x)
        low += compare_paired(a, b, errors=(first, second), draws=199, seed=seed).p < 0.05
    assert low <= 5
