"""Stochastic gradient descent at a finite step, on fresh samples: the noise that the theorem is
about.

Beyond the theorem, hidden layers may have an activation; its output is then the representation. The
networks are padded with zeros to one width. A unit whose weights on both sides are 0 has no
gradient, so padding stays 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float64

from core.errors import InputError, UnknownNameError
from core.theory.deep_linear.descent.steps import take_steps
from core.theory.deep_linear.nets import Net
from core.theory.deep_linear.network import Weights
from core.theory.deep_linear.world import Matrix, World, root

ACTIVATIONS = ("linear", "tanh", "relu")
_DRAWN = 4096  # samples at once
Stack = Float64[np.ndarray, "D m m"]
Batches = Float64[np.ndarray, "steps batch size"]


@dataclass(frozen=True)
class Descent:
    """How SGD goes: the size of its steps, and how many samples' gradients each averages."""

    step: float
    batch: int = 1


def run_sgd(
    net: Net,
    descent: Descent,
    *,
    counts: Sequence[int],
    activation: str = "linear",
    stream: int | Sequence[int] | None = None,
) -> Iterator[list[Matrix]]:
    """Train by W ← W − step · ∇ of the loss of fresh samples, and yield the weights after each of
    these numbers of steps, rising.

    activation: of the hidden layers, one of ACTIVATIONS. stream: seed of the samples, the net's
    where there is none. A run that diverges yields weights that are not finite, and the caller has
    to say so. Raises UnknownNameError for the activation.
    """
    if activation not in ACTIVATIONS:
        raise UnknownNameError("activation", activation, ACTIVATIONS)
    frame, world, weights = net.frame, net.world, net.start
    stack = _pad(weights)
    before, after = (np.ascontiguousarray(each.numpy()) for each in (frame.before, frame.after))
    samples, done = _Samples(world, net.seed if stream is None else stream), 0
    for count in counts:
        while done < count:
            steps = min(count - done, max(1, _DRAWN // descent.batch))
            x, y = samples.draw(steps, descent.batch)
            take_steps(stack, before, after, x, y, descent.step, ACTIVATIONS.index(activation))
            done += steps
        yield _cut(stack, weights)


def check_finite(weights: Weights, descent: Descent, *, count: int) -> None:
    """Raise InputError where a run has diverged before a number of steps."""
    if not all(weight.isfinite().all() for weight in weights):
        raise InputError(
            f"descent diverged before {count:,} steps of size {descent.step:g}; take a smaller step"
        )


class _Samples:
    """Inputs and noisy labels of a world, each drawn from a generator of its own, so that the
    number drawn at once changes neither.
    """

    def __init__(self, world: World, seed: int | Sequence[int]) -> None:
        self._inputs, self._noise = root(world.inputs).numpy(), root(world.noise).numpy()
        self._target = world.target.numpy()
        self._curve = np.zeros_like(self._target) if world.curve is None else world.curve.numpy()
        self._of_inputs, self._of_noise = np.random.default_rng(seed).spawn(2)

    def draw(self, steps: int, batch: int) -> tuple[Batches, Batches]:
        """Return inputs (steps, batch, d) and labels (steps, batch, c)."""
        white = self._of_inputs.standard_normal((steps, batch, len(self._inputs)))
        missed = self._of_noise.standard_normal((steps, batch, len(self._noise))) @ self._noise
        x = white @ self._inputs
        return x, x @ self._target.T + missed + (white**2 - 1) / math.sqrt(2) @ self._curve.T


def activate(values: Float64[np.ndarray, "..."], activation: str) -> Float64[np.ndarray, "..."]:
    """Return the output of an activation, one of ACTIVATIONS."""
    output: np.ndarray = {
        "linear": values,
        "tanh": np.tanh(values),
        "relu": np.maximum(values, 0.0),
    }[activation]
    return output


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
