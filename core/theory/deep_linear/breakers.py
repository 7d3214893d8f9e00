"""Six ways to break the theorem, each with a strength: at 0 every layer of both networks is
aligned, above 0 it is not.

A breaker trains two networks and states what the theory predicts of them, where it predicts
anything. Source of all six: Ziyin and Chuang 2025, section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch

from core.errors import InputError, UnknownNameError
from core.theory.deep_linear.interventions import (
    Broken,
    add_private_features,
    decay_weights,
    flow_without_noise,
    reach_the_edge,
    stop_at_saddle,
    transform_labels,
)
from core.theory.deep_linear.layer_cka import linear_cka
from core.theory.deep_linear.nets import Net
from core.theory.deep_linear.world import Matrix


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
