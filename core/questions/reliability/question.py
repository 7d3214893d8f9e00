"""What `platoscope reliability` asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from core.options import option, part
from core.questions.question import StudyQuestion
from core.study.parts import Measure


@dataclass(frozen=True)
class Reliability(StudyQuestion):
    """How reliable is what was measured several times, and how far can a model come?"""

    command: ClassVar[str] = "reliability"

    names: tuple[str, ...] = option(
        (), name="models", label="Models", metavar="M", help="models (all with repeats)"
    )
    measure: Measure = part(Measure)
