"""Curves over the number of stimuli against direct computation, and what they are drawn for."""

from __future__ import annotations

import math

import numpy as np
import pytest

from core.metrics import METRICS
from core.metrics.cka import cka_chance, roundness
from core.questions.metrics.scores import size_curve
from core.spaces.preprocess import normalize_rows
from core.statistics.nulls import draw_orders

KNN, CKA = METRICS["mutual_knn"], METRICS["cka"]


def at_k(k: int):
    return lambda _: {"k": k}


def fifth(n: int) -> dict[str, int]:
    return {"k": n // 5}


def spaces(n: int = 90, dims: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((n, dims))
    return tuple(normalize_rows(shared + 0.7 * rng.standard_normal((n, dims))) for _ in range(2))


def test_scores_equal_the_metric_of_each_subsample():
    x, y = spaces()
    table = size_curve(KNN, x, y, sizes=[20, 50], parameters=at_k(4), seed=3, repeats=5)
    assert list(table) == ["n", "k", "score", "chance", "sd", "repeats"]
    orders = draw_orders(90, count=5, seed=3)
    for row in table.itertuples():
        direct = [KNN(x[order[: row.n]], y[order[: row.n]], k=4) for order in orders]
        assert (row.score, row.sd) == (
            pytest.approx(np.mean(direct)),
            pytest.approx(np.std(direct, ddof=1)),
        )


def test_mutual_knn_falls_with_n_at_fixed_k_but_not_at_a_fixed_share():
    x, y = spaces(240)
    sizes = [30, 60, 120, 240]
    fixed = size_curve(KNN, x, y, sizes=sizes, parameters=at_k(6), seed=0, repeats=8)
    share = size_curve(KNN, x, y, sizes=sizes, parameters=fifth, seed=0, repeats=8)
    assert (np.diff(fixed["score"]) < 0).all()
    assert np.ptp(share["score"]) < np.ptp(fixed["score"]) / 4
    assert share["k"].tolist() == [6, 12, 24, 48]


def test_chance_of_mutual_knn_is_its_formula():
    x, y = spaces()
    for row in size_curve(
        KNN, x, y, sizes=[20, 60], parameters=at_k(5), seed=0, repeats=60
    ).itertuples():
        spread = math.sqrt(
            5 / (row.n - 1) / (row.n * 5 * 60)
        )  # of a binomial share, a little less than the truth
        assert abs(row.chance - 5 / (row.n - 1)) < 5 * spread


def test_chance_of_cka_is_its_formula_and_falls_with_n():
    x, y = spaces()
    table = size_curve(CKA, x, y, sizes=[10, 30, 90], parameters=lambda _: {}, seed=0, repeats=30)
    assert (np.diff(table["chance"]) < 0).all()
    assert table["chance"].iloc[-1] == pytest.approx(
        cka_chance(roundness(x), roundness(y), n=len(x)), rel=0.15
    )
