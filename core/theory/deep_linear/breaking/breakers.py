"""Ways to break the theorem, each with a strength: at 0 every layer of both networks is aligned.

A breaker trains two networks and states what the theory predicts of them, where it predicts
anything. Source: Ziyin and Chuang 2025, section 5, which has six, and its footnotes 2 and 9.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from core.errors import InputError, UnknownNameError
from core.theory.deep_linear.breaking.broken import Broken
from core.theory.deep_linear.breaking.data import add_private_features, unrelate_data
from core.theory.deep_linear.breaking.labels import curve_labels, quiet_labels, transform_labels
from core.theory.deep_linear.breaking.saddles import stop_at_saddle, stop_at_two_saddles
from core.theory.deep_linear.breaking.training import (
    decay_weights,
    flow_without_noise,
    reach_the_edge,
)
from core.theory.deep_linear.descent.sgd import Descent
from core.theory.deep_linear.layer_cka import linear_cka
from core.theory.deep_linear.nets import Net
from core.theory.deep_linear.world import Matrix


@dataclass(frozen=True)
class Breaker:
    """A way to break the theorem, and what the note claims of it; `run` takes both networks and a
    strength of 0 up to the last.

    counts: of what the strength is a whole number: no more than all labels, or all modes but one.
    descends: whether SGD trains the networks, so that `run` takes its step and batch, too.
    """

    title: str
    unit: str
    strengths: tuple[float, ...]
    claim: str
    run: Callable[..., Broken]
    counts: Literal["", "modes", "labels"] = ""
    descends: bool = False


def usual_strengths(name: str, *, modes: int, labels: int) -> tuple[float, ...]:
    """Return the strengths that a breaker is tried at in a world of so many labels whose map has so
    many modes.

    Raises UnknownNameError for the breaker.
    """
    if name not in BREAKERS:
        raise UnknownNameError("breaker", name, BREAKERS)
    breaker = BREAKERS[name]
    most = {"": math.inf, "modes": modes - 1, "labels": labels}[breaker.counts]
    return tuple(each for each in breaker.strengths if each <= most)


def break_alignment(
    name: str, nets: tuple[Net, Net], strength: float, descent: Descent | None = None
) -> Broken:
    """Train two networks under a breaker. descent: of one whose networks SGD trains.

    Raises UnknownNameError for its name, InputError for a strength that it cannot have.
    """
    world = nets[0].world
    modes = int(torch.linalg.matrix_rank(world.target))
    allowed = usual_strengths(name, modes=modes, labels=len(world.noise))
    breaker = BREAKERS[name]
    if not 0 <= strength <= allowed[-1]:
        raise InputError(
            f"the strength of {name} lies in 0 … {allowed[-1]:g} ({breaker.unit}), not {strength:g}"
        )
    if breaker.counts and strength != int(strength):
        raise InputError(
            f"the strength of {name} is a whole number ({breaker.unit}), not {strength:g}"
        )
    return breaker.run(*nets, strength, *([descent] if breaker.descends else []))


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
        counts="modes",
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
        descends=True,
    ),
    "nonlinear-labels": Breaker(
        "Nonlinear labels",
        "standard deviation of the nonlinear part, over that of the linear one",
        (0.0, 0.5, 1.0, 2.0, 4.0),
        "What a linear network misses must be independent of the inputs. Where it is not, layers"
        " come near one another, but do not meet.",
        curve_labels,
    ),
    "quiet-labels": Breaker(
        "Labels without noise",
        "directions of the labels without noise",
        tuple(map(float, range(13))),
        "The theorem asks for noise in every direction of the labels. Noise that reaches every mode"
        " of V is enough, and a mode without noise fades from both networks. Without any noise,"
        " their first weights decide.",
        quiet_labels,
        counts="labels",
    ),
    "unrelated-data": Breaker(
        "Unrelated data",
        "1 − correlation of the paired inputs",
        (0.0, 0.25, 0.5, 0.75, 1.0),
        "Networks that learn the same from unrelated data, compared on unrelated pairs, have"
        " nothing in common; on the same inputs they would be aligned.",
        unrelate_data,
    ),
    "two-saddles": Breaker(
        "Two saddles",
        "modes that each network lacks, the weakest and the strongest",
        (0.0, 1.0, 2.0),
        "The alignment of two saddles is never negative; it is perfect at the same saddle, and 0"
        " where they have no mode in common.",
        stop_at_two_saddles,
        counts="modes",
    ),
}
