"""How deep linear networks are trained: by SGD, on penalized losses, by gradient flow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np
import torch
from jaxtyping import Float64

from core.errors import InputError, TrainingError
from core.theory.deep_linear.minima import least_entropy_value, least_norm
from core.theory.deep_linear.network import Matrix, Net, Scalar, Weights, entropy, loss, root
from core.theory.deep_linear.setup import Descent
from core.theory.simulation import Objective, descend

ETAS = (1e-2, 1e-3, 1e-4)  # of the entropic loss, towards the limit η → 0
_MIXED_ETAS = (1e-1, 1e-2, 1e-3)  # of the mixed penalty, whose parts are 1 at their least
_TOLERANCES = {"rtol": 1e-7, "atol": 1e-9}  # of the flow's integration
_DRAWN = 8192  # steps at once
Stack = Float64[np.ndarray, "D m m"]


def check(descent: Descent, held: Sequence[Weights], count: int) -> None:
    """Raise InputError if any weights have diverged before this number of steps."""
    if not all(map(is_finite, held)):
        raise InputError(
            f"descent diverged before {count:,} steps of size {descent.step:g}; take a smaller step"
        )


def run_sgd(
    net: Net,
    descent: Descent,
    *,
    counts: Sequence[int],
    stream: int | Sequence[int] | None = None,
) -> Iterator[list[Matrix]]:
    """Train by W ← W − step · ∇ of the loss of fresh samples, and yield the weights after each of
    these rising numbers of steps; not finite if the run diverges.

    stream: seed of the samples, the net's if None.
    """
    from core.theory.deep_linear.steps import take_steps  # numba takes half a second

    weights = net.start
    width = max(max(weight.shape) for weight in weights)
    stack = np.zeros((len(weights), width, width))  # padding has no gradient, so it stays 0
    for place, weight in zip(stack, weights, strict=True):
        place[: weight.shape[0], : weight.shape[1]] = weight.numpy()
    before, after = (np.ascontiguousarray(each.numpy()) for each in (net.before, net.after))
    of_inputs, of_noise = root(net.world.inputs).numpy(), root(net.world.noise).numpy()
    target = net.world.target.numpy()
    draws, done = np.random.default_rng(net.seed if stream is None else stream).spawn(3), 0
    for count in counts:
        while done < count:
            steps = min(count - done, _DRAWN)
            x, noise = draw_samples(draws, steps, descent.batch, target.shape)
            inputs = x @ of_inputs
            labels = inputs @ target.T + noise @ of_noise
            take_steps(stack, before, after, inputs, labels, descent.step)
            done += steps
        yield [
            torch.from_numpy(place[: each.shape[0], : each.shape[1]].copy())
            for place, each in zip(stack, weights, strict=True)
        ]


def draw_samples(
    draws: Sequence[np.random.Generator], steps: int, batch: int, shape: tuple[int, int]
) -> tuple[Float64[np.ndarray, "steps k d"], Float64[np.ndarray, "steps k c"]]:
    """Draw white inputs and noise for each step.

    draws: three, so that the number of steps drawn at once changes nothing. shape: (c, d). Since a
    gradient depends on E[x xᵀ] and E[ε xᵀ] alone, batches of more than d samples come as d samples
    with the same moments (Bartlett 1933, of the Wishart distribution).
    """
    (c, d), (of_inputs, of_noise, of_sizes) = shape, draws
    count = batch if 0 < batch <= d else d
    x = of_inputs.standard_normal((steps, count, d))
    noise = of_noise.standard_normal((steps, count, c))
    if batch > d:
        x = np.triu(x, 1)
        x[:, range(d), range(d)] = np.sqrt(of_sizes.chisquare(batch - np.arange(d), (steps, d)))
        return x * np.sqrt(d / batch), noise * np.sqrt(d / batch)
    if not batch:
        x[:], noise[:] = np.eye(d) * np.sqrt(d), 0.0
    return x, noise


def end_noisily(
    net: Net, descent: Descent, steps: int, stream: int | Sequence[int] | None = None
) -> Weights:
    """Return the weights after so many steps of SGD; raises InputError if it diverges."""
    (end,) = run_sgd(net, descent, counts=[steps], stream=stream)
    check(descent, [end], steps)
    return end


def is_finite(weights: Weights) -> bool:
    return all(bool(weight.isfinite().all()) for weight in weights)


def entropic_loss(net: Net, *, step: float) -> Objective:
    """Return L(θ) + step · S(θ). Source: Ziyin and Chuang 2025, equation 12."""
    return lambda weights: loss(weights, net) + step * entropy(weights, net)


def descend_entropic(net: Net, *, every: int = 25) -> Iterator[list[Matrix]]:
    """Descend on the entropic loss at ever smaller steps η; yield as `descend`."""
    reached: Weights = net.start
    for step in ETAS:
        for reached in descend(reached, entropic_loss(net, step=step), every=every):  # noqa: B020 - each begins where the last ended
            yield list(reached)


def end_entropic(net: Net) -> list[Matrix]:
    """Return the weights in which descent on the entropic loss ends."""
    *_, end = descend_entropic(net)
    return end


def end_mixed(net: Net, share: float) -> list[Matrix]:
    """Return the weights of least loss with the least (1 − share) S / S* + share ‖θ‖² / N*, each
    over its least value.
    """
    least_s = least_entropy_value(net)
    least_n = float(_norm(least_norm(net)))

    def penalized(eta: float) -> Objective:
        return lambda weights: (
            loss(weights, net)
            + eta * (1 - share) / least_s * entropy(weights, net)
            + eta * share / least_n * _norm(weights)
        )

    weights: Weights = net.start
    for eta in _MIXED_ETAS:
        *_, weights = descend(weights, penalized(eta))
    return list(weights)


def _norm(weights: Weights) -> Scalar:
    return torch.stack([weight.square().sum() for weight in weights]).sum()


def flow(
    net: Net, *, until: float, looks: int = 24, start: Weights | None = None
) -> Iterator[list[Matrix]]:
    """Follow dθ/dt = −∇L(θ) by Runge-Kutta of order 8, and yield the weights at times spread evenly
    in the logarithm; raise TrainingError if that fails.
    """
    from scipy.integrate import solve_ivp

    weights = net.start if start is None else start
    ends = np.cumsum([weight.numel() for weight in weights])[:-1]
    shapes = [weight.shape for weight in weights]
    before, after = net.before.numpy(), net.after.numpy()
    target, inputs = net.world.target.numpy(), net.world.inputs.numpy()

    def unpack(flat: np.ndarray) -> list[np.ndarray]:
        parts = np.split(flat, ends)
        return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]

    def fall(_: float, flat: np.ndarray) -> np.ndarray:
        here = unpack(flat)
        forward = list(accumulate(here, lambda seen, weight: weight @ seen, initial=before))
        missed = 2 * (after @ forward[-1] - target) @ inputs
        back, slopes = after.T, []
        for weight, seen in zip(reversed(here), reversed(forward[:-1]), strict=True):
            slopes.append((back @ missed @ seen.T).ravel())
            back = weight.T @ back
        return -np.concatenate(slopes[::-1])

    solution = solve_ivp(
        fall,
        (0.0, until),
        np.concatenate([weight.numpy().ravel() for weight in weights]),
        method="DOP853",
        t_eval=np.geomspace(until / 1e4, until, looks),
        **_TOLERANCES,
    )
    if not solution.success:
        raise TrainingError(
            f"gradient flow could not be followed to time {until:g}: {solution.message}"
        )
    for flat in solution.y.T:
        yield [torch.from_numpy(part.copy()) for part in unpack(flat)]
