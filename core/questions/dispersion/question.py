"""What the Dispersion page and `platoscope dispersion` ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from core.options import MOST_STIMULI, option, part, seed_option
from core.questions.question import StudyQuestion
from core.study.parts import Measure

Centering = Literal["features", "stimuli", "none"]
SIZE_HELP = "stimuli in the low, the high and each random set (a quarter of all)"
LEVEL_HELP = "caption level (the dataset's default)"


def size_option(help: str) -> Any:
    """Declare how many stimuli are in each set, None for the usual share."""
    return option(None, least=1, most=MOST_STIMULI, label="Stimuli in each set", help=help)


@dataclass(frozen=True)
class Spaces:
    """The spaces whose consensus is taken, and how they are centered first."""

    spaces: tuple[str, ...] = option(
        (),
        label="Consensus of",
        metavar="M:LAYER",
        help="layers of models whose consensus is taken, a model alone in its penultimate block"
        " (three or four vision models of different kinds, of one size where that can be, else the"
        " largest)",
    )
    centering: Centering = option(
        "features",
        label="Centering",
        help="what is subtracted from a space first: the mean of each feature, of each stimulus (as"
        " published, over values that are not clamped), or none",
    )

    @property
    def models(self) -> tuple[str, ...]:
        """Return the models of these spaces, each once."""
        return models_of(self.spaces)


@dataclass(frozen=True)
class Ranking(Spaces):
    """What ranks the stimuli: the dispersion of spaces."""

    by: str = option(
        "mean",
        label="Dispersion is the",
        help="residual that ranks the stimuli: mean, pc1, median or trimmed over the spaces, or"
        " that of one space",
    )

    @property
    def joint(self) -> Spaces:
        """Return the spaces whose consensus ranks the stimuli."""
        return Spaces(self.spaces, self.centering)


@dataclass(frozen=True)
class Trial:
    """Whose alignment with language is measured on sets of stimuli, and against what chance."""

    tested: tuple[str, ...] = option(
        (), metavar="M:LAYER", help="spaces that are aligned with language (those of the consensus)"
    )
    language: tuple[str, ...] = option(
        (),
        label="Language models",
        metavar="M",
        help="language models, each in its best layer (all finished ones)",
    )
    cross_fitted: bool = option(
        False, help="rank the stimuli for each tested space by the other models alone"
    )
    repeats: int = option(50, least=0, most=10_000, label="Random sets", help="random sets")
    draws: int = option(
        100,
        least=0,
        most=10_000,
        label="Intervals by resampling",
        help="random three quarters of a set, for its 95 %% interval",
    )
    seed: int = seed_option("seed of random sets and draws")


@dataclass(frozen=True)
class JointQuestion(StudyQuestion):
    """A question about the consensus of spaces."""

    device: ClassVar[str | None] = None

    joint: Spaces = part(Spaces)


@dataclass(frozen=True)
class ConsensusSpace(JointQuestion):
    """Where does each stimulus lie in the consensus of models?"""

    command: ClassVar[str] = "dispersion consensus"

    weights: tuple[float, ...] = option(
        (), least=0, most=1_000_000, help="weight of each space (1 each)"
    )


@dataclass(frozen=True)
class StimulusDispersion(JointQuestion):
    """How far is each stimulus from the consensus of models?"""

    command: ClassVar[str] = "dispersion stimuli"

    by: str = option(
        "",
        label="Ranked by",
        help="rank the stimuli by mean, pc1, median, trimmed or one of the spaces (by index)",
    )
    size: int | None = size_option("mark so many at either end of the ranking")
    without_each: bool = option(
        False, help="measure each space's residuals to the consensus of the others"
    )


@dataclass(frozen=True)
class DispersionRankings(JointQuestion):
    """How do the mean and the first component of residuals rank the stimuli?"""

    command: ClassVar[str] = "dispersion rankings"

    size: int | None = size_option(SIZE_HELP)
    seed: int = seed_option("seed of the random set")


@dataclass(frozen=True)
class HeldOutPoints(JointQuestion):
    """How far is each stimulus from the consensus of the other models?"""

    command: ClassVar[str] = "dispersion deviations"


@dataclass(frozen=True)
class HeldOutFits(JointQuestion):
    """Does a model deviate where the other models disagree?"""

    command: ClassVar[str] = "dispersion held-out"


@dataclass(frozen=True)
class SetsQuestion(StudyQuestion):
    """Alignment with language models on sets of stimuli that their dispersion chooses."""

    ranking: Ranking = part(Ranking)
    trial: Trial = part(Trial)
    measure: Measure = part(Measure, metric="cknna")

    @property
    def label(self) -> str:
        """Return what an axis of the scores says."""
        k = self.measure.settings.get("k")
        neighbors = f", k = {k}" if k else ""
        return f"alignment with language models ({self.measure.spec.short}{neighbors})"


@dataclass(frozen=True)
class SetEffect(SetsQuestion):
    """Are models better aligned with language on stimuli they agree on?"""

    command: ClassVar[str] = "dispersion effect"

    size: int | None = size_option(SIZE_HELP)


@dataclass(frozen=True)
class PartEffect(SetsQuestion):
    """Does alignment with language fall as dispersion rises?"""

    command: ClassVar[str] = "dispersion parts"

    parts: int = option(10, least=2, most=1_000, help="parts that the ranking is split into")


@dataclass(frozen=True)
class DropEffect(SetsQuestion):
    """Does alignment with language rise without the most dispersed stimuli?"""

    command: ClassVar[str] = "dispersion drop"

    share: float = option(
        0.25, least=0, most=0.5, help="share of the stimuli that is left out at either end"
    )


@dataclass(frozen=True)
class RankingQuestion(StudyQuestion):
    """A question about what ranks the stimuli."""

    device: ClassVar[None] = None

    ranking: Ranking = part(Ranking)


@dataclass(frozen=True)
class DispersionPredictors(RankingQuestion):
    """What makes a stimulus dispersed?"""

    command: ClassVar[str] = "dispersion predictors"

    level: str = option("", label="Caption level", help=LEVEL_HELP)
    seed: int = seed_option("seed of folds and halves")


@dataclass(frozen=True)
class DispersionWords(RankingQuestion):
    """Which words distinguish captions of low and high dispersion?"""

    command: ClassVar[str] = "dispersion words"

    size: int | None = size_option("stimuli in the low and the high set (a quarter of all)")
    level: str = option("", label="Caption level", help=LEVEL_HELP)


@dataclass(frozen=True)
class DispersionFindings(SetsQuestion):
    """What does dispersion say, figure by figure?"""

    command: ClassVar[str] = "dispersion findings"

    size: int | None = size_option(SIZE_HELP)


def models_of(spaces: tuple[str, ...]) -> tuple[str, ...]:
    """Return the models of spaces `model:layer`, each once."""
    return tuple(dict.fromkeys(space.rpartition(":")[0] for space in spaces))
