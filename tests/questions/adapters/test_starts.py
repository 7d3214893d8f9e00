"""Training starts where canonical correlation ends, or at random weights; what it starts from is
linear, and without offset goes through zero.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import block_diag, eigh

from core.questions.adapters.baselines import canonical
from core.questions.adapters.maps import (
    POWER,
    Settings,
    correlate,
    first_weights,
    split,
    whiten,
)
from core.questions.adapters.training import train

N = 240
PARTS = split(N)


def world(*widths: int, noise: float = 0.5) -> dict[str, np.ndarray]:
    """Return spaces that share a latent of four dimensions, far from the origin."""
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(N, 4))
    return {
        f"e{i}": (latent @ rng.normal(size=(4, d)) + noise * rng.normal(size=(N, d)) + 3).astype(
            np.float32
        )
        for i, d in enumerate(widths)
    }


def cosines(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    u, v = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (u, v))
    return u @ v.T


def test_before_any_pass_adapters_are_canonical_correlation() -> None:
    spaces = world(12, 7)
    first = next(train(spaces, PARTS, Settings(width=32)))
    assert first.number == 0
    views = first.best.apply({name: space[PARTS.test] for name, space in spaces.items()})
    found = cosines(*views.values())
    np.testing.assert_allclose(
        found, cosines(*canonical(spaces["e0"], spaces["e1"], PARTS)), atol=1e-4
    )


@pytest.mark.parametrize("widths", [(6, 5), (6, 5, 4)])
def test_weights_are_those_of_the_generalized_eigenproblem(widths: tuple[int, ...]) -> None:
    """Literally: Σⱼ Cᵢⱼ wⱼ = λ Cᵢᵢ wᵢ over the raw centered vectors, at full rank."""
    spaces = [space[PARTS.train].astype(np.float64) for space in world(*widths).values()]
    raw = [space - space.mean(axis=0) for space in spaces]
    joint, rank, m = np.hstack(raw), max(widths), len(widths)
    values, vectors = eigh(joint.T @ joint, block_diag(*(side.T @ side for side in raw)))
    shared = np.maximum((values[::-1][:rank] - 1) / (m - 1), 0)
    expected = joint @ vectors[:, ::-1][:, :rank] * np.sqrt(len(joint)) * shared**POWER
    white = [whiten(space, np.arange(len(space))).of(space) for space in spaces]
    assert [side.shape[1] for side in white] == [*widths]
    found = sum(side @ w for side, w in zip(white, correlate(white, rank), strict=True))
    np.testing.assert_allclose(np.abs(found), np.abs(expected), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("offset", [True, False])
def test_white_coordinates_are_uncorrelated_and_without_offset_start_at_zero(offset: bool) -> None:
    space = world(9)["e0"]
    white = whiten(space, PARTS.train, offset=offset)
    seen = white.of(space[PARTS.train])
    np.testing.assert_allclose(seen.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(seen.T @ seen / len(seen), np.eye(seen.shape[1]), atol=1e-4)
    at_zero = white.of(np.zeros((1, 9), np.float32))
    assert bool(np.abs(at_zero).max() > 1e-6) == offset
    assert seen.shape[1] == 9 - (not offset)  # what lies along the mean


def test_narrow_common_spaces_keep_the_strongest_directions_and_wide_ones_all() -> None:
    spaces = world(12, 7)
    wide, narrow = (
        first_weights(spaces, PARTS, Settings(width=width), seed=0)["e0"] for width in (40, 2)
    )
    scale = np.linalg.norm(wide.base[:, :2])
    np.testing.assert_allclose(narrow.base, wide.base[:, :2] / scale, atol=1e-12)
    assert not wide.base[:, len(wide.base) :].any()
    seen = wide.coordinates.of(spaces["e0"][PARTS.train]) @ wide.base
    assert (seen**2).sum(axis=1).mean() == pytest.approx(1, rel=1e-6)


def test_random_weights_are_of_the_seed_and_of_unit_length_on_average() -> None:
    spaces = world(12, 7)
    first, again, other = (
        first_weights(spaces, PARTS, Settings(start="random"), seed=seed) for seed in (0, 0, 1)
    )
    for name in spaces:
        np.testing.assert_array_equal(first[name].learned, again[name].learned)
        assert not np.allclose(first[name].learned, other[name].learned)
        view = first[name].coordinates.of(spaces[name][PARTS.train]) @ first[name].learned
        assert (view**2).sum(axis=1).mean() == pytest.approx(1, rel=0.2)
    assert all(not np.allclose(a.learned[:7], b.learned[:7]) for a, b in pairwise(first.values()))
