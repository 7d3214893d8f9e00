"""Baselines on planted relations, each next to a plain computation of the same."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes
from sklearn.cross_decomposition import CCA
from sklearn.linear_model import Ridge

from core.errors import InputError
from core.metrics.predictivity import STRENGTHS
from core.questions.adapters.baselines import (
    METHODS,
    canonical,
    procrustes,
    raw,
    relative,
    ridge,
)
from core.questions.adapters.maps import POWER, median_rank, rank_own, recall, split

N = 200
PARTS = split(N)


def related(
    *, noise: float = 0.1, widths: tuple[int, int] = (10, 6), seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(N, 5))
    return tuple(
        (latent @ rng.normal(size=(5, width)) + noise * rng.normal(size=(N, width)) + 4).astype(
            np.float32
        )
        for width in widths
    )


def cosines(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    u, v = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (u, v))
    return u @ v.T


@pytest.mark.parametrize("method", ["CCA", "ridge", "relative", "Procrustes"])
def test_related_encoders_are_matched_far_above_chance_and_unrelated_ones_are_not(
    method: str,
) -> None:
    x, y = related()
    ranks = rank_own(*METHODS[method](x, y, PARTS))
    least = {"CCA": 0.9, "ridge": 0.8, "relative": 0.1, "Procrustes": 0.1}[method]
    assert recall(ranks, 1) >= least  # chance is 0.02
    noise = np.random.default_rng(1).normal(size=y.shape).astype(np.float32)
    assert 13 < median_rank(rank_own(*METHODS[method](x, noise, PARTS))) < 38  # chance is 25.5


def test_full_rank_canonical_variates_are_those_of_sklearn() -> None:
    x, y = related(widths=(4, 4), noise=1.0)
    u, v = canonical(x, y, PARTS)
    model = CCA(n_components=u.shape[1], scale=False, tol=1e-12, max_iter=100_000).fit(
        x[PARTS.train], y[PARTS.train]
    )
    a, b = model.transform(x[PARTS.test], y[PARTS.test])
    fitted = model.transform(x[PARTS.train], y[PARTS.train])
    correlations = [
        np.corrcoef(*pair)[0, 1] for pair in zip(*(side.T for side in fitted), strict=True)
    ]
    spread = [side.std(axis=0) for side in fitted]
    assert (
        u.shape[1] == v.shape[1] == 4
    )  # all directions were kept: the principal axes are then turned among themselves only
    expected = cosines(
        a / spread[0] * np.power(correlations, POWER), b / spread[1] * np.power(correlations, POWER)
    )
    np.testing.assert_allclose(cosines(u, v), expected, atol=1e-3)


def test_the_rotation_is_the_best_orthogonal_map() -> None:
    x, y = related(widths=(6, 6))
    u, v = procrustes(x, y, PARTS)
    left, right = (
        side.astype(np.float64) - side[PARTS.train].mean(axis=0, dtype=np.float64)
        for side in (x, y)
    )
    turn, _ = orthogonal_procrustes(left[PARTS.train], right[PARTS.train])
    np.testing.assert_allclose(
        cosines(u, v), cosines(left[PARTS.test] @ turn, right[PARTS.test]), atol=1e-8
    )


def test_predictions_are_those_of_sklearns_ridge_at_one_of_the_strengths() -> None:
    x, y = related()
    u, v = ridge(x, y, PARTS)
    total = ((x[PARTS.train] - x[PARTS.train].mean(axis=0)).astype(np.float64) ** 2).sum()
    middle = y[PARTS.train].mean(axis=0, dtype=np.float64)
    models = [
        Ridge(alpha=strength * total).fit(x[PARTS.train], y[PARTS.train]) for strength in STRENGTHS
    ]
    errors = [np.abs(model.predict(x[PARTS.test]) - middle - u).max() for model in models]
    assert min(errors) < 1e-3
    np.testing.assert_allclose(v, y[PARTS.test] - middle)


def test_relative_representations_are_cosines_with_the_training_stimuli() -> None:
    x, y = related()
    u, _ = relative(x, y, PARTS)
    middle = x[PARTS.train].mean(axis=0, dtype=np.float64)
    np.testing.assert_allclose(
        u, cosines(x[PARTS.test] - middle, x[PARTS.train] - middle), atol=1e-6
    )


@pytest.mark.parametrize("method", METHODS)
def test_poisoned_test_stimuli_change_no_map(method: str) -> None:
    """Half of the test stimuli are replaced; what becomes of the other half, on both sides, stays
    the same to the last bit.
    """
    sides = related(widths=(10, 10))
    poisoned, clean = np.array_split(np.arange(len(PARTS.test)), 2)
    changed = [side.copy() for side in sides]
    for side in changed:
        side[PARTS.test[poisoned]] = 1e6 * np.random.default_rng(2).normal(
            size=(len(poisoned), side.shape[1])
        )
    for before, after in zip(
        METHODS[method](sides[0], sides[1], PARTS),
        METHODS[method](changed[0], changed[1], PARTS),
        strict=True,
    ):
        np.testing.assert_array_equal(before[clean], after[clean])
        assert not np.isclose(before[poisoned], after[poisoned]).any(axis=1).all()


def test_raw_vectors_of_two_widths_have_no_cosine() -> None:
    with pytest.raises(InputError, match="vectors of 10 and 6 dimensions have no cosine"):
        rank_own(*raw(*related(), PARTS))
