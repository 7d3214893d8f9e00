"""The PMI kernel, the offset that makes it an inner product of embeddings, the condition of
proposition 1, and what a width allows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from core.errors import InputError

Matrix = Float64[np.ndarray, "n n"]
ROUNDING = 1e-10  # of eigenvalues, relative to the largest entry


class Offset(NamedTuple):
    """The least C for which K + C is positive semi-definite, NaN if there is none.

    smallest: smallest eigenvalue of K among vectors whose entries sum to 0, which no C changes.
    reason: why there is none, or "".
    """

    value: float
    smallest: float
    reason: str


class Smoothness(NamedTuple):
    """Proposition 1 of a kernel: if all off-diagonal PMI lies in [log ρ_min, log ρ_min + δ] below 0
    and needed = log ρ_min + N δ is at most least_own, the smallest PMI of an event with itself, it
    holds: K + offset is positive semi-definite, with the C of the proof, −min_i Σ_j K_ij / N.
    """

    needed: float
    least_own: float
    offset: float
    holds: bool


def pmi_kernel(joint: Matrix) -> Matrix:
    """Return K_PMI(a, b) = log P(a, b) / (P(a) P(b)) in nats, with P(a) = Σ_b P(a, b).

    joint: symmetric probabilities that sum to 1. Raises InputError for a pair that never co-occurs,
    whose PMI is −∞.
    """
    if (joint <= 0).any():
        first, second = np.argwhere(joint <= 0)[0]
        raise InputError(
            f"events {first} and {second} never share a window, so that their PMI is −∞; take some"
            " jumps, or a longer window"
        )
    own = joint.sum(axis=1)
    kernel: np.ndarray = np.log(joint) - np.log(own)[:, None] - np.log(own)
    return kernel


def least_offset(kernel: Matrix) -> Offset:
    """Return the least C for which K + C 11ᵀ is positive semi-definite, so that it is ⟨f(a), f(b)⟩
    of some embedding.

    Split by u = 1/√N and what is orthogonal to it, K = [[a, bᵀ], [b, M]]. By the Schur complement
    some C exists if M is positive semi-definite and b in its range, and the least is (bᵀ M⁺ b −
    a) / N.
    """
    n = len(kernel)
    turn, _ = np.linalg.qr(np.column_stack([np.ones(n), np.eye(n)[:, 1:]]))  # first column: ±u
    turned = turn.T @ kernel @ turn
    values, vectors = np.linalg.eigh(turned[1:, 1:])
    smallest, rounding = float(values[0]), ROUNDING * float(np.abs(kernel).max())
    if smallest < -rounding:
        why = "the kernel has a negative direction that no offset reaches"
        return Offset(math.nan, smallest, why)
    reach = vectors.T @ turned[1:, 0]
    flat = values <= rounding
    if (np.abs(reach[flat]) > math.sqrt(ROUNDING) * np.abs(kernel).max()).any():
        why = "the kernel couples the constant to a direction in which it is 0"
        return Offset(math.nan, smallest, why)
    least = ((reach[~flat] ** 2 / values[~flat]).sum() - turned[0, 0]) / n
    return Offset(float(least), smallest, "")


def smoothness(kernel: Matrix) -> Smoothness:
    """Evaluate proposition 1: P(z_i | z_i) / P(z_i) ≥ e^{N δ} ρ_min for all i, if off-diagonal
    PMI is at most 0.

    Sufficient, not necessary. Source: Huh et al. 2024, appendix F.2.
    """
    outside = kernel[~np.eye(len(kernel), dtype=bool)]
    needed = float(outside.min() + len(kernel) * np.ptp(outside))
    own = float(kernel.diagonal().min())
    holds = bool(outside.max() <= 0 and own >= needed)
    return Smoothness(needed, own, float(-kernel.mean(axis=1).min()), holds)


def best_r2(kernel: Matrix, width: int) -> float:
    """Return the greatest R² that products of embeddings of this width can have with a kernel, up
    to slope and offset.

    The best of width d for K + c is its d largest positive eigenvalues (Eckart and Young); the best
    c is sought over both signs of a grid. Range 0 … 1, rising with the width. R² is over all
    ordered pairs, as `fit_products`.
    """
    spread = float(((kernel - kernel.mean()) ** 2).sum())
    rests = [spread]
    for offset in np.concatenate([[0.0], np.geomspace(1e-3, 1e4, 200)]):
        for sign in (1.0, -1.0):
            values = np.linalg.eigvalsh(kernel + sign * offset)[::-1]
            held = np.maximum(values[:width], 0)
            rests.append(float((values**2).sum() - (held**2).sum()))
    return 1 - min(rests) / spread
