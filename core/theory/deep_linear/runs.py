"""What the page and the command show of deep linear networks, look by look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

import numpy as np
import torch

from core.theory.deep_linear.breaking.breakers import alignments, break_alignment
from core.theory.deep_linear.closed_form import least_entropy, least_entropy_value, transform
from core.theory.deep_linear.descent.entropic import descend_entropic
from core.theory.deep_linear.descent.sgd import Descent, activate, check_finite, run_sgd
from core.theory.deep_linear.descent.sharpness import sharpness
from core.theory.deep_linear.layer_cka import align_layers, disproportion
from core.theory.deep_linear.nets import Net
from core.theory.deep_linear.network import Weights, entropy, hidden_maps, loss
from core.theory.deep_linear.weights import Row, weigh
from core.theory.looks import Look

SGD_COUNTS = (
    *(0, 30, 100, 200, 400, 800, 1_500, 3_000, 6_000, 12_000, 25_000, 50_000, 75_000, 100_000),
)
EVERY = 10  # steps of descent on the entropic loss between two looks
SEEN = 1_000  # inputs on which layers with an activation are compared


def train_entropic(nets: tuple[Net, Net]) -> Iterator[Look]:
    """Descend on the entropic loss with both networks and look at them every EVERY steps; see
    `look`.
    """
    runs = [descend_entropic(net.start, net.frame, net.world, every=EVERY) for net in nets]
    held = [net.start for net in nets]
    yield look(nets, held, at=0)
    for number, latest in enumerate(zip_longest(*runs), start=1):
        held = [
            now if now is not None else before for now, before in zip(latest, held, strict=True)
        ]
        yield look(nets, held, at=EVERY * number)


def train_noisily(
    nets: tuple[Net, Net],
    descent: Descent,
    *,
    counts: Sequence[int] = SGD_COUNTS,
    activation: str = "linear",
) -> Iterator[Look]:
    """Train both networks by SGD and look after each number of steps; see `look`.

    Raises InputError where a run diverges.
    """
    runs = [run_sgd(net, descent, counts=counts, activation=activation) for net in nets]
    for count, *held in zip(counts, *runs, strict=True):
        for weights in held:
            check_finite(weights, descent, count=count)
        yield (
            look(nets, held, at=count)
            if activation == "linear"
            else look_at_samples(nets, held, activation, at=count)
        )


def look(nets: tuple[Net, Net], held: Sequence[Weights], *, at: int) -> Look:
    """Measure both networks by exact moments; matrix: alignment of every hidden layer with every
    other, first those of a.

    Figures: at; min_alignment (the smallest linear CKA of any two hidden layers of both);
    max_disproportion (definition 1); and of each network the loss above its floor, the entropy over
    its least, the sharpness, and the distance to the closed form (the largest disproportion of a
    layer with the closed form's), named with _a and _b. Rows: those of `weigh`, of both networks.
    """
    maps = [hidden_maps(weights, net.frame) for net, weights in zip(nets, held, strict=True)]
    both = [*maps[0], *maps[1]]
    layers = align_layers(both, both, nets[0].world.inputs)
    figures = {
        "at": float(at),
        "min_alignment": float(layers.min()),
        "max_disproportion": max(disproportion(x, y) for x in both for y in both),
    }
    rows: list[Row] = []
    for name, net, weights, hidden in zip("ab", nets, held, maps, strict=True):
        aligned = hidden_maps(least_entropy(net.world, net.frame, net.widths), net.frame)
        least = least_entropy_value(net.world, net.frame, len(weights))
        figures[f"excess_loss_{name}"] = (
            float(loss(weights, net.frame, net.world)) - net.world.floor
        )
        figures[f"entropy_{name}"] = float(entropy(weights, net.frame, net.world)) / least
        figures[f"sharpness_{name}"] = sharpness(weights, net.frame, net.world)
        figures[f"distance_{name}"] = max(
            disproportion(x, y) for x, y in zip(hidden, aligned, strict=True)
        )
        rows += weigh(net, weights, network=name, at=at)
    return Look(figures, layers, rows)


def look_at_samples(
    nets: tuple[Net, Net], held: Sequence[Weights], activation: str, *, at: int
) -> Look:
    """Measure layers with an activation on inputs drawn anew: only at and min_alignment, since no
    moments are known.
    """
    draws = np.random.default_rng(0).standard_normal((len(nets[0].world.inputs), SEEN))
    inputs = torch.linalg.cholesky(nets[0].world.inputs).numpy() @ draws
    shown = []
    for net, weights in zip(nets, held, strict=True):
        values = net.frame.before.numpy() @ inputs
        for weight in weights[:-1]:
            values = activate(weight.numpy() @ values, activation)
            shown.append(torch.from_numpy(values))
    layers = align_layers(shown, shown, torch.eye(SEEN, dtype=torch.float64) / SEEN)
    return Look({"at": float(at), "min_alignment": float(layers.min())}, layers)


def draw_minima(
    nets: tuple[Net, Net], *, count: int, spread: float = 1.0, seed: int = 0
) -> Iterator[Look]:
    """Draw other global minima of the loss, each as good as the aligned one, and look at the least
    alignment of a's and b's layers.

    Figures: by, "chance"; min_alignment; excess_loss of a above that of the noise, 0 but for
    rounding at a minimum. Both networks are at their least entropy; then each hidden layer of a is
    taken through a random T⁻¹, T = exp(spread · G) with G normal and of unit norm for each
    dimension. Source: Ziyin and Chuang 2025, section 3.
    """
    draw = torch.Generator().manual_seed(seed)
    first, second = (least_entropy(net.world, net.frame, net.widths) for net in nets)
    other = hidden_maps(second, nets[1].frame)
    for _ in range(count):
        weights: Weights = first
        for layer, width in enumerate(nets[0].widths, start=1):
            noise = torch.randn(width, width, generator=draw, dtype=torch.float64) / width**0.5
            weights = transform(weights, layer=layer, by=torch.linalg.matrix_exp(spread * noise))
        layers = align_layers(hidden_maps(weights, nets[0].frame), other, nets[0].world.inputs)
        excess = float(loss(weights, nets[0].frame, nets[0].world)) - nets[0].world.floor
        yield Look(
            {"by": "chance", "min_alignment": float(layers.min()), "excess_loss": excess}, layers
        )


def sweep(
    name: str,
    nets: tuple[Net, Net],
    *,
    strengths: Sequence[float],
    descent: Descent | None = None,
) -> Iterator[Look]:
    """Break the theorem at each strength. descent: where SGD trains the networks.

    Figures: strength; measured, measured_mean: least and mean alignment of a's layers with b's;
    predicted, predicted_mean: those of the theory, NaN where it says nothing; and the breaker's
    other figures. matrix: alignment of a's layers with b's. Raises as `break_alignment`.
    """
    for strength in strengths:
        broken = break_alignment(name, nets, strength, descent)
        layers = alignments(broken.trained, broken)
        figures = {
            "strength": strength,
            "measured": float(layers.min()),
            "measured_mean": float(layers.mean()),
        }
        theory = (
            alignments(broken.predicted, broken) if broken.predicted else torch.tensor([torch.nan])
        )
        yield Look(
            figures
            | {
                "predicted": float(theory.min()),
                "predicted_mean": float(theory.mean()),
                **broken.figures,
            },
            layers,
        )
