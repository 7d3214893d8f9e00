"""What can be run of deep linear networks, by name: the theorem, its training by noise, other
minima, and what breaks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from core.errors import InputError
from core.theory.deep_linear.breaking.breakers import BREAKERS, usual_strengths
from core.theory.deep_linear.descent.sgd import Descent
from core.theory.deep_linear.nets import Net, make_nets
from core.theory.deep_linear.question import DeepLinear, Networks
from core.theory.deep_linear.runs import (
    SGD_COUNTS,
    draw_minima,
    sweep,
    train_entropic,
    train_noisily,
)
from core.theory.deep_linear.sweeps.hierarchy import DIFFERENCES, TRAININGS, compare_universality
from core.theory.deep_linear.sweeps.limits import LOOKS, sweep_limits
from core.theory.looks import Look, Run, in_one_thread

MINIMA = 200
MOST_STEPS = 6  # sizes of steps that are compared


@dataclass(frozen=True)
class Preset:
    """A run with a name, and what the theory claims of it.

    begin: from both networks and how SGD goes, once for every size of its steps. total: how many
    looks a run has, 0 where that is unknown. ends: whether the last look is the outcome.
    """

    title: str
    claim: str
    begin: Callable[[tuple[Net, Net], Sequence[Descent]], Iterator[Look]]
    total: int = 0
    ends: bool = True


def draw_minima_beside_noise(nets: tuple[Net, Net], descents: Sequence[Descent]) -> Iterator[Look]:
    """Train by SGD first, then draw other minima; figures as of `draw_minima`, by "SGD" or
    "chance".
    """
    *_, last = train_noisily(nets, descents[0], counts=SGD_COUNTS[-1:])
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
        lambda nets, _: train_entropic(nets),
    ),
    "sgd": Preset(
        "By SGD alone",
        "Noise at a finite step leads near the same solution, without being told of it.",
        lambda nets, descents: train_noisily(nets, descents[0]),
        len(SGD_COUNTS),
    ),
    "minima": Preset(
        "Other minima",
        "Almost all solutions of the same loss are not aligned.",
        draw_minima_beside_noise,
        MINIMA + 1,
        ends=False,
    ),
    "tanh": Preset(
        "With tanh",
        "The theorem is silent about activations.",
        lambda nets, descents: train_noisily(nets, descents[0], activation="tanh"),
        len(SGD_COUNTS),
    ),
    "relu": Preset(
        "With ReLU",
        "The theorem is silent about activations.",
        lambda nets, descents: train_noisily(nets, descents[0], activation="relu"),
        len(SGD_COUNTS),
    ),
    "limits": Preset(
        "Small steps, long time",
        "The limits of small steps and of long time do not commute: after a long time, smaller"
        " steps come nearer to full alignment; gradient flow does not.",
        sweep_limits,
        ends=False,
    ),
    "hierarchy": Preset(
        "Hierarchy",
        "Of what is varied here, what noise leads to depends on the labels alone, what weight decay"
        " leads to on views and frozen matrices, too, and what gradient flow leads to on"
        " everything.",
        lambda nets, descents: compare_universality(nets, descents[0]),
        len(TRAININGS) * len(DIFFERENCES),
        ends=False,
    ),
}
DESCENTS: Mapping[str, tuple[Descent, ...]] = {  # of presets that SGD trains
    **dict.fromkeys(("sgd", "minima", "tanh", "relu", "hierarchy"), (Descent(0.003),)),
    "limits": tuple(Descent(step) for step in (0.01, 0.003, 0.001, 0.0003)),
    "edge-of-stability": (Descent(0.02, 16),),
}


def complete(question: DeepLinear) -> DeepLinear:
    """Return a question that names the strengths of its breaker, if it has one, and how its SGD
    goes, if that trains it.
    """
    networks, strength = question.networks, question.strength
    if question.preset in BREAKERS and not strength:
        strength = usual_strengths(question.preset, modes=networks.rank, labels=networks.labels)
    return replace(
        question, strength=strength, networks=complete_descent(question.preset, networks)
    )


def complete_descent(preset: str, networks: Networks) -> Networks:
    """Return networks of which it is said how a preset's SGD goes, if that trains it."""
    if preset not in DESCENTS:
        return networks
    usual = DESCENTS[preset]
    steps = networks.step or tuple(each.step for each in usual)
    return replace(networks, step=steps, batch=networks.batch or usual[0].batch)


def start(question: DeepLinear) -> Run:
    """Begin a preset, or a breaker at the question's strengths, or at its own where there are none.

    Raises InputError for a world or networks that cannot be, for strengths of what is no breaker
    and for those that it cannot have, and for steps of what SGD does not train.
    """
    preset = question.preset
    nets, descents = _draw_nets(question.networks), _descents(preset, question.networks)
    if preset in BREAKERS:
        strengths = complete(question).strength
        looks = sweep(preset, nets, strengths=strengths, descent=next(iter(descents), None))
        return Run(in_one_thread(looks), len(strengths))
    if question.strength:
        raise InputError(f"{preset} has no strength; name a breaker: {', '.join(BREAKERS)}")
    chosen = PRESETS[preset]
    total = LOOKS * (1 + len(descents)) if preset == "limits" else chosen.total
    return Run(in_one_thread(chosen.begin(nets, descents)), total, ends=chosen.ends)


def _descents(preset: str, networks: Networks) -> tuple[Descent, ...]:
    if preset not in DESCENTS and (networks.step or networks.batch):
        raise InputError(
            f"SGD does not train {preset}, so it has neither step nor batch; leave them out, or"
            f" name one of {', '.join(DESCENTS)}"
        )
    if len(networks.step) > MOST_STEPS:
        raise InputError(f"expected up to {MOST_STEPS} sizes of steps, not {len(networks.step)}")
    if len(networks.step) > 1 and preset != "limits":
        raise InputError(
            f"{preset} has one size of steps, not {len(networks.step)}; limits compares several"
        )
    whole = complete_descent(preset, networks)
    return tuple(Descent(step, whole.batch or 1) for step in whole.step)


def _draw_nets(networks: Networks) -> tuple[Net, Net]:
    return make_nets(
        d=networks.inputs,
        c=networks.labels,
        rank=networks.rank,
        widths=(networks.a, networks.b),
        condition=networks.condition,
        seed=networks.seed,
    )


def preset_titles() -> dict[str, str]:
    """Return what people read of every preset, by name."""
    own = {name: one.title for name, one in PRESETS.items()}
    return own | {name: one.title for name, one in BREAKERS.items()}
