"""What `platoscope score` asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from core.options import argument, part
from core.questions.question import Question
from core.spaces.choices import Clamping
from core.study.parts import Comparison


@dataclass(frozen=True)
class Score(Question):
    """How alike are the features in two files, layer by layer?"""

    command: ClassVar[str] = "score"

    x: str = argument(
        label="One file",
        metavar="FILE_X",
        help="features, of any kind that `import` reads",
    )
    y: str = argument(
        label="Another file",
        metavar="FILE_Y",
        help="features of the same stimuli: in the same order, or with ids of the rows in both",
    )
    comparison: Comparison = part(Comparison, layers="all")
    clamping: Clamping = part(Clamping, q=1.0)
