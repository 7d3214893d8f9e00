"""What linear metrics need of one space: its principal directions, and how many of them are more
than rounding.

No epsilon enters a value. Features are stored to a relative precision eps, so feature j is off by
at most rⱼ = eps ‖xⱼ‖, and what the space is along an axis v by at most Σⱼ |vⱼ| rⱼ; decomposing it
in float64 adds max(n, d) · eps₆₄ times the largest size, whatever the axis. A singular direction at
or below both together is no direction of the space. Rank is decided so, and nowhere else. Each
direction answers for the features that it is made of: one far from zero, whose rounding is coarse,
takes no other's direction away.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float64

from core.errors import MetricError
from core.spaces.inputs import check_space
from core.spaces.leading import find_leading

EPS = float(np.finfo(np.float64).eps)


class Centered(NamedTuple):
    """Centered features, and how far each is off by rounding: a length in the same unit."""

    values: Float64[np.ndarray, "n d"]
    rounding: Float64[np.ndarray, "d"]


class Basis(NamedTuple):
    """A centered space as the product directions · sizes · axes, largest first; those whose size is
    at or below their noise are left out.
    """

    directions: Float64[np.ndarray, "n r"]
    sizes: Float64[np.ndarray, "r"]
    axes: Float64[np.ndarray, "r d"]
    noise: Float64[np.ndarray, "r"]

    @property
    def scores(self) -> Float64[np.ndarray, "n r"]:
        """Return the space rotated to its principal axes: all inner products stay, in no more
        dimensions than stimuli.
        """
        scores: np.ndarray = self.directions * self.sizes
        return scores


def center(space: Float[np.ndarray, "n d"]) -> Centered:
    """Center every feature, in float64 and in units of the largest absolute value, which no metric
    depends on.

    rounding: (eps + n · eps₆₄) · ‖xⱼ‖ for feature j before centering, with eps that of the space's
    type; the second term is for the mean. Raises MetricError for degenerate spaces.
    """
    check_space(space)
    values = np.divide(space, max(space.max(), -space.min()), dtype=np.float64)
    precision = np.finfo(space.dtype).eps + len(space) * EPS
    rounding = precision * _lengths(values)
    values -= values.mean(axis=0)
    return Centered(values, rounding)


def standardize(centered: Centered) -> Centered:
    """Scale every centered feature to length 1, its rounding with it; a feature that varies by
    rounding alone is left out.
    """
    lengths = _lengths(centered.values)
    varying = lengths > centered.rounding
    kept = slice(None) if varying.all() else varying  # no copy of all values for nothing
    lengths = lengths[kept]
    return Centered(centered.values[:, kept] / lengths, centered.rounding[kept] / lengths)


def _lengths(values: Float64[np.ndarray, "n d"]) -> Float64[np.ndarray, "d"]:
    """Return the length of every feature, without another array as large as the space."""
    lengths: np.ndarray = np.sqrt(np.einsum("nd,nd->d", values, values))
    return lengths


def span(centered: Centered, *, rank: int | None = None) -> Basis:
    """Return the leading `rank` singular directions of a centered space, or all that stand above
    rounding.

    Raises MetricError where fewer than two do, since stimuli on one line have no shape to compare;
    and where the cut falls between directions of equal size, since which to keep would be left to
    rounding.
    """
    leading = None if rank is None else find_leading(centered.values, rank=rank)
    basis = None if leading is None else _sound(centered, *leading)
    if rank is None or basis is None or len(basis.sizes) <= rank:
        basis = _sound(centered, *np.linalg.svd(centered.values, full_matrices=False))
    left, sizes, right, noise = basis
    available = len(sizes)
    if available < 2:
        raise MetricError(
            f"a space of rank 2 or more expected; these {len(left)} stimuli lie on one line: choose"
            " another layer"
        )
    kept = available if rank is None else min(rank, available)
    if kept < available and sizes[kept - 1] - sizes[kept] <= noise[kept - 1 : kept + 1].max():
        raise MetricError(
            f"singular directions {kept} and {kept + 1} are equally strong, so rank {kept} cuts at"
            " random; use another"
        )
    return Basis(left[:, :kept], sizes[:kept], right[:kept], noise[:kept])


def _sound(
    centered: Centered,
    left: Float64[np.ndarray, "n r"],
    sizes: Float64[np.ndarray, "r"],
    right: Float64[np.ndarray, "r d"],
) -> Basis:
    """Leave out the directions that are at or below their noise."""
    noise = np.abs(right) @ centered.rounding + max(centered.values.shape) * EPS * sizes[0]
    sound = sizes > noise
    return Basis(left[:, sound], sizes[sound], right[sound], noise[sound])


def basis_of(space: Float[np.ndarray, "n d"]) -> Basis:
    """Return the basis of all of a space without its axes, which are as large as the space
    itself.
    """
    basis = span(center(space))
    return basis._replace(axes=np.empty((len(basis.sizes), 0)))
