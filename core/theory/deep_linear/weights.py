"""What becomes of each trained matrix: its norm and singular values, how it whitens, and both sides
of the gradient balance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import torch

from core.theory.deep_linear.closed_form import least_entropy
from core.theory.deep_linear.nets import Net
from core.theory.deep_linear.network import Weights, forward_maps, gradient_moments
from core.theory.deep_linear.world import Matrix, root

Row = dict[str, float | str]


def weigh(net: Net, weights: Weights, *, network: str, at: int) -> Iterator[Row]:
    """Yield a row for each matrix: the frozen M^I Z, number 0, and W_1 … W_D.

    norm: ‖W_i‖. mode_1 … mode_r: its largest singular values, as many as V has modes. working_norm,
    working_mode_1 … working_mode_r: from W_2 on, those of W_i on the r largest directions of what
    it gets, since what a wide matrix does beside them changes neither loss nor entropy, and stays
    as it was drawn; stretch: the first over the last of these modes, 1 for a rotation. spread: the
    first over the r-th eigenvalue of the second moment of what the matrix puts out, h^i.
    norm_theory, stretch_theory, spread_theory: where the entropy is least, and a matrix does
    nothing beside its modes. incoming, outgoing: E‖∇_{W_i} ℓ‖² and E‖∇_{W_{i+1}} ℓ‖², the traces of
    both sides of the gradient balance; gradients_apart: how far both sides are from each other, ‖X
    − Y‖ / (‖X‖ + ‖Y‖), in [0, 1]; weights_apart: the same of W_i W_iᵀ and W_{i+1}ᵀ W_{i+1}, which
    weight decay balances; of hidden layers, else NaN. Source: Ziyin and Chuang 2025, equations 33,
    39 and 63 and section 6.
    """
    rank = int(torch.linalg.matrix_rank(net.world.target))
    aligned = least_entropy(net.world, net.frame, net.widths)
    measured, theory = (list(_measure(net, each, rank)) for each in (weights, aligned))
    balances = [{}, *_balances(net, weights), {}]
    for place, (row, goal, balance) in enumerate(zip(measured, theory, balances, strict=True)):
        goals = {f"{name}_theory": goal[name] for name in ("norm", "stretch", "spread")}
        yield {"at": at, "network": network, "matrix": place, **row, **goals, **_NONE, **balance}


_NONE = dict.fromkeys(("incoming", "outgoing", "gradients_apart", "weights_apart"), float("nan"))


def _measure(net: Net, weights: Weights, rank: int) -> Iterator[dict[str, float]]:
    half = root(net.world.inputs)
    seen = torch.eye(len(half), dtype=torch.float64)  # the directions in which a matrix works
    matrices = [net.frame.before, *weights]
    layers = forward_maps(weights, net.frame)
    for place, (matrix, layer) in enumerate(zip(matrices, layers, strict=True)):
        working = matrix @ seen
        modes = torch.linalg.svdvals(working)[:rank]
        whole = torch.linalg.svdvals(matrix)[:rank]
        left, sizes, _ = torch.linalg.svd(layer @ half, full_matrices=False)
        seen = left[:, :rank] if place else seen
        out = sizes[:rank].square()
        yield {
            "norm": float(torch.linalg.matrix_norm(matrix)),
            **{f"mode_{k}": float(mode) for k, mode in enumerate(whole, start=1)},
            "working_norm": float(torch.linalg.matrix_norm(working)),
            **{f"working_mode_{k}": float(mode) for k, mode in enumerate(modes, start=1)},
            "stretch": float(modes[0] / modes[-1]),
            "spread": float(out[0] / out[-1]),
        }


def _balances(net: Net, weights: Weights) -> Iterator[dict[str, float]]:
    sides = gradient_moments(weights, net.frame, net.world)
    for (inward, outward), (before, after) in zip(sides, pairwise(weights), strict=True):
        yield {
            "incoming": float(torch.trace(inward)),
            "outgoing": float(torch.trace(outward)),
            "gradients_apart": _apart(inward, outward),
            "weights_apart": _apart(before @ before.T, after.T @ after),
        }


def _apart(x: Matrix, y: Matrix) -> float:
    norms: Sequence[torch.Tensor] = [torch.linalg.matrix_norm(each) for each in (x, y, x - y)]
    return float(norms[2] / (norms[0] + norms[1]))
