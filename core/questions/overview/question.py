"""What the Overview page and `platoscope overview` ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from core.options.declaring import option
from core.options.shared import neighbors_option
from core.questions.alignment.question import COMPETENCE
from core.questions.question import StudyQuestion


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
