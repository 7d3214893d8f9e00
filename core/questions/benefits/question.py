"""What the Benefits page and the `platoscope benefits` commands ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from core.options import draws_option, option, seed_option
from core.questions.question import StudyQuestion


@dataclass(frozen=True)
class Transfer(StudyQuestion):
    """Does what a model of the other modality knows replace data?"""

    command: ClassVar[str] = "benefits transfer"

    names: tuple[str, ...] = option(
        (),
        name="models",
        label="Models",
        metavar="M",
        help="learners with transfer and without (all)",
    )


@dataclass(frozen=True)
class _OverSize(StudyQuestion):
    """A question about how language models change with size."""

    names: tuple[str, ...] = option(
        (),
        name="models",
        label="Language models",
        metavar="M",
        help="language models (all that finished a usual training)",
    )
    permutations: int = draws_option(
        999, least=1, help="times that sizes are dealt anew within families"
    )
    seed: int = seed_option("seed of the permutations and of sampling")


@dataclass(frozen=True)
class Bias(_OverSize):
    """Are larger language models less biased?"""

    command: ClassVar[str] = "benefits bias"


@dataclass(frozen=True)
class Hallucination(_OverSize):
    """Do larger language models invent less?"""

    command: ClassVar[str] = "benefits hallucination"

    samples: int = option(256, least=10, most=10_000, help="texts that each model writes")


@dataclass(frozen=True)
class ModelColors(StudyQuestion):
    """What color does a language model expect of each kind of thing?

    The slow step of `Bias`, kept by itself for each model.
    """

    command: ClassVar[str] = "benefits colors"
    listed: ClassVar[bool] = False

    model: str = option("", label="Language model", metavar="M", help="the language model")


@dataclass(frozen=True)
class ModelCaptions(StudyQuestion):
    """What does a language model write by itself, and can it be?

    The slow step of `Hallucination`, kept by itself for each model.
    """

    command: ClassVar[str] = "benefits captions"
    listed: ClassVar[bool] = False

    model: str = option("", label="Language model", metavar="M", help="the language model")
    samples: int = option(256, least=10, most=10_000, help="texts that the model writes")
    seed: int = seed_option("seed of sampling")
