"""The contrastive loss: a stimulus's vectors of two encoders are to be more alike than vectors of
different stimuli.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from core.questions.adapters.parts import Direction


def infonce(
    x: Float[Tensor, "n d"],
    y: Float[Tensor, "n d"],
    temperature: Float[Tensor, ""],
    *,
    direction: Direction = "both",
) -> Float[Tensor, ""]:
    """Return the InfoNCE loss of two encoders' vectors of the same stimuli, which are looked for
    among each other:

        forward: −1/n · Σᵢ log exp(⟨xᵢ, yᵢ⟩/τ) / Σⱼ exp(⟨xᵢ, yⱼ⟩/τ),
        both: the mean of that and of the same with x and y exchanged.

    Row i of both is stimulus i. temperature: τ > 0. Range 0 … ∞, lower is better aligned; log n
    where all products are equal. Source: van den Oord, Li, Vinyals 2018 (forward, as the proposal
    of aligned adapters has it); Radford et al. 2021 (both).
    """
    logits = x @ y.T / temperature
    own = torch.arange(len(x), device=x.device)
    forward = F.cross_entropy(logits, own)
    return forward if direction == "forward" else (forward + F.cross_entropy(logits.T, own)) / 2


def joint_infonce(
    views: Sequence[Float[Tensor, "n d"]],
    temperature: Float[Tensor, ""],
    *,
    direction: Direction = "both",
) -> Float[Tensor, ""]:
    """Return the mean of `infonce` over all pairs of encoders, the earlier one first."""
    losses = [infonce(x, y, temperature, direction=direction) for x, y in combinations(views, 2)]
    return torch.stack(losses).mean()
