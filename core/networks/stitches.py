"""Stitches: F = g_{>k'} ∘ h ∘ f_{≤k}, both networks frozen, h affine at every place.

h is fitted on g's task loss by gradient, from the least-squares map between activations or from a
random one. Sources: Lenc, Vedaldi 2015; Bansal, Nakkiran, Barak 2021.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from core.networks.heads import Labels
from core.networks.vision import (
    TOGETHER,
    Batch,
    State,
    VisionNetwork,
    rows_of,
    size_of,
    states_at,
)


@dataclass(frozen=True)
class Affine:
    """h(s) = s W + b, with W (d, e) and b (e)."""

    weight: Float[Tensor, "d e"]
    bias: Float[Tensor, " e"]

    def __call__(self, state: Float[Tensor, "b n d"]) -> Float[Tensor, "b n e"]:
        return state @ self.weight + self.bias

    def like(self, state: Tensor) -> Affine:
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
    return Affine(torch.eye(width), torch.zeros(width))


def least_squares(moments: Moments) -> Affine:
    """Return the map of the least mean squared distance to the other side's vectors, the shortest
    such W of several.
    """
    weight = torch.linalg.pinv(moments.within, hermitian=True) @ moments.between
    bias = moments.mean_y - moments.mean_x @ weight
    return Affine(weight.float(), bias.float())


def random_map(moments: Moments, *, seed: int) -> Affine:
    """Return a map of random normal weights; its outputs have the other side's means and, on
    average, its deviations.
    """
    dice = torch.Generator().manual_seed(seed)
    width, height = moments.between.shape
    drawn = torch.randn(width, height, dtype=torch.float64, generator=dice)
    spread = torch.einsum("de,df,fe->e", drawn, moments.within, drawn).clamp(min=0).sqrt()
    weight = drawn * torch.where(spread > 0, moments.scale_y / spread, 0.0)
    bias = moments.mean_y - moments.mean_x @ weight
    return Affine(weight.float(), bias.float())


RATE = 3e-3  # of Adam, in units of the standardized states on both sides; down a cosine to 0
BATCH = 64  # events of a step


@dataclass(frozen=True, eq=False)
class Side:
    """A network with what it reads of the events that h is fitted to, and of those it is scored
    on.
    """

    network: VisionNetwork
    fitted: Batch
    scored: Batch


@dataclass(frozen=True, eq=False)
class Seam:
    """Two networks, a layer of each, and the states of f there, brought to the places of g.

    fitted, scored: states of f over the events of either kind.
    """

    g: Side
    task: Labels
    layer: int
    fitted: State
    scored: State

    @cached_property
    def moments(self) -> Moments:
        """The moments of the states on both sides, over all places of the events that h is fitted
        to.
        """
        there = states_at(self.g.network, self.g.fitted, self.layer)
        return Moments.of(self.fitted.flatten(0, 1), there.flatten(0, 1))

    def starts(self, *, seed: int) -> Mapping[str, Affine]:
        """Return the maps that need no gradient: least squares, random, and identity if both sides
        are equally wide.
        """
        ways = {
            "least squares": least_squares(self.moments),
            "random": random_map(self.moments, seed=seed),
        }
        x, y = self.moments.between.shape
        if x == y:
            ways["identity"] = identity(x)
        return {name: h.like(self.fitted) for name, h in ways.items()}

    @torch.no_grad()
    def score(self, h: Affine) -> Tensor:
        parts = self.scored.split(TOGETHER)
        starts = range(0, len(self.scored), TOGETHER)
        scores = [
            self.task.score(
                self.g.network.upper(h(part), self.layer),
                rows_of(self.g.scored, slice(start, start + TOGETHER)),
            )
            for start, part in zip(starts, parts, strict=True)
        ]
        return torch.cat(scores)

    def loss(self, h: Affine, rows: Tensor) -> Tensor:
        batch = rows_of(self.g.fitted, rows)
        features = self.g.network.upper(h(self.fitted[rows]), self.layer)
        return self.task.loss(features, batch)


def fit_map(seam: Seam, start: Affine, *, steps: int, seed: int, rate: float = RATE) -> Affine:
    """Return h after so many steps of Adam on g's loss, from a start; 0 for the start itself. It is
    learned in standardized coordinates of both sides, so that one rate suits all models.
    """
    if not steps:
        return start
    inner, outer, center = (part.to(start.weight) for part in _scales(seam.moments))
    weight = (start.weight * inner[:, None] / outer).requires_grad_(True)
    bias = ((start.bias + center @ start.weight) / outer).requires_grad_(True)

    def map_now() -> Affine:
        outward = weight / inner[:, None] * outer
        return Affine(outward, bias * outer - center @ outward)

    solver = torch.optim.Adam([weight, bias], lr=rate)
    dice, count = torch.Generator().manual_seed(seed), size_of(seam.g.fitted)
    for step in range(steps):
        solver.param_groups[0]["lr"] = rate * (1 + math.cos(math.pi * step / steps)) / 2
        rows = torch.randint(count, (min(BATCH, count),), generator=dice).to(weight.device)
        solver.zero_grad()
        seam.loss(map_now(), rows).backward()
        solver.step()
    done = map_now()
    return Affine(done.weight.detach(), done.bias.detach())


def _scales(moments: Moments) -> tuple[Tensor, Tensor, Tensor]:
    inner, outer = (
        torch.where(scale > 0, scale, 1.0) for scale in (moments.scale_x, moments.scale_y)
    )
    return inner, outer, moments.mean_x
