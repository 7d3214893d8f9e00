"""How fast a device multiplies matrices, measured in less than a second."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

SECONDS = 0.3
WIDTH = 1_024  # as the layers of common models; a GPU's are wider, to keep it busy
WIDE = 4_096


def product_rate(device: torch.device) -> float:
    """Return the floating-point operations a second of products of float32 matrices, 2 · width³
    each: the fastest of as many as fit in SECONDS.
    """
    import torch  # two seconds that readers of plans need not pay

    width = WIDTH if device.type == "cpu" else WIDE
    matrix, fastest = torch.ones(width, width, device=device), float("inf")
    (matrix @ matrix).sum().item()  # the first one loads libraries
    end = perf_counter() + SECONDS
    while (begin := perf_counter()) < end:
        (matrix @ matrix)[0, 0].item()  # waits for the device
        fastest = min(fastest, perf_counter() - begin)
    return 2 * width**3 / fastest
