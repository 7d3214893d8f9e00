"""What `platoscope published` asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from core.options import option
from core.questions.question import StudyQuestion

On = Literal["all", "alignment", "captions", "color", "dispersion", "metrics"]


@dataclass(frozen=True)
class PublishedValues(StudyQuestion):
    """How do published values compare with one's own?

    A value is compared where the store has the same models and the same stimuli; all others are
    listed with the command that would answer them.
    """

    command: ClassVar[str] = "published"

    about: On = option(
        "all", label="Published values of", help="the page whose published values are listed"
    )
