"""In which precision a model's weights are held and its forward pass runs. Vectors are pooled and
given in float32 everywhere.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch

from core.encoders.requests import TYPES, Precision

AUTOCAST = "bfloat16 autocast"


@dataclass(frozen=True)
class Arithmetic:
    """How a model computes. weights: what they are held in. autocast: whether bfloat16 is used
    where it is safe, over float32 weights.
    """

    weights: torch.dtype = torch.float32
    autocast: bool = False

    @property
    def name(self) -> str:
        return AUTOCAST if self.autocast else str(self.weights).removeprefix("torch.")

    def forward_on(self, device: str | torch.device) -> AbstractContextManager[object]:
        """Return the context of a forward pass on a device."""
        kind = torch.device(device).type
        return torch.autocast(kind, dtype=torch.bfloat16) if self.autocast else nullcontext()


def choose_arithmetic(
    precision: Precision, device: torch.device, *, stored: torch.dtype = torch.float32
) -> Arithmetic:
    """Return how a model computes whose weights are stored in a type.

    `auto` keeps the stored type, but for two: float16 runs in float32 on a CPU, which is slow in
    it, and float32 runs under bfloat16 autocast on CUDA, which is fast in that.
    """
    for name, option in TYPES.items():
        if precision == option:
            return Arithmetic(getattr(torch, name))
    if stored == torch.bfloat16 or (stored == torch.float16 and device.type != "cpu"):
        return Arithmetic(stored)
    return Arithmetic(autocast=device.type == "cuda")
