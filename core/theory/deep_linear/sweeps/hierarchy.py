"""The hierarchy of universality: what two networks may differ in and still learn the same, by how
they are trained.

SGD sees samples, and no two runs see the same ones. So the control is a network that differs in
nothing else: what that loses of the alignment is the samples', and only what another loses beyond
it is its own. Without samples the control is the same training twice, and aligned to 1.

Source: Ziyin and Chuang 2025, theorem 1 and section 6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import torch

from core.theory.deep_linear.breaking.broken import descend_to_end
from core.theory.deep_linear.breaking.labels import relabel
from core.theory.deep_linear.breaking.training import FLOW_TIME, descend_mixed
from core.theory.deep_linear.descent.entropic import flow
from core.theory.deep_linear.descent.sgd import Descent, check_finite, run_sgd
from core.theory.deep_linear.layer_cka import align_layers
from core.theory.deep_linear.nets import Net
from core.theory.deep_linear.network import Weights, hidden_maps
from core.theory.deep_linear.world import Frame
from core.theory.looks import Look

WIDER = 2  # units by which hidden layers of other widths are wider
STRETCH = 1.0  # of the labels, as the strength of the breaker
CONTROL = "samples"

DIFFERENCES: Mapping[str, Callable[[Net, Net], Net]] = {  # from the first network, and another
    CONTROL: lambda a, _: a,
    "first weights": lambda a, b: replace(a, seed=b.seed),
    "widths": lambda a, _: replace(a, widths=tuple(width + WIDER for width in a.widths)),
    "view": lambda a, b: replace(a, frame=Frame(b.frame.before, a.frame.after)),
    "output matrix": lambda a, b: replace(a, frame=Frame(a.frame.before, b.frame.after)),
    "labels": lambda a, _: relabel(a, STRETCH),
}

SGD_STEPS = 100_000


def _train_noisily(net: Net, descent: Descent, stream: Sequence[int]) -> Weights:
    (end,) = run_sgd(net, descent, counts=[SGD_STEPS], stream=stream)
    check_finite(end, descent, count=SGD_STEPS)
    return end


def _follow(net: Net, *_: object) -> Weights:
    return list(flow(net.start, net.frame, net.world, until=FLOW_TIME))[-1]


Training = Callable[[Net, Descent, Sequence[int]], Weights]  # with the seed of its samples
TRAININGS: Mapping[str, Training] = {  # by preset
    "theorem-1": lambda net, *_: descend_to_end(net),
    "sgd": _train_noisily,
    "weight-decay": lambda net, *_: descend_mixed(net, 1.0),
    "gradient-flow": _follow,
}


def compare_universality(nets: tuple[Net, Net], descent: Descent) -> Iterator[Look]:
    """Train the first network and one that differs from it in one thing alone, in every way of
    training, for everything that may differ.

    Figures: preset, the way of training; differs; within_a, within_b, between: least linear CKA of
    any two layers of one network, of the other, and of one with the other, statements 1 to 3 of
    theorem 1; same_layer: that of each layer with the same layer of the other. Every training by
    SGD has samples of its own. Raises InputError where SGD diverges.
    """
    seed = nets[0].seed
    for preset, train in TRAININGS.items():
        first = hidden_maps(train(nets[0], descent, (seed, 0)), nets[0].frame)
        for place, (differs, change) in enumerate(DIFFERENCES.items(), start=1):
            other = change(*nets)
            second = hidden_maps(train(other, descent, (seed, place)), other.frame)
            both = [*first, *second]
            layers = align_layers(both, both, nets[0].world.inputs)
            figures = _state(layers, len(first))
            yield Look({"preset": preset, "differs": differs, **figures})


def _state(layers: torch.Tensor, count: int) -> dict[str, float]:
    """Return the statements' figures from the alignment of all layers, the first `count` of which
    are those of one network.
    """
    between = layers[:count, count:]
    return {
        "within_a": float(layers[:count, :count].min()),
        "within_b": float(layers[count:, count:].min()),
        "between": float(between.min()),
        "same_layer": float(between.diagonal().min()),
    }
