"""A world of discrete events in a stationary, reversible sequence, and how often two of them share
a window.

    P_coor(a, b) ∝ Σ_{|t − t'| ≤ T} P(z_t = a, z_t' = b)

The sum holds t = t', at which an event meets itself. This part is kept apart: a noisy observation
of two different times is drawn twice, that of one time once. Source: Huh et al. 2024, section 4.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

Matrix = Float64[np.ndarray, "n n"]
Vector = Float64[np.ndarray, " n"]


@dataclass(frozen=True)
class Chain:
    """A reversible chain: the stationary probability of each event, and of each step from an event
    (rows) to the next.
    """

    stationary: Vector
    steps: Matrix


@dataclass(frozen=True)
class Cooccurrence:
    """P_coor in two parts that sum to 1 together: same, of t = t', by event; apart, of t ≠ t', by
    pairs and symmetric.
    """

    same: Vector
    apart: Matrix

    @property
    def joint(self) -> Matrix:
        """P_coor(a, b)."""
        joint: np.ndarray = np.diag(self.same) + self.apart
        return joint


def draw_edges(kind: str, *, events: int, seed: int) -> Matrix:
    """Return symmetric weights between events, in proportion to which the sequence goes from one to
    the other.

    kind: a key of KINDS, of which only "random" depends on the seed.
    """
    return KINDS[kind](events, np.random.default_rng(seed))


def vary_edges(edges: Matrix, *, spread: float, seed: int) -> Matrix:
    """Return the edges with each weight times e^(spread · normal), so that no two events are
    alike.
    """
    factors = np.tril(np.exp(spread * np.random.default_rng(seed).standard_normal(edges.shape)), -1)
    varied: np.ndarray = edges * (factors + factors.T)
    return varied


def make_chain(edges: Matrix, *, jumps: float) -> Chain:
    """Return the chain that follows the edges, and with probability `jumps` goes to any event by
    its stationary probability; it is reversible, so P_coor is symmetric.
    """
    degrees = edges.sum(axis=1)
    stationary = degrees / degrees.sum()
    return Chain(stationary, (1 - jumps) * edges / degrees[:, None] + jumps * stationary)


def count_windows(chain: Chain, *, window: int, same: bool = True) -> Cooccurrence:
    """Return P_coor of windows of `window` steps to either side, exactly.

    same: whether t = t' counts, as the definition has it.
    """
    powers = [np.linalg.matrix_power(chain.steps, lag) for lag in range(1, window + 1)]
    apart = 2 * chain.stationary[:, None] * np.sum(powers, axis=0)
    apart = (apart + apart.T) / 2  # reversible, so that only rounding differs
    once = chain.stationary * float(same)
    total = once.sum() + apart.sum()
    return Cooccurrence(once / total, apart / total)


def _path(events: int) -> Matrix:
    after = np.eye(events, k=1)
    return after + after.T


def _ring(events: int, _: np.random.Generator) -> Matrix:
    after = np.roll(np.eye(events), 1, axis=1)
    return after + after.T


def _clusters(events: int, _: np.random.Generator) -> Matrix:
    groups = np.arange(events) * math.isqrt(events) // events
    inside = (groups[:, None] == groups) & ~np.eye(events, dtype=bool)
    between = _path(events) * (groups[:, None] != groups)  # one way from each cluster to the next
    edges: np.ndarray = inside + 0.25 * between
    return edges


def _random(events: int, draw: np.random.Generator) -> Matrix:
    weights = np.tril(np.exp(1.5 * draw.standard_normal((events, events))), -1)
    return weights + weights.T


KINDS: Mapping[str, Callable[[int, np.random.Generator], Matrix]] = {
    "ring": _ring,
    "clusters": _clusters,
    "random": _random,
}
