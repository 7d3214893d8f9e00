"""What the Overview page and `platoscope overview` ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from core.options import option
from core.questions.question import StudyQuestion


@dataclass(frozen=True)
class Overview(StudyQuestion):
    """Do neural networks converge to the same representation?"""

    command: ClassVar[str] = "overview"

    k: int = option(
        10, least=1, label="Neighbors k", help="neighbors per stimulus that are compared, 1 … n − 1"
    )
