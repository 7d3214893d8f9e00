"""What can be run of deep linear networks, by name: the theorem, its training by noise, other
minima, and what breaks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from core.errors import InputError
from core.theory.deep_linear.breakers import BREAKERS, usual_strengths
from core.theory.deep_linear.nets import Net, make_nets
from core.theory.deep_linear.question import DeepLinear
from core.theory.deep_linear.runs import (
    SGD_COUNTS,
    draw_minima,
    sweep,
    train_entropic,
    train_noisily,
)
from core.theory.looks import Look, Run, in_one_thread

MINIMA = 200


@dataclass(frozen=True)
class Preset:
    """A run with a name, and what the theory claims of it; total: how many looks it has, 0 where
    that is unknown.
    """

    title: str
    claim: str
    begin: Callable[[tuple[Net, Net]], Iterator[Look]]
    total: int = 0


def draw_minima_beside_noise(nets: tuple[Net, Net]) -> Iterator[Look]:
    """Train by SGD first, then draw other minima; figures as of `draw_minima`, by "SGD" or
    "chance".
    """
    *_, last = train_noisily(nets, counts=SGD_COUNTS[-1:])
    assert last.matrix is not None  # a look at moments has one
    between = last.matrix[: len(nets[0].widths), len(nets[0].widths) :]
    yield Look(
        {
            "by": "SGD",
            "min_alignment": float(between.min()),
            "excess_loss": last.figures["excess_loss_a"],
        },
        between,
    )
    yield from draw_minima(nets, count=MINIMA)


PRESETS: Mapping[str, Preset] = {
    "theorem-1": Preset(
        "As in theorem 1",
        "At the least entropy every layer of both networks is aligned with every other.",
        train_entropic,
    ),
    "sgd": Preset(
        "By SGD alone",
        "Noise at a finite step leads near the same solution, without being told of it.",
        train_noisily,
        len(SGD_COUNTS),
    ),
    "minima": Preset(
        "Other minima",
        "Almost all solutions of the same loss are not aligned.",
        draw_minima_beside_noise,
        MINIMA + 1,
    ),
    "tanh": Preset(
        "With tanh",
        "The theorem is silent about activations.",
        lambda nets: train_noisily(nets, activation="tanh"),
        len(SGD_COUNTS),
    ),
    "relu": Preset(
        "With ReLU",
        "The theorem is silent about activations.",
        lambda nets: train_noisily(nets, activation="relu"),
        len(SGD_COUNTS),
    ),
}


def complete(question: DeepLinear) -> DeepLinear:
    """Return a question that names the strengths of its breaker, if it has one."""
    if question.strength or question.preset not in BREAKERS:
        return question
    return replace(question, strength=usual_strengths(question.preset, question.rank))


def start(question: DeepLinear) -> Run:
    """Begin a preset, or a breaker at the question's strengths, or at its own where there are none.

    Raises InputError for a world or networks that cannot be, for strengths of what is no breaker
    and for those that it cannot have.
    """
    nets, preset = _draw_nets(question), question.preset
    if preset in BREAKERS:
        strengths = complete(question).strength
        return Run(in_one_thread(sweep(preset, nets, strengths=strengths)), len(strengths))
    if question.strength:
        raise InputError(f"{preset} has no strength; name a breaker: {', '.join(BREAKERS)}")
    return Run(
        in_one_thread(PRESETS[preset].begin(nets)), PRESETS[preset].total, ends=preset != "minima"
    )


def _draw_nets(question: DeepLinear) -> tuple[Net, Net]:
    return make_nets(
        d=question.inputs,
        c=question.labels,
        rank=question.rank,
        widths=(question.a, question.b),
        condition=question.condition,
        seed=question.seed,
    )
