"""The leading singular directions of a matrix, without a decomposition of the whole.

Block Lanczos: a block of random directions is multiplied by A = XXᵀ or XᵀX, whichever is smaller,
again and again, and every new block is made orthogonal to all before it. In what they span lie the
best approximate eigenvectors V of A, and ‖AV − VΛ‖ says how far they are from being eigenvectors.
By Davis and Kahan, the space of the leading ones is off by an angle whose sine is at most
‖AV − VΛ‖ / gap, the gap being that between the last eigenvalue kept and the first left out. That
one is estimated from the same blocks, so the bound holds up to an eigenvalue that a random block
of rank + MORE directions missed altogether. What does not reach TOLERANCE within a few blocks is
left to a full decomposition.

Source: Golub, Underwood 1977 (block Lanczos); Davis, Kahan 1970 (the angle).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64
from scipy.linalg import eigh, qr

TOLERANCE = 1e-7  # of the sine of the angle: features are stored to 6e-8
CHECKED = (4, 5, 6, 8, 12, 16)  # numbers of blocks after which the angle is looked at
MORE = 4  # directions in a block, beside those that are sought: wider ones need fewer products
PART = 2  # not more than half of all directions: then a full decomposition costs less

Block = Float64[np.ndarray, "m _"]


class Leading(NamedTuple):
    """Singular triplets, the largest first: a matrix's largest part is left · sizes · right."""

    left: Float64[np.ndarray, "n r"]
    sizes: Float64[np.ndarray, "r"]
    right: Float64[np.ndarray, "r d"]


def find_leading(values: Float64[np.ndarray, "n d"], *, rank: int) -> Leading | None:
    """Return the rank + 1 leading singular triplets, the space of the first `rank` being exact to
    TOLERANCE, as far as a random block tells; see above.

    None where a full decomposition has to decide: in a small matrix, where it takes no longer, and
    where the last two are so nearly equal that the cut between them stays unclear.
    """
    wide = values if len(values) <= values.shape[1] else values.T
    width = rank + MORE
    fresh = np.random.default_rng(0).standard_normal((len(wide), width))
    spanned = products = np.empty((len(wide), 0))
    for blocks in range(1, min(CHECKED[-1], len(wide) // (PART * width)) + 1):
        fresh = _beside(spanned, fresh)
        spanned = np.hstack([spanned, fresh])
        fresh = wide @ (wide.T @ fresh)
        products = np.hstack([products, fresh])
        if blocks in CHECKED:
            basis = _certain(spanned, products, rank)
            if basis is not None:
                return _both_sides(wide, basis, turned=wide is not values)
    return None


def _beside(spanned: Block, fresh: Block) -> Block:
    """Return an orthonormal block that spans what a block adds; twice, since what is left of it may
    be little more than rounding.
    """
    for _ in range(2):
        fresh = fresh - spanned @ (spanned.T @ fresh)
        fresh = qr(fresh, mode="economic", overwrite_a=True, check_finite=False)[0]
    return fresh


def _certain(spanned: Block, products: Block, rank: int) -> Block | None:
    """Return the rank + 1 best eigenvectors within what is spanned, if the first are exact to
    TOLERANCE.
    """
    last = spanned.shape[1] - 1
    values, turn = eigh(spanned.T @ products, subset_by_index=(last - rank, last))
    values, turn = values[::-1], turn[:, ::-1]
    basis = spanned @ turn
    left = products @ turn - basis * values
    gap = values[rank - 1] - values[rank] - np.linalg.norm(left[:, rank])
    return basis if np.linalg.norm(left[:, :rank]) <= TOLERANCE * gap else None


def _both_sides(wide: Block, basis: Block, *, turned: bool) -> Leading | None:
    """Return the triplets of a matrix, or of its transpose, from the directions of its rows; None
    where there are fewer.
    """
    other = wide.T @ basis
    sizes = np.linalg.norm(other, axis=0)
    if not sizes.all():
        return None
    other /= sizes
    return Leading(other, sizes, basis.T) if turned else Leading(basis, sizes, other.T)
