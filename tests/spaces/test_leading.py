"""Leading directions span what those of a full decomposition do, or there are none."""

from __future__ import annotations

import numpy as np
import pytest

from core.spaces.bases import TOLERANCE, center, find_leading, span, standardize

RANK = 3


def falling(n: int, dims: int, *, power: float = 1.0, seed: int = 0) -> np.ndarray:
    """Return a matrix whose i-th singular value is i to minus a power."""
    rng = np.random.default_rng(seed)
    sizes = np.arange(1, min(n, dims) + 1) ** -power
    left, right = (np.linalg.qr(rng.standard_normal((m, len(sizes)))).Q for m in (n, dims))
    return (left * sizes) @ right.T


@pytest.mark.parametrize(("n", "dims"), [(300, 200), (200, 300)])
@pytest.mark.parametrize("power", [1.0, 2.0])
def test_they_are_those_of_a_full_decomposition(n, dims, power):
    values = falling(n, dims, power=power)
    found = find_leading(values, rank=RANK)
    assert found is not None
    left, sizes, right = np.linalg.svd(values, full_matrices=False)
    np.testing.assert_allclose(found.sizes[:RANK], sizes[:RANK], rtol=1e-9)
    for ours, exact in ((found.left, left[:, :RANK]), (found.right.T, right[:RANK].T)):
        cosines = np.linalg.svd(ours[:, :RANK].T @ exact)[1]
        assert np.sqrt(1 - np.minimum(cosines, 1) ** 2).max() <= TOLERANCE + 1e-8
    np.testing.assert_allclose(np.linalg.norm(found.right, axis=1), 1)


def test_there_are_none_where_the_cut_is_not_clear_or_the_matrix_is_small():
    flat = np.linalg.qr(np.random.default_rng(1).standard_normal((150, 90))).Q
    assert find_leading(flat, rank=RANK) is None
    assert find_leading(falling(150, 30), rank=RANK) is None
    low = falling(300, 200)[:, :2] @ np.ones((2, 200))  # rank 1, so the cut is between zeros
    assert find_leading(low, rank=RANK) is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_basis_of_so_many_directions_is_the_start_of_the_whole(dtype):
    space = standardize(center((falling(300, 200) + 0.01).astype(dtype)))
    assert find_leading(space.values, rank=RANK) is not None
    some, whole = span(space, rank=RANK), span(space)
    np.testing.assert_allclose(some.sizes, whole.sizes[:RANK], rtol=1e-9)
    np.testing.assert_allclose(some.noise, whole.noise[:RANK], rtol=1e-5)
    signs = np.sign((some.directions * whole.directions[:, :RANK]).sum(axis=0))
    np.testing.assert_allclose(some.directions * signs, whole.directions[:, :RANK], atol=1e-6)
    np.testing.assert_allclose((some.axes.T * signs).T, whole.axes[:RANK], atol=1e-6)
