"""Sharpness: the largest eigenvalue of the loss's Hessian, which noise drives up on the way to the
aligned solution.
"""

from __future__ import annotations

import numpy as np
import torch

from core.theory.deep_linear.network import Weights, loss
from core.theory.deep_linear.world import Frame, World


def sharpness(
    weights: Weights, frame: Frame, world: World, *, steps: int = 30, seed: int = 0
) -> float:
    """Return the largest eigenvalue of ∇²L by Lanczos iteration with full reorthogonalization.

    steps: products of the Hessian with a vector, at most as many as there are weights. Gradient
    descent at a step above 2 / sharpness cannot stay where it is. Source: Lanczos 1950; Cohen et
    al. 2021 for its meaning.
    """
    moving = [weight.clone().requires_grad_() for weight in weights]
    gradients = torch.autograd.grad(loss(moving, frame, world), moving, create_graph=True)
    flat = torch.cat([gradient.ravel() for gradient in gradients])

    def curve(vector: torch.Tensor) -> torch.Tensor:
        product = torch.autograd.grad(flat @ vector, moving, retain_graph=True)
        return torch.cat([part.ravel() for part in product])

    draw = torch.randn(
        len(flat), generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )
    basis, diagonal, beside = [draw / draw.norm()], [], []
    for _ in range(min(steps, len(flat))):
        vector = curve(basis[-1])
        diagonal.append(float(vector @ basis[-1]))
        directions = torch.stack(basis)
        for _ in range(2):  # once leaves rounding behind
            vector = vector - directions.T @ (directions @ vector)
        size = float(vector.norm())
        if size <= 1e-9 * max(map(abs, diagonal)):  # the space is exhausted
            break
        beside.append(size)
        basis.append(vector / size)
    matrix = (
        np.diag(diagonal)
        + np.diag(beside[: len(diagonal) - 1], 1)
        + np.diag(beside[: len(diagonal) - 1], -1)
    )
    return float(np.linalg.eigvalsh(matrix)[-1])
