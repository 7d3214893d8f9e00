"""In which precision a device runs a model."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch


def precision(device: str | torch.device) -> str:
    """Name the precision of the forward pass; weights, pooling and output are float32
    everywhere.
    """
    return "bfloat16 autocast" if torch.device(device).type == "cuda" else "float32"


def forward_on(device: str | torch.device) -> AbstractContextManager[object]:
    """Return the context that runs a forward pass in the device's precision."""
    return (
        torch.autocast("cuda", dtype=torch.bfloat16)
        if torch.device(device).type == "cuda"
        else nullcontext()
    )
