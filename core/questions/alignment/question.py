"""What the Alignment page and `platoscope align` ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from core.options import option, part
from core.questions.question import StudyQuestion
from core.study.parts import Calibration, Comparison

Side = Literal["language", "vision"]
COMPETENCE = "competence"
FIRST_KNOWN = "usual"


@dataclass(frozen=True)
class Alignment(StudyQuestion):
    """Do better language models agree more with vision models?

    With `all` as layers, the alignment of every layer of x's models with every layer of y's.
    """

    command: ClassVar[str] = "align"

    x: tuple[str, ...] = option(
        (), label="On the axis", metavar="M", help="models (all finished ones of --axis-models)"
    )
    y: tuple[str, ...] = option(
        (),
        label="Compared with",
        metavar="M",
        help="models to compare them with (all finished ones of the other modality, and reality)",
    )
    axis_models: Side = option(
        "language",
        label="Models on the axis",
        help="where no models are named, whose competence alignment is set against",
    )
    axis: str = option(
        FIRST_KNOWN,
        label="Horizontal axis",
        help="what alignment is set against: competence (of language models 1 − bits per byte, of"
        " vision models tasks solved; else own scores), parameters, step, a score by its task and"
        " origin, 'HellaSwag (published)', or usual: the first that five models have of"
        " competence, the score of most models, and parameters",
    )
    unfinished: bool = option(
        False,
        label="Unfinished models too",
        help="where no models are named, checkpoints and untrained models too",
    )
    comparison: Comparison = part(Comparison)
    calibration: Calibration = part(Calibration)

    @property
    def label(self) -> str:
        """Return what an axis of the scores says."""
        label = self.comparison.label
        if not self.calibration.null:
            return label
        return f"calibrated {label}".replace(", lower is more aligned", "")
