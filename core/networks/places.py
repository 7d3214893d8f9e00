"""Where the vectors of a state belong in a picture, and how those of one network are brought to the
places of another.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class Places:
    """First `prefix` tokens of the whole picture, as a class token, then a grid, row by row."""

    prefix: int
    height: int
    width: int


def bring(
    state: Float[Tensor, "b n d"], here: Places | None, there: Places | None
) -> Float[Tensor, "b m d"]:
    """Return a state with the places of another network.

    A grid of other sides is resampled: averaged where it shrinks, bilinear where it grows. The mean
    over the grid stands for a class token that the state lacks; tokens of the whole picture that
    the other network does not have are left out. Tokens of a text, None, stay as they are.
    """
    if here == there or here is None or there is None:
        return state
    whole, grid = state[:, : here.prefix], state[:, here.prefix :]
    missing = there.prefix - here.prefix
    if missing > 0:
        mean = grid.mean(1, keepdim=True).expand(-1, missing, -1)
        whole = torch.cat([whole, mean], dim=1)
    return torch.cat([whole[:, : there.prefix], _resample(grid, here, there)], dim=1)


def _resample(grid: Float[Tensor, "b n d"], here: Places, there: Places) -> Float[Tensor, "b m d"]:
    if (here.height, here.width) == (there.height, there.width):
        return grid
    cells = grid.transpose(1, 2).unflatten(2, (here.height, here.width))
    sides = (there.height, there.width)
    resampled = F.interpolate(cells, sides, mode="bilinear", antialias=True, align_corners=False)
    return resampled.flatten(2).transpose(1, 2)
