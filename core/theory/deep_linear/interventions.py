"""Six ways to train both networks that break the theorem, each with a strength, and what the theory
predicts.

Source: Ziyin and Chuang 2025, section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import torch

from core.errors import InputError
from core.theory.deep_linear.closed_form import least_entropy, least_entropy_value, least_norm
from core.theory.deep_linear.descent.entropic import descend_entropic, flow
from core.theory.deep_linear.descent.sgd import run_sgd
from core.theory.deep_linear.descent.sharpness import sharpness
from core.theory.deep_linear.nets import Net
from core.theory.deep_linear.network import Weights, conserved, entropy, hidden_maps, loss
from core.theory.deep_linear.world import Matrix, World, draw_positive, make_frame
from core.theory.lbfgs import descend

FLOW_TIME = 200.0

STEP, BATCH, STEPS = 0.02, 16, 30_000  # of descent at the edge of stability
_ETAS = (1e-1, 1e-2, 1e-3)  # of the mixed penalty, whose parts are 1 where each is least


@dataclass(frozen=True)
class Broken:
    """What became of both networks: the maps of their hidden layers, and those that the theory
    predicts, none where it is silent.

    between: second moment of the two networks' inputs. figures: what else was measured, by name.
    """

    trained: tuple[list[Matrix], list[Matrix]]
    predicted: tuple[list[Matrix], list[Matrix]] | None
    moments: tuple[Matrix, Matrix]
    between: Matrix
    figures: Mapping[str, float] = field(default_factory=dict)


def decay_weights(a: Net, b: Net, strength: float) -> Broken:
    """Mix the entropy with the norm of the weights: (1 − s) S / S* + s ‖θ‖² / N*, each in units of
    its least value.

    At s = 1 the least-norm solution is the prediction, which holds the view.
    """
    ends = {0.0: least_entropy, 1.0: least_norm}
    predicted = _both(a, b, ends[strength]) if strength in ends else None
    trained = tuple(hidden_maps(_descend_mixed(net, strength), net.frame) for net in (a, b))
    return Broken((trained[0], trained[1]), predicted, *_same_inputs(a))


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
        (trained[0], trained[1]), None, *_same_inputs(a), {"drift of the conserved": max(drifts)}
    )


def transform_labels(a: Net, b: Net, strength: float) -> Broken:
    """Let each network learn the labels Φ y, with a symmetric positive Φ = exp(s G) of its own;
    predicted for every strength.
    """
    changed = [replace(net, world=_relabeled(net.world, _stretch(net, strength))) for net in (a, b)]
    return _trained(changed[0], changed[1], *_same_inputs(a))


def stop_at_saddle(a: Net, b: Net, strength: float) -> Broken:
    """Let the first network stop at a saddle: a solution that lacks s of the modes of V. The second
    reaches the global minimum.

    A saddle is the minimum of a network whose hidden layers are narrower than the rank of V, with
    units of weight 0 beside it.
    """
    rank = int(torch.linalg.matrix_rank(a.world.target))
    missing = int(strength)
    if missing >= rank or missing != strength:
        raise InputError(
            f"a solution lacks a whole number of the {rank} modes, 0 … {rank - 1}, not {strength:g}"
        )
    narrow = replace(a, widths=tuple(rank - missing for _ in a.widths) if missing else a.widths)
    ends = [_descend(net) for net in (narrow, b)]
    excess = float(loss(ends[0], a.frame, a.world)) - a.world.floor
    trained = hidden_maps(ends[0], a.frame), hidden_maps(ends[1], b.frame)
    return Broken(
        trained,
        _both(a, b, least_entropy) if not missing else None,
        *_same_inputs(a),
        {"loss above the noise": excess},
    )


def add_private_features(a: Net, b: Net, strength: float) -> Broken:
    """Add to each network's inputs normal features of its own, of variance s² each; predicted for
    every strength.

    What a network can know of V x is then V Σx (Σx + s²)⁻¹ of its inputs, and the rest is noise to
    it, independent of them.
    """
    own = strength**2 * torch.eye(len(a.world.inputs), dtype=torch.float64)
    changed = [replace(net, world=_clouded(net.world, own)) for net in (a, b)]
    seen = changed[0].world.inputs, changed[1].world.inputs
    return _trained(changed[0], changed[1], seen, a.world.inputs)


def reach_the_edge(a: Net, b: Net, strength: float) -> Broken:
    """Train by noisy descent at a finite step on views of condition 10^s; figures give the
    sharpness beside 2 / step.

    A run that diverges has no alignment: its layers are NaN.
    """
    changed = [
        replace(net, frame=make_frame(net.world, seed=net.seed, condition=10**strength))
        for net in (a, b)
    ]
    ends = [_descend_noisily(net) for net in changed]
    figures = {"2 / step": 2 / STEP}
    for name, net, end in zip("ab", changed, ends, strict=True):
        finite = all(weight.isfinite().all() for weight in end)
        figures[f"sharpness {name}"] = (
            sharpness(end, net.frame, net.world) if finite else float("nan")
        )
        figures[f"sharpness {name} aligned"] = sharpness(
            least_entropy(net.world, net.frame, net.widths), net.frame, net.world
        )
    trained = hidden_maps(ends[0], changed[0].frame), hidden_maps(ends[1], changed[1].frame)
    return Broken(trained, _both(changed[0], changed[1], least_entropy), *_same_inputs(a), figures)


def _descend(net: Net) -> list[Matrix]:
    *_, end = descend_entropic(net.start, net.frame, net.world)
    return end


def _descend_mixed(net: Net, share: float) -> list[Matrix]:
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


def _descend_noisily(net: Net) -> list[Matrix]:
    (end,) = run_sgd(net, step=STEP, counts=[STEPS], batch=BATCH)
    return end


def _trained(a: Net, b: Net, moments: tuple[Matrix, Matrix], between: Matrix) -> Broken:
    trained = hidden_maps(_descend(a), a.frame), hidden_maps(_descend(b), b.frame)
    return Broken(trained, _both(a, b, least_entropy), moments, between)


def _both(a: Net, b: Net, solve: Callable[..., list[Matrix]]) -> tuple[list[Matrix], list[Matrix]]:
    first, second = (
        hidden_maps(solve(net.world, net.frame, net.widths), net.frame) for net in (a, b)
    )
    return first, second


def _same_inputs(net: Net) -> tuple[tuple[Matrix, Matrix], Matrix]:
    return (net.world.inputs, net.world.inputs), net.world.inputs


def _stretch(net: Net, strength: float) -> Matrix:
    """Return exp(s G), G symmetric and drawn by the network's seed, with eigenvalues spread evenly
    from −1 to 1.
    """
    size = len(net.world.noise)
    spread = draw_positive(
        torch.Generator().manual_seed(net.seed), size, 10.0
    )  # eigenvalues 10^0 … 10^1
    values, vectors = torch.linalg.eigh(spread)
    stretch: Matrix = (vectors * (strength * (2 * values.log10() - 1)).exp()) @ vectors.T
    return stretch


def _relabeled(world: World, labels: Matrix) -> World:
    return World(world.inputs, labels @ world.target, labels @ world.noise @ labels.T)


def _clouded(world: World, own: Matrix) -> World:
    seen = world.inputs + own
    wiener = torch.linalg.solve(seen, world.inputs).T  # Σx (Σx + Σz)⁻¹
    rest = world.inputs - wiener @ world.inputs
    return World(seen, world.target @ wiener, world.noise + world.target @ rest @ world.target.T)
