"""Training without sampling: descent on the entropic loss, and gradient flow on the bare one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from core.errors import TrainingError
from core.theory.deep_linear.network import Weights, entropy, loss
from core.theory.deep_linear.world import Frame, Matrix, World
from core.theory.lbfgs import Objective, descend

_LOOSE, _TIGHT = 1e-7, 1e-9  # tolerances of the flow's integration, relative and absolute


def entropic_loss(frame: Frame, world: World, *, step: float) -> Objective:
    """Return L(θ) + step · S(θ), which noisy descent at a small step follows. Source: Ziyin and
    Chuang 2025, equation 12.
    """
    return lambda weights: loss(weights, frame, world) + step * entropy(weights, frame, world)


def descend_entropic(
    weights: Weights,
    frame: Frame,
    world: World,
    *,
    steps: tuple[float, ...] = (1e-2, 1e-3, 1e-4),
    every: int = 25,
) -> Iterator[list[Matrix]]:
    """Descend on the entropic loss at ever smaller steps η, since the theorem speaks of the limit;
    yield as `descend`.
    """
    reached = weights
    for step in steps:
        for reached in descend(reached, entropic_loss(frame, world, step=step), every=every):  # noqa: B020 - each begins where the last ended
            yield reached


def flow(
    weights: Weights, frame: Frame, world: World, *, until: float, looks: int = 24
) -> Iterator[list[Matrix]]:
    """Follow dθ/dt = −∇L(θ) up to a time and yield the weights at times spread evenly in the
    logarithm.

    Integrated by Runge-Kutta of order 8 with step control (Dormand and Prince). Raises
    TrainingError where that fails.
    """
    from scipy.integrate import solve_ivp

    shapes = [weight.shape for weight in weights]
    times = np.geomspace(until / 1e4, until, looks)

    def unpack(flat: np.ndarray) -> list[Matrix]:
        parts = np.split(flat, np.cumsum([a * b for a, b in shapes])[:-1])
        return [
            torch.from_numpy(part.reshape(shape).copy())
            for part, shape in zip(parts, shapes, strict=True)
        ]

    def move(_: float, flat: np.ndarray) -> np.ndarray:
        moving = [weight.requires_grad_() for weight in unpack(flat)]
        gradients = torch.autograd.grad(loss(moving, frame, world), moving)
        return -np.concatenate([gradient.numpy().ravel() for gradient in gradients])

    start = np.concatenate([weight.numpy().ravel() for weight in weights])
    solution = solve_ivp(
        move, (0.0, until), start, method="DOP853", t_eval=times, rtol=_LOOSE, atol=_TIGHT
    )
    if not solution.success:
        raise TrainingError(
            f"gradient flow could not be followed to time {until:g}: {solution.message}"
        )
    for flat in solution.y.T:
        yield unpack(flat)
