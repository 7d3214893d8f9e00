"""An embedded deep linear network by exact moments: its representations, loss, gradients and
entropy.

    f(x) = M^O W_D … W_1 M^I Z x,    h^i = W_i … W_1 M^I Z x,    g^i = ∂f/∂h^i transposed, times the
    error

Inputs are normal, so that the fourth moments in the entropy are known: nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from jaxtyping import Float64
from torch import Tensor

from core.theory.deep_linear.world import Frame, Matrix, World

Weights = Sequence[Matrix]
Scalar = Float64[Tensor, ""]


def forward_maps(weights: Weights, frame: Frame) -> list[Matrix]:
    """Return T_0 … T_D, the maps from x to each layer: h^i = T_i x, with h^0 = M^I Z x before any
    trained matrix.
    """
    maps = [frame.before]
    for weight in weights:
        maps.append(weight @ maps[-1])
    return maps


def backward_maps(weights: Weights, frame: Frame) -> list[Matrix]:
    """Return B_0 … B_D, the maps from each layer to the output: f = B_i h^i, so that the error e
    comes back as g^i = B_iᵀ e.
    """
    maps = [frame.after]
    for weight in reversed(weights):
        maps.append(maps[-1] @ weight)
    return maps[::-1]


def hidden_maps(weights: Weights, frame: Frame) -> list[Matrix]:
    """Return T_1 … T_{D−1}: the hidden layers, of which the theorem speaks."""
    return forward_maps(weights, frame)[1:-1]


def loss(weights: Weights, frame: Frame, world: World) -> Scalar:
    """Return L = E‖f(x) − y‖² = Tr[R Σx Rᵀ] + Tr Σε with R the difference of the network's map and
    V; at least Tr Σε.
    """
    rest = _rest(weights, frame, world)
    return torch.trace(rest @ world.inputs @ rest.T) + torch.trace(world.noise)


def entropy(weights: Weights, frame: Frame, world: World) -> Scalar:
    """Return S = Σᵢ E‖∇_{W_i} ℓ‖² of the loss of single samples; lower is flatter.

    ∇_{W_i} ℓ = 2 g^i h^{i−1}ᵀ, and by the fourth moments of normal inputs

        E‖g^i h^{i−1}ᵀ‖² = E‖g^i‖² E‖h^{i−1}‖² + 2 ‖B_iᵀ R Σx T_{i−1}ᵀ‖²

    where the last term is 0 at the minimum of the loss. Source: Ziyin and Chuang 2025, equation 14.
    """
    rest = _rest(weights, frame, world)
    forward, backward = forward_maps(weights, frame), backward_maps(weights, frame)
    passed = rest @ world.inputs
    errors = world.noise + passed @ rest.T  # second moment of the error
    total = torch.zeros((), dtype=torch.float64)
    for before, after in zip(forward[:-1], backward[1:], strict=True):
        sizes = (after * (errors @ after)).sum() * (
            before * (before @ world.inputs)
        ).sum()  # Tr Bᵀ E B and Tr T Σ Tᵀ
        total = total + 4 * (sizes + 2 * (after.T @ passed @ before.T).square().sum())
    return total


def gradient_moments(weights: Weights, frame: Frame, world: World) -> list[tuple[Matrix, Matrix]]:
    """Return, for each hidden layer i, E[∇_{W_i} ∇_{W_i}ᵀ] and E[∇_{W_{i+1}}ᵀ ∇_{W_{i+1}}], both
    (width, width).

    They are equal where the entropy is least; their diagonals are the gradient balance. The weights
    have to be at a global minimum of the loss, since only there the error is independent of the
    inputs. Source: Ziyin and Chuang 2025, equations 33 and 39.
    """
    forward, backward = forward_maps(weights, frame), backward_maps(weights, frame)
    reach = [torch.trace(each @ world.inputs @ each.T) for each in forward]  # E‖h‖²
    pull = [torch.trace(each.T @ world.noise @ each) for each in backward]  # E‖g‖²
    moments = []
    for i in range(1, len(weights)):
        inward = 4 * reach[i - 1] * backward[i].T @ world.noise @ backward[i]
        outward = 4 * pull[i + 1] * forward[i] @ world.inputs @ forward[i].T
        moments.append((inward, outward))
    return moments


def conserved(weights: Weights) -> list[Matrix]:
    """Return W_{i+1}ᵀ W_{i+1} − W_i W_iᵀ of each hidden layer, which gradient flow never changes
    (the note's equation 62).
    """
    return [after.T @ after - before @ before.T for before, after in pairwise(weights)]


def _rest(weights: Weights, frame: Frame, world: World) -> Matrix:
    return frame.after @ forward_maps(weights, frame)[-1] - world.target
