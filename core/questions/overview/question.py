"""What the Overview page, `platoscope overview` and `platoscope closeness` ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from core.options import neighbors_option, option, part
from core.questions.alignment.question import COMPETENCE
from core.questions.question import StudyQuestion
from core.study.parts import Comparison

CONSENSUS = "consensus"
LEAST = 3  # models in a consensus
MAP_METRICS: Mapping[str, str] = {  # that the map offers: chance is known or 0
    "mutual_knn": "k-NN",
    "cycle_knn": "cycle k-NN",
    "cknna": "CKNNA",
    "unbiased_cka": "CKA",
}


@dataclass(frozen=True)
class Overview(StudyQuestion):
    """Do neural networks converge to the same representation?"""

    command: ClassVar[str] = "overview"

    k: int = neighbors_option(help="neighbors per stimulus that are compared, 1 … n − 1")
    axis: str = option(
        COMPETENCE,
        label="Horizontal axis",
        help="what the alignment of language models is set against: competence (1 − bits per byte),"
        " parameters, step, or a score by its task and origin: 'HellaSwag (published)'",
    )


@dataclass(frozen=True)
class ConvergenceMap(StudyQuestion):
    """How close is each model to reality, or to another center?"""

    command: ClassVar[str] = "closeness"

    center: str = option(
        "",
        label="Center",
        metavar="CENTER",
        help="reality, a model, a modality (the mean over its models), or consensus: that of the"
        " models of other modalities (reality where it is known, else consensus)",
    )
    comparison: Comparison = part(Comparison)

    def around(self, center: str) -> ConvergenceMap:
        """Return the same question about another center."""
        return replace(self, center=center)
