"""What the Overview leads with, and `platoscope headline` asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from core.options import draws_option, part, seed_option
from core.questions.question import StudyQuestion
from core.study.parts import Measure


@dataclass(frozen=True)
class Headline(StudyQuestion):
    """Do better models agree more across modalities?

    One test, named in advance, for every store.
    """

    command: ClassVar[str] = "headline"

    measure: Measure = part(Measure)
    permutations: int = draws_option(
        9999, least=19, help="permutations if there are more than these; else all"
    )
    seed: int = seed_option("seed of the permutations and of the intervals")
