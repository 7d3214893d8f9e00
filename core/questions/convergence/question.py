"""What the Convergence page and the `platoscope convergence` commands ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from core.options import draws_option, option, part, seed_option
from core.questions.question import StudyQuestion
from core.study.parts import Comparison

By = Literal["competence", "size", "tasks", "data"]


@dataclass(frozen=True)
class _Trainings(StudyQuestion):
    """A question about models that finished a training."""

    names: tuple[str, ...] = option(
        (),
        name="models",
        label="Models",
        metavar="M",
        help="models (all finished ones of vision and language)",
    )
    comparison: Comparison = part(Comparison)


@dataclass(frozen=True)
class _Dealt(_Trainings):
    """A question whose trends are tested by dealing trainings anew."""

    permutations: int = draws_option(999, least=1, help="times that whole recipes are dealt anew")
    seed: int = seed_option("seed of the permutations")


@dataclass(frozen=True)
class Levels(_Dealt):
    """Do models come together as they get better?"""

    command: ClassVar[str] = "convergence levels"

    by: By = option(
        "competence",
        label="Levels of",
        help="what rises from level to level: thirds of competence, size, number of tasks, or"
        " amount of data",
    )


@dataclass(frozen=True)
class AnnaKarenina(_Dealt):
    """Are all strong models alike, and is each weak one weak in its own way?"""

    command: ClassVar[str] = "convergence anna-karenina"


@dataclass(frozen=True)
class Hypotheses(_Dealt):
    """Why do models come together: many tasks, capacity or simplicity?"""

    command: ClassVar[str] = "convergence hypotheses"


@dataclass(frozen=True)
class Summary(_Dealt):
    """Do models come together, and why, in one table?"""

    command: ClassVar[str] = "convergence summary"


@dataclass(frozen=True)
class Replicates(_Trainings):
    """How alike are two trainings of one recipe?"""

    command: ClassVar[str] = "convergence ceiling"

    names: tuple[str, ...] = option(
        (),
        name="models",
        label="Models",
        metavar="M",
        help="models (all finished ones of recipes with several seeds)",
    )


@dataclass(frozen=True)
class FineTuned(_Trainings):
    """Does fine-tuning for a narrower question cost alignment?"""

    command: ClassVar[str] = "convergence fine-tuned"
