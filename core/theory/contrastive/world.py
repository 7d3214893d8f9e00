"""A stationary, reversible sequence of discrete events: how often two of them share a window, and
the PMI kernel. Source: Huh et al. 2024, section 4.2 and appendix F.

    P_coor(a, b) ∝ Σ_{|t − t'| ≤ T} P(z_t = a, z_t' = b)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from core.errors import InputError

Matrix = Float64[np.ndarray, "n n"]
Vector = Float64[np.ndarray, " n"]
ROUNDING = 1e-10  # of eigenvalues, relative to the largest entry


@dataclass(frozen=True)
class Chain:
    """The stationary probability of each event, and of each step from an event (rows) to the
    next.
    """

    stationary: Vector
    steps: Matrix


@dataclass(frozen=True)
class Cooccurrence:
    """P_coor in two parts that sum to 1: same, of t = t', by event; apart, of t ≠ t', by pairs.

    A noisy observation of two different times is drawn twice, that of one time once.
    """

    same: Vector
    apart: Matrix

    @property
    def joint(self) -> Matrix:
        joint: np.ndarray = np.diag(self.same) + self.apart
        return joint


def draw_ring(events: int, *, spread: float, seed: int) -> Matrix:
    """Return symmetric weights between neighbors on a ring, e^(spread · normal)."""
    after = np.roll(np.eye(events), 1, axis=1)
    normal = np.random.default_rng(seed).standard_normal((events, events))
    factors = np.tril(np.exp(spread * normal), -1)
    edges: np.ndarray = (after + after.T) * (factors + factors.T)
    return edges


def make_chain(edges: Matrix, *, jumps: float) -> Chain:
    """Return the chain that follows the edges, and with probability `jumps` goes to any event by
    its stationary probability.
    """
    degrees = edges.sum(axis=1)
    stationary = degrees / degrees.sum()
    return Chain(stationary, (1 - jumps) * edges / degrees[:, None] + jumps * stationary)


def count_windows(chain: Chain, *, window: int) -> Cooccurrence:
    """Return P_coor of windows of `window` steps to either side, exactly."""
    powers = [np.linalg.matrix_power(chain.steps, lag) for lag in range(1, window + 1)]
    apart = 2 * chain.stationary[:, None] * np.sum(powers, axis=0)
    apart = (apart + apart.T) / 2  # reversible, so that only rounding differs
    total = chain.stationary.sum() + apart.sum()
    return Cooccurrence(chain.stationary / total, apart / total)


def pmi_kernel(joint: Matrix) -> Matrix:
    """Return K_PMI(a, b) = log P(a, b) / (P(a) P(b)) in nats, with P(a) = Σ_b P(a, b).

    Raises InputError for a pair that never co-occurs, whose PMI is −∞.
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


class Offset(NamedTuple):
    """The least C for which K + C is positive semi-definite, NaN with a reason if there is none.

    smallest: smallest eigenvalue of K among vectors whose entries sum to 0, which no C changes.
    """

    value: float
    smallest: float
    reason: str


def least_offset(kernel: Matrix) -> Offset:
    """Return the least C for which K + C 11ᵀ is positive semi-definite, so that it is ⟨f(a), f(b)⟩
    of some embedding.

    Split by u = 1/√N and what is orthogonal to it, K = [[a, bᵀ], [b, M]]. By the Schur complement
    some C exists if M is positive semi-definite and b in its range; the least is (bᵀ M⁺ b − a) / N.
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


class Smoothness(NamedTuple):
    """Proposition 1 of a kernel: if all off-diagonal PMI lies in [log ρ_min, log ρ_min + δ] below 0
    and needed = log ρ_min + N δ is at most least_own, the smallest PMI of an event with itself, it
    holds: K + offset is positive semi-definite, with the C of the proof, −min_i Σ_j K_ij / N.
    """

    needed: float
    least_own: float
    offset: float
    holds: bool


def smoothness(kernel: Matrix) -> Smoothness:
    """Evaluate proposition 1, which is sufficient, not necessary. Source: Huh et al. 2024,
    appendix F.2.
    """
    outside = kernel[~np.eye(len(kernel), dtype=bool)]
    needed = float(outside.min() + len(kernel) * np.ptp(outside))
    own = float(kernel.diagonal().min())
    holds = bool(outside.max() <= 0 and own >= needed)
    return Smoothness(needed, own, float(-kernel.mean(axis=1).min()), holds)
