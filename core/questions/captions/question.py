"""What the Captions page and the `platoscope captions` commands ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from core.options import neighbors_option, option, part
from core.questions.question import StudyQuestion
from core.study.parts import Comparison


@dataclass(frozen=True)
class _ModelsByLevel(StudyQuestion):
    """A question about language models at every caption level that they are embedded at."""

    x: tuple[str, ...] = option(
        (),
        label="Language models",
        metavar="M",
        help="language models (all finished ones of two or more caption levels)",
    )
    y: tuple[str, ...] = option(
        (),
        label="Compared with",
        metavar="M",
        help="models to compare them with (all finished vision models, and reality)",
    )


@dataclass(frozen=True)
class CaptionScores(_ModelsByLevel):
    """How does each language model align at each caption level?"""

    command: ClassVar[str] = "captions scores"

    comparison: Comparison = part(Comparison)


@dataclass(frozen=True)
class CaptionAlignment(_ModelsByLevel):
    """Does a caption that says more align better?"""

    command: ClassVar[str] = "captions alignment"

    comparison: Comparison = part(Comparison)
    by: Literal["objective", "model", "modality"] = option(
        "objective",
        label="A panel per",
        help="what each row stands for, or averages over; modality: all vision models, as published"
        " (figure 9)",
    )

    @property
    def scores(self) -> CaptionScores:
        """Return the question that asks for each model's own scores."""
        return CaptionScores(self.scope, self.x, self.y, self.comparison)


@dataclass(frozen=True)
class CaptionFacts(_ModelsByLevel):
    """Does it depend on what a caption says?

    Alignment is that of single stimuli, by mutual k-NN in the best layers.
    """

    command: ClassVar[str] = "captions facts"

    k: int = neighbors_option()
    by: Literal["objective", "model"] = option(
        "objective", label="A panel per", help="what each row stands for, or averages over"
    )

    @property
    def scores(self) -> CaptionScores:
        """Return the question that finds the best layers."""
        return CaptionScores(self.scope, self.x, self.y, Comparison(k=self.k))

    def compared_metrics(self) -> tuple[str, ...]:
        return ("mutual_knn",)


@dataclass(frozen=True)
class CaptionLevels(StudyQuestion):
    """How much does a caption say?"""

    command: ClassVar[str] = "captions levels"
    device: ClassVar[None] = None
