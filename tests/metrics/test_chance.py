"""Formulas of chance against permutations and against published permutations."""

from __future__ import annotations

import json
import math
from itertools import permutations

import numpy as np
import pytest

from core.metrics import METRICS
from core.metrics.cka import cka_chance, roundness
from core.metrics.knn import cycle_knn_chance
from core.spaces.preprocess import normalize_rows
from core.statistics.nulls import draw_orders


def cka_literally(x: np.ndarray, y: np.ndarray) -> float:
    """tr(KHLH) / √(tr(KHKH) · tr(LHLH))."""
    h = np.eye(len(x)) - 1 / len(x)
    a, b = h @ (x @ x.T) @ h, h @ (y @ y.T) @ h
    return np.trace(a @ b) / math.sqrt(np.trace(a @ a) * np.trace(b @ b))


def chance(x: np.ndarray, y: np.ndarray) -> float:
    return cka_chance(roundness(x), roundness(y), n=len(x))


@pytest.mark.parametrize(("dims_x", "dims_y"), [(1, 1), (2, 9), (9, 4)])
def test_chance_of_cka_is_its_mean_over_all_permutations(dims_x, dims_y):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((5, dims_x)) + 2, rng.standard_normal((5, dims_y))
    mean = np.mean([cka_literally(x, y[list(order)]) for order in permutations(range(5))])
    assert chance(x, y) == pytest.approx(mean, rel=1e-12)


def test_chance_of_cka_agrees_with_published_permutations(reference):
    features = np.load(reference / "features_n256.npz")
    published = json.loads((reference / "metrics_n256.json").read_text())["permutation_null_means"][
        "cka_20"
    ]
    error = published["sd"] / math.sqrt(20)
    x, y = normalize_rows(features["A"]), normalize_rows(features["B"])
    assert abs(chance(x, y) - published["mean"]) < 3 * error


@pytest.mark.parametrize(
    ("metric", "parameters"),
    [("unbiased_cka", {}), ("rsa", {"correlation": "pearson"}), ("rsa", {})],
)
def test_a_chance_of_zero_is_the_mean_over_all_permutations(metric, parameters):
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((5, 3)), rng.standard_normal((5, 2))
    mean = np.mean(
        [METRICS[metric](x, y[list(order)], **parameters) for order in permutations(range(5))]
    )
    assert METRICS[metric].chance_level(5, parameters) == 0
    assert mean == pytest.approx(0, abs=1e-12)


def test_chance_of_cycles_by_hand():
    assert cycle_knn_chance(k=1, n=11) == pytest.approx(0.1)
    assert cycle_knn_chance(k=2, n=5) == pytest.approx(1 - 0.25)
    assert cycle_knn_chance(k=4, n=5) == 1


def test_chance_of_cycles_agrees_with_published_permutations(reference):
    published = json.loads((reference / "metrics_n256.json").read_text())["permutation_null_means"][
        "cycle_knn_20"
    ]
    assert abs(cycle_knn_chance(k=10, n=256) - published["mean"]) < 3 * published["sd"] / math.sqrt(
        20
    )


@pytest.mark.parametrize("k", [1, 4, 10])
def test_chance_of_cycles_where_all_are_neighbors_of_equally_many(k):
    """Neighbors on a ring: every stimulus is a neighbor of k others. Only that steps are drawn
    without return is left out.
    """
    n = 101
    ring = (np.arange(n)[:, None] + np.arange(1, k + 1)) % n
    shares = []
    for order in draw_orders(n, count=300, seed=0):
        other = np.argsort(order)[ring[order]]
        shares.append(np.mean([any(i in ring[j] for j in other[i]) for i in range(n)]))
    error = 4 * np.std(shares) / math.sqrt(300)
    exact = 1 - math.comb(n - 1 - k, k) / math.comb(n - 1, k)
    assert abs(np.mean(shares) - exact) < error
    assert abs(cycle_knn_chance(k=k, n=n) - exact) < 0.04
