"""What `platoscope adapters compose` asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from core.questions.adapters.question import LEAST, OneSet, pairs_option, trainings_option


@dataclass(frozen=True)
class Composition(OneSet):
    """Do adapters of x with y, and of y with z, bring x and z together?"""

    command: ClassVar[str] = "adapters compose"

    pairs: int | None = pairs_option(
        None,
        least=2 * LEAST,
        help="training pairs, half of them for each adapter (all that test and validation leave)",
    )
    seeds: int = trainings_option("trainings of each way; an interval takes five")
