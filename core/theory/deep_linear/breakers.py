"""Six ways to break the theorem, each with a strength: at 0 every layer of both networks is
aligned, above 0 it is not.

A breaker trains two networks and tells what the theory says they should have become, where it says
it. Source of all six: Ziyin and Chuang 2025, section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch

from core.errors import InputError, UnknownNameError
from core.theory.deep_linear.alignment import linear_cka
from core.theory.deep_linear.closed_form import least_entropy, least_entropy_value, least_norm
from core.theory.deep_linear.descent import descend_entropic, flow
from core.theory.deep_linear.nets import Net
from core.theory.deep_linear.network import Weights, conserved, entropy, hidden_maps, loss
from core.theory.deep_linear.sgd import run_sgd
from core.theory.deep_linear.sharpness import sharpness
from core.theory.deep_linear.world import Matrix, World, draw_positive, make_frame
from core.theory.descent import descend

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


@dataclass(frozen=True)
class Breaker:
    """A way to break the theorem, and what the note claims of it; `run` takes both networks and a
    strength of 0 up to the last.
    """

    title: str
    unit: str
    strengths: tuple[float, ...]
    claim: str
    run: Callable[[Net, Net, float], Broken]


def usual_strengths(name: str, rank: int) -> tuple[float, ...]:
    """Return the strengths that a breaker is tried at in a world whose map has a rank: no solution
    lacks all of its modes.

    Raises UnknownNameError for the breaker.
    """
    if name not in BREAKERS:
        raise UnknownNameError("breaker", name, BREAKERS)
    return tuple(each for each in BREAKERS[name].strengths if name != "saddle" or each < rank)


def break_alignment(name: str, nets: tuple[Net, Net], strength: float) -> Broken:
    """Train two networks under a breaker; raises UnknownNameError for its name, InputError for a
    strength that it cannot have.
    """
    if name not in BREAKERS:
        raise UnknownNameError("breaker", name, BREAKERS)
    breaker = BREAKERS[name]
    most = breaker.strengths[-1]
    if not 0 <= strength <= most:
        raise InputError(
            f"the strength of {name} lies in 0 … {most:g} ({breaker.unit}), not {strength:g}"
        )
    return breaker.run(*nets, strength)


def alignments(layers: tuple[Sequence[Matrix], Sequence[Matrix]], broken: Broken) -> torch.Tensor:
    """Return linear CKA without centering of every layer of the first network (rows) with every
    layer of the second, in [0, 1].
    """
    first, second = broken.moments
    rows = [
        [linear_cka(x, y, of_x=first, of_y=second, between=broken.between) for y in layers[1]]
        for x in layers[0]
    ]
    return torch.tensor(rows, dtype=torch.float64)


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
            (1 - strength) * known + strength * drawn
            for known, drawn in zip(aligned, net.start, strict=True)
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
    """Train by noisy descent at a finite step on views of condition 10^s; figures tell the
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


BREAKERS: Mapping[str, Breaker] = {
    "weight-decay": Breaker(
        "Weight decay",
        "share of the decay in the penalty",
        (0.0, 0.25, 0.5, 0.75, 1.0),
        "Balanced norms keep the view Z in every hidden layer but the last.",
        decay_weights,
    ),
    "gradient-flow": Breaker(
        "Gradient flow",
        "random share of the first weights",
        (0.0, 0.1, 0.25, 0.5, 1.0),
        "Without noise the differences of neighboring layers at the start are kept for ever.",
        flow_without_noise,
    ),
    "labels": Breaker(
        "Transformed labels",
        "spread of log Φ",
        (0.0, 0.25, 0.5, 1.0),
        "Views of the inputs do not matter; views of the labels do.",
        transform_labels,
    ),
    "saddle": Breaker(
        "Saddles",
        "modes that one network lacks",
        (0.0, 1.0, 2.0),
        "A solution of low rank cannot be aligned with one of full rank.",
        stop_at_saddle,
    ),
    "private-data": Breaker(
        "Private features",
        "standard deviation of each network's own features",
        (0.0, 0.25, 0.5, 1.0),
        "What only one of the networks sees moves its representation away.",
        add_private_features,
    ),
    "edge-of-stability": Breaker(
        "Edge of stability",
        "log10 of the condition of M^I Z",
        (0.0, 0.5, 1.0, 1.5, 2.0),
        "A finite step cannot reach a solution that is too sharp.",
        reach_the_edge,
    ),
}


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
    (end,) = run_sgd(
        net.start, net.frame, net.world, step=STEP, counts=[STEPS], seed=net.seed, batch=BATCH
    )
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
    return (vectors * (strength * (2 * values.log10() - 1)).exp()) @ vectors.T


def _relabeled(world: World, labels: Matrix) -> World:
    return World(world.inputs, labels @ world.target, labels @ world.noise @ labels.T)


def _clouded(world: World, own: Matrix) -> World:
    seen = world.inputs + own
    known = torch.linalg.solve(seen, world.inputs).T  # Σx (Σx + Σz)⁻¹
    unknown = world.inputs - known @ world.inputs
    return World(seen, world.target @ known, world.noise + world.target @ unknown @ world.target.T)
