"""What a model may have been before its weights were rounded to half precision."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn


def unround(model: nn.Module, seed: int) -> None:
    """Move every weight to anywhere from which it would be rounded to where it is."""
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for weight in model.parameters():
            values = weight.numpy()
            step = np.spacing(np.abs(values).astype(np.float16)).astype(np.float32)
            moved = values + step * rng.uniform(-0.5, 0.5, values.shape).astype(np.float32)
            weight.copy_(torch.from_numpy(moved))
