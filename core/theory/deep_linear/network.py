"""Embedded deep linear networks, what they learn from, and all that is measured of them, by exact
moments of normal inputs. Only the W are trained; C is 0 unless it is to break the theorem.

    y = V x + C q(x) + ε,    x ~ N(0, Σx),    ε ~ N(0, Σε),    f(x) = M^O W_D … W_1 M^I Z x
    h^i = W_i … W_1 M^I Z x,    g^i = (∂f / ∂h^i)ᵀ (f(x) − y)

Source: Ziyin and Chuang 2025, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from core.errors import InputError, MetricError

Matrix = Float64[Tensor, "_ _"]
Weights = Sequence[Matrix]
Scalar = Float64[Tensor, ""]
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


def forward_maps(weights: Weights, net: Net) -> list[Matrix]:
    """Return T_0 … T_D, the maps from x to each layer: h^i = T_i x, with h^0 = M^I Z x."""
    maps = [net.before]
    for weight in weights:
        maps.append(weight @ maps[-1])
    return maps


def backward_maps(weights: Weights, net: Net) -> list[Matrix]:
    """Return B_0 … B_D, the maps from each layer to the output: f = B_i h^i and g^i = B_iᵀ e."""
    maps = [net.after]
    for weight in reversed(weights):
        maps.append(maps[-1] @ weight)
    return maps[::-1]


def hidden_maps(weights: Weights, net: Net) -> list[Matrix]:
    """Return T_1 … T_{D−1}, the hidden layers."""
    return forward_maps(weights, net)[1:-1]


def loss(weights: Weights, net: Net) -> Scalar:
    """Return L = E‖f(x) − y‖² = Tr[R Σx Rᵀ] + Tr[Σε + C Cᵀ], R the network's map less V."""
    rest, world = _rest(weights, net), net.world
    return torch.trace(rest @ world.inputs @ rest.T) + torch.trace(world.missed)


def excess_loss(weights: Weights, net: Net) -> float:
    """Return the loss above the least that any network can have."""
    return float(loss(weights, net) - torch.trace(net.world.missed))


def entropy(weights: Weights, net: Net) -> Scalar:
    """Return S = Σᵢ E‖∇_{W_i} ℓ‖² of the loss of single samples; lower is flatter.

    ∇_{W_i} ℓ = 2 g^i h^{i−1}ᵀ, and by the fourth moments of normal inputs

        E‖g^i h^{i−1}ᵀ‖² = E‖g^i‖² E‖h^{i−1}‖² + 2 ‖B_iᵀ R Σx T_{i−1}ᵀ‖²
                           + 4 Σ_k ‖B_iᵀ C_k‖² ‖T_{i−1} √Σx_k‖²

    with columns k. Source: Ziyin and Chuang 2025, equation 14.
    """
    rest, world = _rest(weights, net), net.world
    forward, backward = forward_maps(weights, net), backward_maps(weights, net)
    passed = rest @ world.inputs
    errors = world.missed + passed @ rest.T  # second moment of the error
    total = torch.zeros((), dtype=torch.float64)
    for before, after in zip(forward[:-1], backward[1:], strict=True):
        pull, size = (after * (errors @ after)).sum(), (before * (before @ world.inputs)).sum()
        total = total + 4 * (pull * size + 2 * (after.T @ passed @ before.T).square().sum())
        if world.curve is not None:
            bent = (after.T @ world.curve).square().sum(0)
            total = total + 16 * bent @ (before @ root(world.inputs)).square().sum(0)
    return total


def gradient_moments(weights: Weights, net: Net) -> list[tuple[Matrix, Matrix]]:
    """Return, for each hidden layer i, E[∇_{W_i} ∇_{W_i}ᵀ] and E[∇_{W_{i+1}}ᵀ ∇_{W_{i+1}}], both
    (width, width) and equal at the least entropy.

        E[e eᵀ ‖T x‖²]  = E[e eᵀ] Tr[T Σx Tᵀ] + 2 P TᵀT Pᵀ + 4 Σ_k C_k C_kᵀ ‖T √Σx_k‖²
        E[x xᵀ ‖Bᵀ e‖²] = Σx Tr[Bᵀ E[e eᵀ] B] + 2 Pᵀ B Bᵀ P + 4 Σ_k √Σx_k √Σx_kᵀ ‖Bᵀ C_k‖²

    with P = R Σx and columns k. Source: Ziyin and Chuang 2025, equations 33 and 39.
    """
    rest, world, half = _rest(weights, net), net.world, root(net.world.inputs)
    forward, backward = forward_maps(weights, net), backward_maps(weights, net)
    passed = rest @ world.inputs
    missed = world.missed + passed @ rest.T
    curve = torch.zeros_like(world.target) if world.curve is None else world.curve
    moments = []
    for i in range(1, len(weights)):
        into, out = forward[i - 1], backward[i + 1]
        sizes, pulls = (into @ half).square().sum(0), (out.T @ curve).square().sum(0)
        errors = missed * sizes.sum() + 2 * passed @ into.T @ into @ passed.T
        errors = errors + 4 * (curve * sizes) @ curve.T
        inputs = world.inputs * torch.trace(out.T @ missed @ out)
        inputs = inputs + 2 * passed.T @ out @ out.T @ passed + 4 * (half * pulls) @ half.T
        inward = 4 * backward[i].T @ errors @ backward[i]
        moments.append((inward, 4 * forward[i] @ inputs @ forward[i].T))
    return moments


def layer_moments(weights: Weights, net: Net) -> list[tuple[Matrix, Matrix]]:
    """Return E[h hᵀ] and E[g gᵀ] of each hidden layer, (width, width): proportional at the least
    entropy. Source: Ziyin and Chuang 2025, footnote 16.
    """
    rest, world = _rest(weights, net), net.world
    errors = world.missed + rest @ world.inputs @ rest.T
    maps = zip(hidden_maps(weights, net), backward_maps(weights, net)[1:-1], strict=True)
    return [(h @ world.inputs @ h.T, g.T @ errors @ g) for h, g in maps]


def sharpness(weights: Weights, net: Net, *, steps: int = 30, seed: int = 0) -> float:
    """Return the largest eigenvalue of ∇²L by Lanczos iteration with full reorthogonalization.

    steps: products of the Hessian with a vector. Source: Lanczos 1950; Cohen et al. 2021.
    """
    moving = [weight.clone().requires_grad_() for weight in weights]
    gradients = torch.autograd.grad(loss(moving, net), moving, create_graph=True)
    flat = torch.cat([gradient.ravel() for gradient in gradients])
    draw = torch.Generator().manual_seed(seed)
    start = torch.randn(len(flat), generator=draw, dtype=torch.float64)
    basis, diagonal, sizes = [start / start.norm()], [], []
    for _ in range(min(steps, len(flat))):
        product = torch.autograd.grad(flat @ basis[-1], moving, retain_graph=True)
        vector = torch.cat([part.ravel() for part in product])
        diagonal.append(float(vector @ basis[-1]))
        directions = torch.stack(basis)
        for _ in range(2):  # once leaves rounding behind
            vector = vector - directions.T @ (directions @ vector)
        size = float(vector.norm())
        if size <= 1e-9 * max(map(abs, diagonal)):  # the space is exhausted
            break
        sizes.append(size)
        basis.append(vector / size)
    between = sizes[: len(diagonal) - 1]
    matrix = np.diag(diagonal) + np.diag(between, 1) + np.diag(between, -1)
    return float(np.linalg.eigvalsh(matrix)[-1])


def linear_cka(x: Matrix, y: Matrix, *, of_x: Matrix, of_y: Matrix, between: Matrix) -> float:
    """Return linear CKA without centering of two layers, in [0, 1].

        CKA = ‖T_x E[x yᵀ] T_yᵀ‖² / (‖T_x E[x xᵀ] T_xᵀ‖ ‖T_y E[y yᵀ] T_yᵀ‖)

    x, y: the maps T from input to layer. of_x, of_y, between: second moments of the inputs of each
    network, and of both. Raises MetricError for a layer that is 0 for every input. Source:
    Kornblith et al. 2019; Ziyin and Chuang 2025, definition 1.
    """
    sizes = [
        torch.linalg.matrix_norm(layer @ moment @ layer.T)
        for layer, moment in ((x, of_x), (y, of_y))
    ]
    if min(sizes) == 0:
        raise MetricError("a layer that is 0 for every input has no representation to align")
    return float((x @ between @ y.T).square().sum() / (sizes[0] * sizes[1]))


def align_layers(maps: Sequence[Matrix], others: Sequence[Matrix], moment: Matrix) -> Matrix:
    """Return linear CKA of every layer (rows) with every one of `others`, over the same inputs."""
    half = root(moment)
    eye = torch.eye(len(moment), dtype=torch.float64)
    scores = [
        [linear_cka(x @ half, y @ half, of_x=eye, of_y=eye, between=eye) for y in others]
        for x in maps
    ]
    return torch.tensor(scores, dtype=torch.float64)


def disproportion(x: Matrix, y: Matrix) -> float:
    """Return how far two layers are from definition 1: the least ‖c G_x − G_y‖ / ‖G_y‖ over c, with
    G = TᵀT, in [0, 1]. Source: Ziyin and Chuang 2025, equation 1.
    """
    first, second = (layer.T @ layer for layer in (x, y))
    first, second = (gram / torch.linalg.matrix_norm(gram) for gram in (first, second))
    return float(torch.linalg.matrix_norm(second - (first * second).sum() * first))


def _rest(weights: Weights, net: Net) -> Matrix:
    return net.after @ forward_maps(weights, net)[-1] - net.world.target
