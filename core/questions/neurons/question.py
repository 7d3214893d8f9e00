"""What the Neurons page and the `platoscope neurons` commands ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from core.options import MOST_STIMULI, draws_option, option, part, seed_option
from core.questions.question import StudyQuestion

ALL_LAYERS = "all"


@dataclass(frozen=True)
class Mining:
    """Where units are looked for, and against what their recurrence is held."""

    layers: str = option(
        ALL_LAYERS,
        label="Layers",
        metavar="LAYERS",
        help="all of both models, last, or a depth from 0 to 1; of two models also a pair A:B",
    )
    null: int = draws_option(
        39,
        least=19,
        label="Permutations",
        help="of the stimuli of one model: what the best pair reaches by chance",
    )
    rotations: int = option(
        3,
        least=1,
        most=100,
        label="Rotations",
        help="random bases of one model's layers, in which no unit is special",
    )
    seed: int = seed_option("seed of permutations and rotations")


@dataclass(frozen=True)
class NeuronShare(StudyQuestion):
    """What share of their units do models have in common?"""

    command: ClassVar[str] = "neurons share"
    device: ClassVar[None] = None

    names: tuple[str, ...] = option(
        (),
        name="models",
        label="Models",
        metavar="M",
        help="models of any modality (all that finished a usual training)",
    )
    mining: Mining = part(Mining)


@dataclass(frozen=True)
class NeuronTrend(StudyQuestion):
    """Do more units recur in better models?"""

    command: ClassVar[str] = "neurons trend"
    device: ClassVar[None] = None

    names: tuple[str, ...] = option(
        (),
        name="models",
        label="Models",
        metavar="M",
        help="models of any modality (all that finished a usual training)",
    )
    mining: Mining = part(Mining)
    dealings: int = draws_option(
        999, least=1, help="times that competence is dealt anew within lines"
    )


@dataclass(frozen=True)
class NeuronPairs(StudyQuestion):
    """Which units of two models recur?"""

    command: ClassVar[str] = "neurons pairs"
    device: ClassVar[None] = None

    a: str = option(
        "",
        label="One model",
        metavar="M",
        help="one model (the two largest vision models of two objectives)",
    )
    b: str = option("", label="Another model", metavar="M", help="another model")
    mining: Mining = part(Mining)


@dataclass(frozen=True)
class NeuronStimuli(NeuronPairs):
    """Which stimuli excite two units that recur?"""

    command: ClassVar[str] = "neurons stimuli"

    pair: int = option(
        1,
        least=1,
        most=MOST_STIMULI,
        label="Pair",
        help="which of the pairs, the most correlated first",
    )
    count: int = option(8, least=1, most=1000, label="Stimuli", help="stimuli of each unit")
