"""Affine maps from the states of one network to those of another, applied to each place alone: a
linear map per token, a 1 × 1 convolution of a feature map.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class Affine:
    """h(s) = s W + b, with W (d, e) and b (e)."""

    weight: Float[Tensor, "d e"]
    bias: Float[Tensor, " e"]

    def __call__(self, state: Float[Tensor, "b n d"]) -> Float[Tensor, "b n e"]:
        return state @ self.weight + self.bias

    def like(self, state: Tensor) -> Affine:
        """Return the map in the type and on the device of states."""
        return Affine(self.weight.to(state), self.bias.to(state))


@dataclass(frozen=True)
class Moments:
    """What is known of the states on both sides: means, deviations and the covariance of centered
    vectors, over all places of all events.
    """

    mean_x: Float[Tensor, " d"]
    mean_y: Float[Tensor, " e"]
    scale_x: Float[Tensor, " d"]
    scale_y: Float[Tensor, " e"]
    within: Float[Tensor, "d d"]
    between: Float[Tensor, "d e"]

    @classmethod
    def of(cls, x: Float[Tensor, "n d"], y: Float[Tensor, "n e"]) -> Moments:
        """Return the moments of paired vectors, summed in double precision on the CPU, since not
        every device has it.
        """
        sides = [side.cpu().double() for side in (x, y)]
        means = [side.mean(0) for side in sides]
        left, right = (side - mean for side, mean in zip(sides, means, strict=True))
        scales = [side.square().mean(0).sqrt() for side in (left, right)]
        within, between = left.T @ left / len(x), left.T @ right / len(x)
        return cls(means[0], means[1], scales[0], scales[1], within, between)


def identity(width: int) -> Affine:
    """Return the map that changes nothing."""
    return Affine(torch.eye(width), torch.zeros(width))


def least_squares(moments: Moments) -> Affine:
    """Return the map of the least mean squared distance to the other side's vectors, the shortest
    such W where several do.
    """
    weight = torch.linalg.pinv(moments.within, hermitian=True) @ moments.between
    bias = moments.mean_y - moments.mean_x @ weight
    return Affine(weight.float(), bias.float())


def random_map(moments: Moments, *, seed: int) -> Affine:
    """Return a map of random normal weights whose outputs have the other side's means and, on
    average, its deviations.
    """
    dice = torch.Generator().manual_seed(seed)
    width, height = moments.between.shape
    drawn = torch.randn(width, height, dtype=torch.float64, generator=dice)
    spread = torch.einsum("de,df,fe->e", drawn, moments.within, drawn).clamp(min=0).sqrt()
    weight = drawn * torch.where(spread > 0, moments.scale_y / spread, 0.0)
    bias = moments.mean_y - moments.mean_x @ weight
    return Affine(weight.float(), bias.float())
