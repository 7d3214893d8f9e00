"""What the page and `platoscope theory contrastive` ask of contrastive learners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from core.options import option, seed_option
from core.questions.question import Question

PresetName = Literal["infonce", "nce", "sampled", "rough", "modalities", "capacity", "tasks"]
World = Literal["ring", "grid", "tree", "clusters", "random"]
Loss = Literal["infonce", "nce"]


@dataclass(frozen=True)
class Contrastive(Question):
    """What does a learner know of a world that it only sees in pieces?

    A preset says what is done; what is None is as the preset has it.
    """

    command: ClassVar[str] = "theory contrastive"

    preset: PresetName = option("infonce", help="what is done, and with what")
    world: World | None = option(None, help="shape of the world (as the preset: ring)")
    events: int | None = option(None, least=3, most=1_024, help="events of the world (24)")
    window: int | None = option(
        None, least=1, most=64, label="Window T", help="steps to either side (8; rough 2)"
    )
    jumps: float | None = option(
        None, least=0, most=1, metavar="P", help="share of steps to any event (0.3; rough 0.1)"
    )
    uneven: float | None = option(
        None, least=0, most=10, metavar="S", help="spread of the steps' weights (0.3)"
    )
    apart: bool = option(
        False, label="Leave t = t′ out", help="do not count an event with itself, t = t′"
    )
    loss: Loss | None = option(None, help="contrastive loss (as the preset)")
    width: int | None = option(
        None, least=0, most=1_024, help="width of the embedding, 0 for as many as events (0)"
    )
    temperature: float | None = option(
        None,
        least=0,
        most=1_000,
        metavar="T",
        label="Temperature τ",
        help="temperature of InfoNCE (1)",
    )
    positives: float | None = option(
        None,
        least=0,
        most=1,
        metavar="P",
        label="Positive pairs",
        help="share of positive pairs, of binary NCE (0.6; tasks 0.9)",
    )
    seed: int = seed_option("seed of the world, the learner and what it samples")
