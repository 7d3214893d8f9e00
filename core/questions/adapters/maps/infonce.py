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


def infonce(
    x: Float[Tensor, "n d"], y: Float[Tensor, "n d"], temperature: Float[Tensor, ""]
) -> Float[Tensor, ""]:
    """Return the symmetric InfoNCE loss of two encoders' vectors of the same stimuli:

        −1/2n · Σᵢ [ log exp(⟨xᵢ, yᵢ⟩/τ) / Σⱼ exp(⟨xᵢ, yⱼ⟩/τ) + log exp(⟨xᵢ, yᵢ⟩/τ) / Σⱼ exp(⟨xⱼ,
        yᵢ⟩/τ) ].

    Row i of both is stimulus i. temperature: τ > 0. Range 0 … ∞, lower is better aligned; log n
    where all products are equal. Source: van den Oord, Li, Vinyals 2018 (one direction); Radford et
    al. 2021 (both).
    """
    logits = x @ y.T / temperature
    own = torch.arange(len(x), device=x.device)
    return (F.cross_entropy(logits, own) + F.cross_entropy(logits.T, own)) / 2


def joint_infonce(
    views: Sequence[Float[Tensor, "n d"]], temperature: Float[Tensor, ""]
) -> Float[Tensor, ""]:
    """Return the mean of `infonce` over all pairs of two or more encoders."""
    losses = [infonce(x, y, temperature) for x, y in combinations(views, 2)]
    return torch.stack(losses).mean()
