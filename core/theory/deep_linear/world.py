"""What embedded deep linear networks learn from, and the networks before training.

    y = V x + C q(x) + ε,    x ~ N(0, Σx),    ε ~ N(0, Σε)
    f(x) = M^O W_D … W_1 M^I Z x

Only the W are trained; C is 0 unless it is to break the theorem. Source: Ziyin and Chuang 2025,
section 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Float64
from torch import Tensor

from core.errors import InputError

Matrix = Float64[Tensor, "_ _"]
WIDTHS = ((6, 7), (5, 9, 8))  # of the hidden layers
CONDITION = 3.0  # largest over smallest eigenvalue of Σx; its root, of Σε
_ROUNDING = 1e-14  # of an eigenvalue, relative to the largest


@dataclass(frozen=True)
class World:
    """Inputs of second moment Σx (d, d), of full rank; labels V x + C q(x) + ε with V (c, d) and
    noise of covariance Σε (c, c).

    curve: C (c, d), None if labels are linear; q_k(x) = (z_k² − 1) / √2 of z = Σx^{−1/2} x.
    """

    inputs: Matrix
    target: Matrix
    noise: Matrix
    curve: Matrix | None = None

    @property
    def missed(self) -> Matrix:
        """Σε + C Cᵀ, the second moment of what no linear network can know of the labels."""
        return self.noise if self.curve is None else self.noise + self.curve @ self.curve.T

    @property
    def rank(self) -> int:
        return int(torch.linalg.matrix_rank(self.target))


@dataclass(frozen=True)
class Net:
    """A network: before = M^I Z (d, d) and after = M^O (c, c) are frozen and invertible; seed and
    scale are those of the first weights.
    """

    world: World
    before: Matrix
    after: Matrix
    widths: tuple[int, ...]
    seed: int
    scale: float = 1.0

    @property
    def start(self) -> list[Matrix]:
        """The weights before training: entries of variance scale² / width of the layer before."""
        draw = _generator(self.seed)
        sizes = [len(self.before), *self.widths, len(self.after)]
        return [
            _normal(draw, out, into) * self.scale / math.sqrt(into) for into, out in pairwise(sizes)
        ]


def make_nets(
    widths: Sequence[Sequence[int]] = WIDTHS,
    *,
    d: int = 5,
    c: int = 5,
    rank: int = 3,
    condition: float = 4.0,
    seed: int = 0,
    quiet: float | None = None,
    noise: float = 0.3,
    scale: float = 1.0,
) -> tuple[Net, ...]:
    """Draw a world and, for each element of `widths`, a network in it with M and Z of its own.

    condition: of each M^I Z. quiet, noise: as `make_world`.
    """
    world = make_world(d=d, c=c, rank=rank, seed=seed, noise=noise, quiet=quiet)
    return tuple(
        Net(
            world,
            *_surround(world, seed=seed + place, condition=condition),
            tuple(hidden),
            seed + place,
            scale,
        )
        for place, hidden in enumerate(widths, start=1)
    )


def make_world(
    *,
    d: int,
    c: int,
    rank: int,
    seed: int,
    noise: float = 0.3,
    quiet: float | None = None,
) -> World:
    """Draw a world with Tr Σx = d and Tr Σε = noise · c; raise InputError for a rank above d or c.

    quiet: largest over smallest eigenvalue of Σε, with less noise the stronger a mode of V √Σx;
    random directions if None.
    """
    if not 1 <= rank <= min(d, c):
        raise InputError(
            f"a map from {d} inputs to {c} labels has a rank of 1 … {min(d, c)}, not {rank}"
        )
    draw = _generator(seed)
    target = _normal(draw, c, rank) @ _normal(draw, rank, d)
    inputs, errors = draw_positive(draw, d, CONDITION), draw_positive(draw, c, math.sqrt(CONDITION))
    if quiet is not None:
        modes = torch.linalg.svd(target @ root(inputs))[0]  # strongest first
        errors = (modes * torch.logspace(0.0, math.log10(quiet), c, dtype=torch.float64)) @ modes.T
    size = math.sqrt(rank) / float(torch.linalg.matrix_norm(target))
    return World(
        inputs * d / torch.trace(inputs), target * size, errors * noise * c / torch.trace(errors)
    )


def _surround(world: World, *, seed: int, condition: float) -> tuple[Matrix, Matrix]:
    """Draw M^I Z of this condition and M^O of its root, both with the norm of rotations."""
    draw, found = _generator(seed), []
    for size, each in ((len(world.inputs), condition), (len(world.noise), math.sqrt(condition))):
        matrix = _rotation(draw, size) @ draw_positive(draw, size, each)
        found.append(matrix * math.sqrt(size) / torch.linalg.matrix_norm(matrix))
    return found[0], found[1]


def draw_positive(draw: torch.Generator, size: int, condition: float) -> Matrix:
    """Draw a symmetric matrix with eigenvalues from 1 to `condition`, evenly in the logarithm."""
    turn = _rotation(draw, size)
    return (turn * torch.logspace(0.0, math.log10(condition), size, dtype=torch.float64)) @ turn.T


def draw_matrix(rows: int, columns: int, *, seed: int) -> Matrix:
    return _normal(_generator(seed), rows, columns)


def root(matrix: Matrix) -> Matrix:
    """Return the symmetric square root; eigenvalues within rounding of 0 count as 0."""
    values, vectors = torch.linalg.eigh(matrix)
    sound = values > _ROUNDING * values[-1]
    half: Tensor = (vectors * values.where(sound, 0.0).sqrt()) @ vectors.T
    return half


def _rotation(draw: torch.Generator, size: int) -> Matrix:
    rotation: Tensor = torch.linalg.qr(_normal(draw, size, size))[0]
    return rotation


def _normal(draw: torch.Generator, *shape: int) -> Matrix:
    return torch.randn(*shape, generator=draw, dtype=torch.float64)


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
