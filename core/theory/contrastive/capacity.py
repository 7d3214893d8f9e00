"""What a width allows at most: the best inner products of so many dimensions."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64

_OFFSETS = np.concatenate([[0.0], np.geomspace(1e-3, 1e4, 200)])


def best_r2(kernel: Float64[np.ndarray, "n n"], width: int) -> float:
    """Return the greatest R² that products of embeddings of this width can have with a kernel, up
    to slope and offset.

    The best of width d for K + c is its d largest positive eigenvalues (Eckart and Young); the best
    c is sought over both signs of a grid. Range 0 … 1, rising with the width. R² is over all
    ordered pairs, as `core.theory.contrastive.learners.fit_products`.
    """
    spread = float(((kernel - kernel.mean()) ** 2).sum())
    rest = [_left_out(kernel + sign * offset, width) for offset in _OFFSETS for sign in (1.0, -1.0)]
    return 1 - min(*rest, spread) / spread


def _left_out(kernel: Float64[np.ndarray, "n n"], width: int) -> float:
    values = np.linalg.eigvalsh(kernel)[::-1]
    return float((values**2).sum() - (np.maximum(values[:width], 0) ** 2).sum())
