"""Global minima of the loss in closed form, and the entropy along a symmetry of the loss:

    W_i → e^{λT} W_i,    W_{i+1} → W_{i+1} e^{−λT},    T symmetric
    S(λ) = S(0) + Tr[(e^{−2λT} − 1) G_in] + Tr[(e^{2λT} − 1) G_out]

with G_in = E[∇_{W_i} ℓ ∇_{W_i} ℓᵀ] and G_out = E[∇_{W_{i+1}} ℓᵀ ∇_{W_{i+1}} ℓ] at λ = 0. S is
convex with one minimum λ*. Source: Ziyin and Chuang 2025, equations 21 to 36 and 50 to 60.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from scipy.optimize import brentq

from core.errors import InputError
from core.theory.deep_linear.network import Matrix, Net, Weights, root


def least_entropy(net: Net, *, seed: int = 0) -> list[Matrix]:
    """Return weights of least entropy among all global minima of the loss.

    With √Σε V √Σx = U Σ Eᵀ and s = Tr Σ, the hidden layers are

        h^i = √α_i R_i √Σ Eᵀ Σx^{−1/2} x,    α_i = q ρ^i / s,    ρ = (s² / (p q))^{1/D}

    with q = Tr[M^I Z Σx Zᵀ M^Iᵀ], p = Tr[M^Oᵀ Σε M^O] and any R_i with orthonormal columns (drawn
    by the seed). The inner matrices are √ρ R_i R_{i−1}ᵀ.

    The note leaves the scales α open (here by its equation 47 at every layer) and writes (M^O)ᵀ in
    its equation 52. Raises InputError if √Σε V has a lower rank than V, or a layer is narrower.
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
    """Return the entropy of `least_entropy`: 4 D s^{2 − 2/D} (p q)^{1/D}."""
    world, depth = net.world, len(net.widths) + 1
    s = torch.linalg.svdvals(root(world.noise) @ world.target @ root(world.inputs)).sum()
    q, p = _scales(net)
    return float(4 * depth * s ** (2 - 2 / depth) * (p * q) ** (1 / depth))


def least_norm(net: Net, *, seed: int = 0) -> list[Matrix]:
    """Return weights of least norm among all global minima of the loss: h^i = R_i Σ^{i/D} Eᵀ M^I Z
    x with (M^O)⁻¹ V (M^I Z)⁻¹ = U Σ Eᵀ. Raises InputError for a layer narrower than the rank of V.
    """
    product = torch.linalg.inv(net.after) @ net.world.target @ torch.linalg.inv(net.before)
    left, values, right = _modes(product, net.widths)
    share = values ** (1 / (len(net.widths) + 1))
    turns = _turns(net.widths, len(values), seed)
    inner = [after * share @ before.T for before, after in pairwise(turns)]
    return [turns[0] * share @ right, *inner, left * share @ turns[-1].T]


def whiten(net: Net) -> list[Matrix]:
    """Return a global minimum of the loss whose hidden layers depend on neither view, frozen
    matrices nor labels: h^i = Σx^{−1/2} x up to rotation. No training here finds it.

    The note names W_1 = Σ_x⁻¹, which keeps Z; invariance takes the root. Raises InputError for a
    layer narrower than the inputs. Source: Ziyin and Chuang 2025, section 6.
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
    """Return weights of the same function: W_i → T⁻¹ W_i, W_{i+1} → W_{i+1} T.

    layer: i, 1 … D − 1. by: T, invertible. Source: Ziyin and Chuang 2025, equation 16.
    """
    changed = list(weights)
    changed[layer - 1] = torch.linalg.solve(by, weights[layer - 1])
    changed[layer] = weights[layer] @ by
    return changed


def move(weights: Weights, *, layer: int, by: Matrix, to: float) -> list[Matrix]:
    """Return the weights at λ = `to` along T = `by` at a hidden layer, 1 … D − 1."""
    return transform(weights, layer=layer, by=torch.linalg.matrix_exp(-to * by))


def entropy_change(moments: tuple[Matrix, Matrix], by: Matrix, to: float) -> float:
    """Return S(λ) − S(0); moments: G_in and G_out of the layer (equation 27)."""
    change = 0.0
    for moment, sign in zip(moments, (-2, 2), strict=True):
        change += float(torch.trace(torch.linalg.matrix_exp(sign * to * by) @ moment))
        change -= float(torch.trace(moment))
    return change


def least(moments: tuple[Matrix, Matrix], by: Matrix) -> float:
    """Return λ*, the root of dS/dλ (equation 28); ±∞ if S falls for ever, NaN if it is constant.

    For T = e_j e_jᵀ it is log(G_in[j, j] / G_out[j, j]) / 4 (equation 36).
    """
    rates, basis = torch.linalg.eigh(by)
    first, second = (((basis.T @ one @ basis).diagonal()).numpy() for one in moments)
    slopes = rates.numpy()
    moving = np.abs(slopes) > 1e-12 * np.abs(slopes).max()
    slopes, first, second = slopes[moving], first[moving], second[moving]
    if not (np.abs(first).any() or np.abs(second).any()):
        return float("nan")
    # what grows on either side: e^{−2λt} G_in and e^{2λt} G_out, by the sign of t
    falling = np.where(slopes > 0, first, second).sum()
    rising = np.where(slopes > 0, second, first).sum()
    if min(falling, rising) <= 0:
        return float("inf") if rising <= 0 else -float("inf")

    def slope(value: float) -> float:
        pull = np.exp(-2 * value * slopes) * first
        push = np.exp(2 * value * slopes) * second
        return float((slopes * (push - pull)).sum() / (np.abs(slopes) * (push + pull)).sum())

    reach = 1.0
    while slope(-reach) > 0 or slope(reach) < 0:
        reach *= 2
    return float(brentq(slope, -reach, reach, xtol=1e-14))


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
    q = torch.trace(net.before @ net.world.inputs @ net.before.T)
    return q, torch.trace(net.after.T @ net.world.noise @ net.after)
