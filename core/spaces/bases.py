"""The directions of a space: centered, orthonormal bases, leading axes, spectra.

Features have a relative precision eps, so the space is off along an axis v by at most Σⱼ |vⱼ| eps
‖xⱼ‖, and decomposing in float64 adds max(n, d) · eps₆₄ times the largest size. A singular direction
at or below both together is no direction: rank is decided so, and nowhere else.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float32, Float64
from scipy.linalg import eigh

from core.errors import MetricError
from core.spaces.preprocess import check_space

EPS = float(np.finfo(np.float64).eps)
# least width of the cut, in units of the largest square: then the angle of what is kept is off by
# 1e-7 at most (Davis, Kahan 1970), and features are stored to 6e-8
CLEAR = 1e-7


class Centered(NamedTuple):
    """Centered features, and how far each is off by rounding: a length in the same unit."""

    values: Float64[np.ndarray, "n d"]
    rounding: Float64[np.ndarray, "d"]


class Basis(NamedTuple):
    """A centered space as the product directions · sizes · axes, largest first, without those whose
    size is at or below their noise.
    """

    directions: Float64[np.ndarray, "n r"]
    sizes: Float64[np.ndarray, "r"]
    axes: Float64[np.ndarray, "r d"]
    noise: Float64[np.ndarray, "r"]

    @property
    def scores(self) -> Float64[np.ndarray, "n r"]:
        """Return the space rotated to its principal axes: all inner products stay."""
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
    """Scale centered features to length 1; those that vary by rounding alone are left out."""
    lengths = _lengths(centered.values)
    varying = lengths > centered.rounding
    kept = slice(None) if varying.all() else varying  # no copy of all values for nothing
    lengths = lengths[kept]
    return Centered(centered.values[:, kept] / lengths, centered.rounding[kept] / lengths)


def _lengths(values: Float64[np.ndarray, "n d"]) -> Float64[np.ndarray, "d"]:
    lengths: np.ndarray = np.sqrt(np.einsum("nd,nd->d", values, values))
    return lengths


def span(centered: Centered, *, rank: int | None = None) -> Basis:
    """Return the leading `rank` singular directions of a centered space, or all above rounding.

    Raises MetricError if fewer than two do, since stimuli on one line have no shape to compare, and
    if the cut falls between directions of equal size, which rounding would choose from.
    """
    basis = None if rank is None else _leading(centered, rank)
    if basis is None:
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


def _leading(centered: Centered, rank: int) -> Basis | None:
    """Return the rank + 1 leading singular directions from the eigenvectors of the smaller of XXᵀ
    and XᵀX; None if a full decomposition has to decide.
    """
    values = centered.values
    wide = values if len(values) <= values.shape[1] else values.T
    last = len(wide) - 1
    if rank > last:
        return None
    squares, own = eigh(wide @ wide.T, subset_by_index=(last - rank, last))
    if squares[1] - squares[0] <= CLEAR * squares[-1]:
        return None
    other = wide.T @ own[:, ::-1]
    sizes = np.linalg.norm(other, axis=0)
    order = np.argsort(-sizes, kind="stable")
    own, other, sizes = own[:, ::-1][:, order], other[:, order], sizes[order]
    other /= np.where(sizes > 0, sizes, 1)
    left, right = (own, other) if wide is values else (other, own)
    basis = _sound(centered, left, sizes, right.T)
    return basis if len(basis.sizes) > rank else None


def _sound(
    centered: Centered,
    left: Float64[np.ndarray, "n r"],
    sizes: Float64[np.ndarray, "r"],
    right: Float64[np.ndarray, "r d"],
) -> Basis:
    noise = np.abs(right) @ centered.rounding + max(centered.values.shape) * EPS * sizes[0]
    sound = sizes > noise
    return Basis(left[:, sound], sizes[sound], right[sound], noise[sound])


def basis_of(space: Float[np.ndarray, "n d"]) -> Basis:
    """Return the basis of a space without its axes, which are as large as the space itself."""
    basis = span(center(space))
    return basis._replace(axes=np.empty((len(basis.sizes), 0)))


def effective_rank(space: Float32[np.ndarray, "n d"]) -> float:
    """Return the effective rank of a centered space: exp(−Σ pᵢ log pᵢ), pᵢ = σᵢ / Σ σ, σ its
    singular values.

    In [1, min(n − 1, d)]: 1 if all stimuli lie on a line, d if all directions matter alike. Raises
    MetricError if all stimuli are equal. Source: Roy, Vetterli 2007, definition 1.
    """
    values = _singular_values(space)
    shares = values[values > 0] / values.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


def _singular_values(space: Float32[np.ndarray, "n d"]) -> Float64[np.ndarray, " r"]:
    centered = space.astype(np.float64)
    centered -= centered.mean(0)
    values: np.ndarray = np.linalg.svd(centered, compute_uv=False)
    noise = values.max(initial=0) * max(space.shape) * np.finfo(np.float64).eps
    floor = np.abs(space).max(initial=0) * np.sqrt(space.size) * np.finfo(np.float32).eps
    if values.max(initial=0) <= floor:
        raise MetricError("all stimuli lie at one point of this space, so it has no rank")
    kept: np.ndarray = values[values > noise]
    return kept
