"""What `platoscope modalities` and the part of the Convergence page on modalities ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from core.options import draws_option, option, part, seed_option
from core.questions.question import StudyQuestion
from core.study.parts import Comparison


@dataclass(frozen=True)
class Modalities(StudyQuestion):
    """Do models of different modalities meet, and is each aligned with reality?"""

    command: ClassVar[str] = "modalities"

    names: tuple[str, ...] = option(
        (),
        name="models",
        label="Models",
        metavar="M",
        help="finished models of any modality (all of usual recipes, every seed)",
    )
    comparison: Comparison = part(Comparison)
    permutations: int = draws_option(
        19, least=19, help="times that stimuli are shuffled, to measure chance"
    )
    seed: int = seed_option("seed of the permutations")
