"""What `platoscope adapters compose` asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from core.options.declaring import option
from core.options.ranges import MOST_STIMULI
from core.questions.adapters.question import LEAST, SEEDS, OneSet


@dataclass(frozen=True)
class Composition(OneSet):
    """Do adapters of x with y, and of y with z, bring x and z together?"""

    command: ClassVar[str] = "adapters compose"

    pairs: int | None = option(
        None,
        least=2 * LEAST,
        most=MOST_STIMULI,
        label="Pairs",
        help="training pairs, half of them for each adapter (all that test and validation leave)",
    )
    seeds: int = option(
        SEEDS,
        least=1,
        most=1_000,
        label="Trainings",
        help="trainings of each way; an interval takes five",
    )
