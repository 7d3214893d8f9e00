"""Stochastic gradient descent at a finite step, on fresh samples: the noise that the theorem is
about.

Beyond the theorem, hidden layers may have an activation; its output is then the representation. The
networks are padded with zeros to one width. A unit whose weights on both sides are 0 has no
gradient, so padding stays 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from jaxtyping import Float64

from core.errors import UnknownNameError
from core.theory.deep_linear.network import Weights
from core.theory.deep_linear.steps import take_steps
from core.theory.deep_linear.world import Frame, Matrix, World, root

ACTIVATIONS = ("linear", "tanh", "relu")
Stack = Float64[np.ndarray, "D m m"]


def run_sgd(
    weights: Weights,
    frame: Frame,
    world: World,
    *,
    step: float,
    counts: Sequence[int],
    seed: int,
    batch: int = 1,
    activation: str = "linear",
) -> Iterator[list[Matrix]]:
    """Train by W ← W − step · ∇ of the loss of fresh samples, and yield the weights after each of
    these numbers of steps, rising.

    batch: samples per step, whose gradients are averaged. activation: of the hidden layers, one of
    ACTIVATIONS. A run that diverges yields weights that are not finite, and the caller has to say
    so. Deterministic by the seed. Raises UnknownNameError for the activation.
    """
    if activation not in ACTIVATIONS:
        raise UnknownNameError("activation", activation, ACTIVATIONS)
    stack = _pad(weights)
    before, after, target = (each.numpy() for each in (frame.before, frame.after, world.target))
    inputs, noise = root(world.inputs).numpy(), root(world.noise).numpy()
    (drawn, missed), done = (
        np.random.default_rng(seed).spawn(2),
        0,
    )  # apart, so that looking does not change them
    for count in counts:
        while done < count:
            steps = min(count - done, 4096)
            x = drawn.standard_normal((steps, batch, len(inputs))) @ inputs
            y = x @ target.T + missed.standard_normal((steps, batch, len(noise))) @ noise
            take_steps(
                stack,
                np.ascontiguousarray(before),
                np.ascontiguousarray(after),
                x,
                y,
                step,
                ACTIVATIONS.index(activation),
            )
            done += steps
        yield _cut(stack, weights)


def activate(values: Float64[np.ndarray, "..."], activation: str) -> Float64[np.ndarray, "..."]:
    """Return the output of an activation, one of ACTIVATIONS."""
    return {"linear": values, "tanh": np.tanh(values), "relu": np.maximum(values, 0.0)}[activation]


def _pad(weights: Weights) -> Stack:
    width = max(max(weight.shape) for weight in weights)
    stack = np.zeros((len(weights), width, width))
    for place, weight in zip(stack, weights, strict=True):
        place[: weight.shape[0], : weight.shape[1]] = weight.numpy()
    return stack


def _cut(stack: Stack, weights: Weights) -> list[Matrix]:
    return [
        torch.from_numpy(place[: each.shape[0], : each.shape[1]].copy())
        for place, each in zip(stack, weights, strict=True)
    ]
