"""The global minima of the loss that the theory singles out, written down without training."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch

from core.errors import InputError
from core.theory.deep_linear.network import Weights
from core.theory.deep_linear.world import Matrix, Net, root


def least_entropy(net: Net, *, seed: int = 0) -> list[Matrix]:
    """Return weights of least entropy among all global minima of the loss: what noise drives
    training to.

    With √Σε V √Σx = U Σ Eᵀ and s = Tr Σ, the hidden layers are

        h^i = √α_i R_i √Σ Eᵀ Σx^{−1/2} x,    α_i = q ρ^i / s,    ρ = (s² / (p q))^{1/D}

    with q = Tr[M^I Z Σx Zᵀ M^Iᵀ], p = Tr[M^Oᵀ Σε M^O] and any R_i with orthonormal columns (drawn
    by the seed). All are one representation up to rotation and scale, and neither M^I, M^O nor Z is
    left in it but in the scale. The inner matrices are √ρ R_i R_{i−1}ᵀ: rotations, all of one norm.

    The note leaves the scales α open, and writes (M^O)ᵀ in its equation 52 and one name for two
    matrices in 55 and 56; by substitution W̄_{i+1} = √Σε M^O W_D … W_{i+1} = U √Σ R_iᵀ / √α_i. Since
    the last matrix has to make V of what it gets, it is written here without Σε, which may have
    any rank that leaves √Σε V that of V. Raises InputError for a lower one, and for a width below
    the rank of V. Source: Ziyin and Chuang 2025, equations 50 to 57; the scales from its equation
    47 at every layer.
    """
    world, half = net.world, root(net.world.inputs)
    _, values, right = _modes(root(world.noise) @ world.target @ half, net.widths)
    if len(values) < world.rank:
        raise InputError(
            "a mode of the map comes without noise, and no minimum has the least entropy; give the"
            " noise a higher rank"
        )
    depth, s = len(net.widths) + 1, values.sum()
    q, p = _scales(net)
    ratio = (s**2 / (p * q)) ** (1 / depth)
    turns = _turns(net.widths, len(values), seed)
    first, last = q * ratio / s, q * ratio ** (depth - 1) / s
    whitened = right @ torch.linalg.inv(net.before @ half)
    weights = [first.sqrt() * turns[0] * values.sqrt() @ whitened]
    weights += [ratio.sqrt() * after @ before.T for before, after in pairwise(turns)]
    closing = torch.linalg.inv(net.after) @ world.target @ half @ right.T
    return [*weights, closing / values.sqrt() @ turns[-1].T / last.sqrt()]


def least_entropy_value(net: Net) -> float:
    """Return the entropy of `least_entropy`: 4 D s^{2 − 2/D} (p q)^{1/D}, for D trained
    matrices.
    """
    world, depth = net.world, len(net.widths) + 1
    s = torch.linalg.svdvals(root(world.noise) @ world.target @ root(world.inputs)).sum()
    q, p = _scales(net)
    return float(4 * depth * s ** (2 - 2 / depth) * (p * q) ** (1 / depth))


def least_norm(net: Net, *, seed: int = 0) -> list[Matrix]:
    """Return weights of least norm among all global minima of the loss: what a weight decay without
    noise drives training to.

    With (M^O)⁻¹ V (M^I Z)⁻¹ = U Σ Eᵀ every layer takes the same part, so that h^i = R_i Σ^{i/D} Eᵀ
    M^I Z x: the frozen matrices and the view stay in every hidden layer. Where all commute, that is
    V^{i/D} Z^{(D−i)/D} x. Raises InputError for a width below the rank of V. Source: Ziyin and
    Chuang 2025, equations 58 to 60.
    """
    product = torch.linalg.inv(net.after) @ net.world.target @ torch.linalg.inv(net.before)
    left, values, right = _modes(product, net.widths)
    share = values ** (1 / (len(net.widths) + 1))
    turns = _turns(net.widths, len(values), seed)
    inner = [after * share @ before.T for before, after in pairwise(turns)]
    return [turns[0] * share @ right, *inner, left * share @ turns[-1].T]


def whiten(net: Net) -> list[Matrix]:
    """Return a global minimum of the loss whose hidden layers depend on neither view, frozen
    matrices nor labels: the first layer whitens, inner ones pass on, the last does everything.

        h^i = Σx^{−1/2} x up to rotation

    No training here finds it. The note names W_1 = Σ_x⁻¹; since that of a view's inputs is
    Z⁻ᵀ Σx⁻¹ x, invariance to Z takes the root. Raises InputError for a width below that of the
    inputs. Source: Ziyin and Chuang 2025, section 6.
    """
    size, half = len(net.before), root(net.world.inputs)
    if min(net.widths) < size:
        raise InputError(
            f"whitening keeps all {size} inputs, but a hidden layer is only {min(net.widths)} wide"
        )
    eyes = [
        torch.eye(out, into, dtype=torch.float64) for into, out in pairwise((size, *net.widths))
    ]
    last = torch.linalg.inv(net.after) @ net.world.target @ half
    first = eyes[0] @ torch.linalg.inv(net.before @ half)
    return [first, *eyes[1:], last @ torch.eye(size, net.widths[-1], dtype=torch.float64)]


def transform(weights: Weights, *, layer: int, by: Matrix) -> list[Matrix]:
    """Return weights of the same function with h^layer taken through T⁻¹: W_layer → T⁻¹ W_layer,
    W_{layer+1} → W_{layer+1} T.

    layer: 1 … D − 1. by: T, invertible. Source: Ziyin and Chuang 2025, equation 16.
    """
    changed = list(weights)
    changed[layer - 1] = torch.linalg.solve(by, weights[layer - 1])
    changed[layer] = weights[layer] @ by
    return changed


def _modes(matrix: Matrix, widths: Sequence[int]) -> tuple[Matrix, torch.Tensor, Matrix]:
    """Return the singular vectors and values that are not 0, as (rows, r), (r,), (r, columns)."""
    left, values, right = torch.linalg.svd(matrix, full_matrices=False)
    rank = int((values > 1e-10 * values[0]).sum())
    if min(widths) < rank:
        raise InputError(
            f"the map has rank {rank}, but a hidden layer is only {min(widths)} wide; make it"
            f" {rank} or wider"
        )
    return left[:, :rank], values[:rank], right[:rank]


def _turns(widths: Sequence[int], rank: int, seed: int) -> list[Matrix]:
    draw = torch.Generator().manual_seed(seed)
    return [
        torch.linalg.qr(torch.randn(width, rank, generator=draw, dtype=torch.float64))[0]
        for width in widths
    ]


def _scales(net: Net) -> tuple[torch.Tensor, torch.Tensor]:
    """Return q = Tr[M^I Z Σx Zᵀ M^Iᵀ] and p = Tr[M^Oᵀ Σε M^O]."""
    q = torch.trace(net.before @ net.world.inputs @ net.before.T)
    return q, torch.trace(net.after.T @ net.world.noise @ net.after)
