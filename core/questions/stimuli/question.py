"""What the Stimuli page and `platoscope stimuli` ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from core.options import MOST_STIMULI, neighbors_option, option, part, seed_option
from core.questions.dispersion.question import JointQuestion
from core.questions.question import StudyQuestion
from core.study.parts import LayerPair

NEIGHBORS = 10
DRAWN = 5000  # dots that a browser moves smoothly and UMAP lays out in seconds


Plane = Literal["residuals", "pca", "umap"]


def stimulus_option() -> Any:
    """Declare which stimulus is meant."""
    return option(0, least=0, most=MOST_STIMULI, help="index of the stimulus in its dataset")


@dataclass(frozen=True)
class StimulusList(StudyQuestion):
    """Which stimuli are these, and how are they captioned?"""

    command: ClassVar[str] = "stimuli list"
    device: ClassVar[None] = None


@dataclass(frozen=True)
class StimulusMap(JointQuestion):
    """Where do the stimuli lie in what models agree on?"""

    command: ClassVar[str] = "stimuli map"

    map: Plane = option(
        "umap",
        help="the consensus laid out by UMAP or PCA, or mean residual and first component",
    )
    drawn: int = option(
        DRAWN,
        least=3,
        most=MOST_STIMULI,
        label="Stimuli on the map",
        help="stimuli on the map; of more, a random sample",
    )
    seed: int = seed_option("seed of UMAP and of the sample")


@dataclass(frozen=True)
class StimulusResiduals(JointQuestion):
    """Do models agree on one stimulus?"""

    command: ClassVar[str] = "stimuli residuals"

    stimulus: int = stimulus_option()


@dataclass(frozen=True)
class StimulusNeighbors(JointQuestion):
    """What do models take to be alike?"""

    command: ClassVar[str] = "stimuli neighbors"
    device: ClassVar[str | None] = StudyQuestion.device  # neighbors are found there

    k: int = neighbors_option(NEIGHBORS)


@dataclass(frozen=True)
class NearestStimuli(StudyQuestion):
    """What do two models find most like one stimulus?"""

    command: ClassVar[str] = "stimuli nearest"

    pair: LayerPair = part(LayerPair)
    stimulus: int = stimulus_option()
    k: int = neighbors_option(NEIGHBORS, help="neighbors of the stimulus, 1 … n − 1")


@dataclass(frozen=True)
class SharedNeighbors(StudyQuestion):
    """On which stimuli do two models share neighbors?"""

    command: ClassVar[str] = "stimuli shared"

    pair: LayerPair = part(LayerPair)
    k: int = neighbors_option(NEIGHBORS)

    def compared_metrics(self) -> tuple[str, ...]:
        return ("mutual_knn",)
