"""Break the theorem by how both networks are trained: with weight decay, without noise, at a finite
step.

Source: Ziyin and Chuang 2025, section 5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from core.theory.deep_linear.breaking.broken import Broken, predict, same_inputs
from core.theory.deep_linear.closed_form import least_entropy, least_entropy_value, least_norm
from core.theory.deep_linear.descent.entropic import flow
from core.theory.deep_linear.descent.sgd import Descent, run_sgd
from core.theory.deep_linear.descent.sharpness import sharpness
from core.theory.deep_linear.nets import Net
from core.theory.deep_linear.network import Weights, conserved, entropy, hidden_maps, loss
from core.theory.deep_linear.world import Matrix, make_frame
from core.theory.lbfgs import descend

FLOW_TIME = 200.0
STEPS = 30_000  # of descent at the edge of stability
_ETAS = (1e-1, 1e-2, 1e-3)  # of the mixed penalty, whose parts are 1 where each is least


def decay_weights(a: Net, b: Net, strength: float) -> Broken:
    """Mix the entropy with the norm of the weights: (1 − s) S / S* + s ‖θ‖² / N*, each in units of
    its least value.

    At s = 1 the least-norm solution is the prediction, which holds the view.
    """
    ends = {0.0: least_entropy, 1.0: least_norm}
    predicted = predict(a, b, ends[strength]) if strength in ends else None
    first, second = (hidden_maps(descend_mixed(net, strength), net.frame) for net in (a, b))
    return Broken((first, second), predicted, *same_inputs(a))


def flow_without_noise(a: Net, b: Net, strength: float) -> Broken:
    """Follow gradient flow from weights of which a share s is random and the rest is the aligned
    solution.

    Nothing but the loss moves them, so that W_{i+1}ᵀ W_{i+1} − W_i W_iᵀ stays what it was: its
    largest drift is a figure.
    """
    trained, drifts = [], []
    for net in (a, b):
        aligned = least_entropy(net.world, net.frame, net.widths, seed=net.seed)
        start = [
            (1 - strength) * solved + strength * drawn
            for solved, drawn in zip(aligned, net.start, strict=True)
        ]
        *_, end = flow(start, net.frame, net.world, until=FLOW_TIME)
        trained.append(hidden_maps(end, net.frame))
        drifts += [
            float((now - then).abs().max())
            for now, then in zip(conserved(end), conserved(start), strict=True)
        ]
    return Broken(
        (trained[0], trained[1]), None, *same_inputs(a), {"drift of the conserved": max(drifts)}
    )


def reach_the_edge(a: Net, b: Net, strength: float, descent: Descent) -> Broken:
    """Train by noisy descent at a finite step on views of condition 10^s; figures give the
    sharpness beside 2 / step.

    A run that diverges has no alignment: its layers are NaN.
    """
    changed = [
        replace(net, frame=make_frame(net.world, seed=net.seed, condition=10**strength))
        for net in (a, b)
    ]
    ends = [_descend_noisily(net, descent) for net in changed]
    figures = {"2 / step": 2 / descent.step}
    for name, net, end in zip("ab", changed, ends, strict=True):
        finite = all(weight.isfinite().all() for weight in end)
        figures[f"sharpness {name}"] = (
            sharpness(end, net.frame, net.world) if finite else float("nan")
        )
        figures[f"sharpness {name} aligned"] = sharpness(
            least_entropy(net.world, net.frame, net.widths), net.frame, net.world
        )
    trained = hidden_maps(ends[0], changed[0].frame), hidden_maps(ends[1], changed[1].frame)
    return Broken(trained, predict(changed[0], changed[1]), *same_inputs(a), figures)


def descend_mixed(net: Net, share: float) -> list[Matrix]:
    """Return the weights of least loss for which the mixed penalty is least; share: of the norm in
    it.
    """
    least_s = least_entropy_value(net.world, net.frame, len(net.widths) + 1)
    least_n = _norm(least_norm(net.world, net.frame, net.widths))

    def penalized(eta: float) -> Callable[[Weights], torch.Tensor]:
        def objective(weights: Weights) -> torch.Tensor:
            penalty = (1 - share) * entropy(
                weights, net.frame, net.world
            ) / least_s + share * _norm(weights) / least_n
            return loss(weights, net.frame, net.world) + eta * penalty

        return objective

    weights = net.start
    for eta in _ETAS:
        *_, weights = descend(weights, penalized(eta))
    return weights


def _norm(weights: Weights) -> torch.Tensor:
    return torch.stack([weight.square().sum() for weight in weights]).sum()


def _descend_noisily(net: Net, descent: Descent) -> list[Matrix]:
    (end,) = run_sgd(net, descent, counts=[STEPS])
    return end
