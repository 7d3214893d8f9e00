"""What the Metrics page and the `platoscope metrics` commands ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from core.options import MOST_STIMULI, draws_option, neighbors_option, option, part, seed_option
from core.questions.alignment.question import COMPETENCE
from core.questions.question import StudyQuestion
from core.study.parts import LayerPair, LayerRule

SEED = "seed of the stimuli drawn and shuffled"


@dataclass(frozen=True)
class MetricAgreement(StudyQuestion):
    """Do metrics rank models alike?"""

    command: ClassVar[str] = "metrics agreement"

    names: tuple[str, ...] = option(
        (), name="model", label="Models", metavar="M", help="models (all finished models)"
    )
    size: int | None = option(
        None,
        least=2,
        most=MOST_STIMULI,
        label="Stimuli",
        help="number of stimuli drawn, the same for all metrics (256, or all of fewer)",
    )
    k: int = neighbors_option()
    metrics: tuple[str, ...] = option(
        (),
        name="metric",
        label="Metrics",
        metavar="METRIC",
        help="metrics (all that do not take long)",
    )
    seed: int = seed_option(SEED)

    def compared_metrics(self) -> tuple[str, ...]:
        return self.metrics


@dataclass(frozen=True)
class MetricMatrix(StudyQuestion):
    """Do metrics rank models alike whatever their parameters and the number of stimuli?

    Every metric with each of its values of k, rank or bandwidth, on each number of stimuli, against
    every other: figure 12 of Huh et al. 2024.
    """

    command: ClassVar[str] = "metrics matrix"

    names: tuple[str, ...] = option(
        (), name="model", label="Models", metavar="M", help="models (all finished models)"
    )
    metrics: tuple[str, ...] = option(
        (),
        name="metric",
        label="Metrics",
        metavar="METRIC",
        help="metrics (those that the paper prints, and Gaussian CKA)",
    )
    ks: tuple[int, ...] = neighbors_option((10, 50), name="k")
    ranks: tuple[int, ...] = option(
        (10,), name="rank", least=2, most=100_000, label="Ranks", help="directions that SVCCA keeps"
    )
    bandwidths: tuple[float, ...] = option(
        (0.5, 1.0),
        name="bandwidth",
        least=1e-4,
        most=1e6,
        label="Bandwidths",
        help="of Gaussian CKA, in median distances",
    )
    sizes: tuple[int, ...] = option(
        (),
        name="size",
        least=4,
        most=MOST_STIMULI,
        label="Stimuli",
        help="numbers of stimuli drawn, the paper's batch sizes (128, 256 and 512 where there are"
        " more)",
    )
    seed: int = seed_option(SEED)

    def compared_metrics(self) -> tuple[str, ...]:
        return self.metrics


@dataclass(frozen=True)
class MetricTrends(StudyQuestion):
    """Does alignment rise with competence whatever the metric?

    Language models against vision models, as in figures 13 and 14 of Huh et al. 2024.
    """

    command: ClassVar[str] = "metrics trends"

    x: tuple[str, ...] = option(
        (),
        label="Language models",
        metavar="M",
        help="language models of known competence (all finished ones)",
    )
    y: tuple[str, ...] = option(
        (),
        label="Compared with",
        metavar="M",
        help="models to compare them with (all finished vision models)",
    )
    metrics: tuple[str, ...] = option(
        (), name="metric", label="Metrics", metavar="METRIC", help="metrics (the paper's eight)"
    )
    axis: str = option(
        COMPETENCE,
        label="Horizontal axis",
        metavar="AXIS",
        help="competence (1 - bits per byte of the captions), or a score by its task and origin",
    )
    k: int = neighbors_option()
    rule: LayerRule = part(LayerRule)

    def compared_metrics(self) -> tuple[str, ...]:
        return self.metrics


@dataclass(frozen=True)
class Neighborhoods(StudyQuestion):
    """Does the trend depend on the size of the neighborhood?"""

    command: ClassVar[str] = "metrics neighborhoods"

    x: tuple[str, ...] = option(
        (),
        label="Models",
        metavar="M",
        help="models on the axis (all finished language models of known competence)",
    )
    y: tuple[str, ...] = option(
        (),
        label="Compared with",
        metavar="M",
        help="models whose alignment with them is averaged (all finished vision models)",
    )
    seed: int = seed_option(SEED)

    def compared_metrics(self) -> tuple[str, ...]:
        return ("mutual_knn", "cknna")


@dataclass(frozen=True)
class _PairQuestion(StudyQuestion):
    """A question about one layer of each of two models."""

    pair: LayerPair = part(LayerPair)


@dataclass(frozen=True)
class NeighborhoodSweep(_PairQuestion):
    """How does the alignment of two layers change as the neighborhood grows?"""

    command: ClassVar[str] = "metrics sweep"

    seed: int = seed_option(SEED)

    def compared_metrics(self) -> tuple[str, ...]:
        return ("mutual_knn", "cknna")


@dataclass(frozen=True)
class SampleSize(_PairQuestion):
    """How does the alignment of two layers change with the number of stimuli?"""

    command: ClassVar[str] = "metrics sample-size"

    k: int = neighbors_option()
    seed: int = seed_option(SEED)

    def compared_metrics(self) -> tuple[str, ...]:
        return ("mutual_knn", "cka", "unbiased_cka")


@dataclass(frozen=True)
class CalibratedMetrics(_PairQuestion):
    """How far above chance are two layers aligned, by every metric?"""

    command: ClassVar[str] = "metrics calibrated"

    k: int = neighbors_option()
    metrics: tuple[str, ...] = option(
        (),
        name="metric",
        label="Metrics",
        metavar="METRIC",
        help="metrics (all that do not take long)",
    )
    null: int = draws_option(
        100,
        least=1,
        label="Permutations",
        help="how often the stimuli of one model are shuffled to see what unrelated models reach",
    )
    seed: int = seed_option(SEED)

    def compared_metrics(self) -> tuple[str, ...]:
        return self.metrics
