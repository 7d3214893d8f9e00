"""The proof's central picture: the entropy along a symmetry that leaves the loss as it is.

    W_i → e^{λT} W_i,    W_{i+1} → W_{i+1} e^{−λT},    T symmetric
    S(λ) = S(0) + Tr[(e^{−2λT} − 1) G_in] + Tr[(e^{2λT} − 1) G_out]

with G_in = E[∇_{W_i} ℓ ∇_{W_i} ℓᵀ] and G_out = E[∇_{W_{i+1}} ℓᵀ ∇_{W_{i+1}} ℓ] at λ = 0. S is
convex with one minimum λ*. Source: Ziyin and Chuang 2025, equations 21 to 36.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy.optimize import brentq

from core.theory.deep_linear.minima import transform
from core.theory.deep_linear.network import Weights
from core.theory.deep_linear.world import Matrix


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
    """Return λ*, the root of the rising dS/dλ (equation 28); ±∞ if S falls for ever, NaN if it is
    constant.

    For T = e_j e_jᵀ it is log(G_in[j, j] / G_out[j, j]) / 4 (equation 36), for T = 1 the same of
    the traces.
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
