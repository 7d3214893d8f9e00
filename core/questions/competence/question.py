"""What the Competence page and `platoscope competence` ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from core.options import draws_option, option, part, seed_option
from core.questions.question import StudyQuestion
from core.study.parts import Comparison

Skill = Literal["solved", "mean"]
Grouping = Literal["objective", "family", "group", "size"]
THRESHOLD = 0.8  # of the best model's score


@dataclass(frozen=True)
class Contenders:
    """Which models' competence is compared."""

    names: tuple[str, ...] = option(
        (),
        name="models",
        label="Models",
        metavar="M",
        help="vision and language models (all finished ones)",
    )
    unfinished: bool = option(
        False,
        label="Unfinished models too",
        help="where no models are named, checkpoints and untrained models too",
    )


@dataclass(frozen=True)
class Solving:
    """Which tasks vision models are judged by, and how."""

    tasks: tuple[str, ...] = option(
        (),
        metavar="T",
        help="tasks that count, of those measured by probes (the Cave's own, else those of VTAB)",
    )
    threshold: float = option(
        THRESHOLD,
        least=0,
        most=1,
        metavar="S",
        label="Solved from",
        help="share of the best model's score that solves a task, if it is above chance",
    )
    skill: Skill = option(
        "solved",
        label="Competence",
        help="of a vision model: the share of tasks that it solves, or its mean score over them",
    )


@dataclass(frozen=True)
class Binning:
    """How models are put into bins of competence."""

    bins: int = option(5, least=1, most=1000, help="bins of competence")
    equal: bool = option(
        False,
        label="Bins of equal size",
        help="as many models in each bin as ties allow, not equal shares of the tasks",
    )
    by: Grouping = option(
        "objective",
        label="Within and across",
        help="what groups models: pairs are taken within groups and across them",
    )


@dataclass(frozen=True)
class CompetenceScores(StudyQuestion):
    """What is known of the models' competence, and where does it come from?"""

    command: ClassVar[str] = "competence list"
    device: ClassVar[None] = None

    task: tuple[str, ...] = option((), label="Tasks", metavar="T", help="only these tasks")
    origin: tuple[str, ...] = option(
        (), metavar="O", help="only these origins: measured, published or user"
    )
    model: tuple[str, ...] = option((), label="Only models", metavar="M", help="only these models")
    embedded: bool = option(
        False, label="Embedded models only", help="only models that are embedded here"
    )


@dataclass(frozen=True)
class TasksSolved(StudyQuestion):
    """How competent is each vision model?"""

    command: ClassVar[str] = "competence tasks"
    device: ClassVar[None] = None

    solving: Solving = part(Solving)


@dataclass(frozen=True)
class Bins(StudyQuestion):
    """Do vision models that solve more tasks agree more?"""

    command: ClassVar[str] = "competence bins"

    contenders: Contenders = part(Contenders)
    solving: Solving = part(Solving)
    binning: Binning = part(Binning)
    comparison: Comparison = part(Comparison)
    permutations: int = draws_option(999, least=1, help="permutations that test the trend")
    seed: int = seed_option("seed of the permutations")


@dataclass(frozen=True)
class Downstream(StudyQuestion):
    """Does alignment predict what a model can do?"""

    command: ClassVar[str] = "competence downstream"

    contenders: Contenders = part(Contenders)
    score: str = option(
        "",
        metavar="SCORE",
        help="what is predicted, a task and its origin: 'HellaSwag (published)'; the first of"
        " HellaSwag, GSM8K, completions and counting that the models have where none is named",
    )
    target: str = option(
        "",
        label="Aligned with",
        metavar="M",
        help="the model, or reality, that models are aligned with (the vision model that solves"
        " most tasks)",
    )
    comparison: Comparison = part(Comparison)


@dataclass(frozen=True)
class Training(StudyQuestion):
    """Does alignment grow while a model trains?"""

    command: ClassVar[str] = "competence training"

    comparison: Comparison = part(Comparison)


@dataclass(frozen=True)
class Trends(StudyQuestion):
    """Do better models agree more, with each other and with reality, in every figure there is?"""

    command: ClassVar[str] = "competence trends"

    vision: str = option(
        "",
        label="Vision model",
        metavar="M",
        help="the vision model that language models are aligned with (the one that solves most"
        " tasks)",
    )
    solving: Solving = part(Solving)
    binning: Binning = part(Binning)
    comparison: Comparison = part(Comparison)
    seed: int = seed_option("seed of permutations and draws")
