"""What the Models page and `platoscope models` ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from core.options import option, part, seed_option
from core.questions.question import StudyQuestion
from core.study.parts import Comparison, Measure

LayoutName = Literal["umap", "mds", "tsne"]


@dataclass(frozen=True)
class Roster:
    """Which models are compared with each other."""

    names: tuple[str, ...] = option(
        (), name="models", label="Models", metavar="M", help="models, of any modality (all)"
    )
    unfinished: bool = option(
        True,
        label="Unfinished models",
        help="where no models are named, checkpoints and untrained models too",
    )
    variants: bool = option(
        False,
        label="Replicates and variants",
        help="where no models are named, other seeds of a recipe too, and models that vary one on"
        " purpose: its tasks, data, weight decay or width",
    )
    world: bool = option(
        True,
        label="The world itself",
        help="where no models are named, the known factors of a made world too, as if they were a"
        " model's features",
    )
    measured: bool = option(
        False,
        label="Brains and people",
        help="where no models are named, brains and people too, which nobody trained",
    )


@dataclass(frozen=True)
class ModelPairs(StudyQuestion):
    """How aligned is each pair of models, and do models form groups?"""

    command: ClassVar[str] = "models pairs"

    roster: Roster = part(Roster)
    comparison: Comparison = part(Comparison)


@dataclass(frozen=True)
class ModelLayout(StudyQuestion):
    """Where does a layout place the models?

    The slow step of `ModelMap`, kept by itself: a model's description may change with the models
    around it, its place does not.
    """

    command: ClassVar[str] = "models layout"
    listed: ClassVar[bool] = False

    roster: Roster = part(Roster)
    comparison: Comparison = part(Comparison)
    layout: LayoutName = option("umap", help="how distances are drawn in a plane")
    seed: int = seed_option("seed of UMAP and t-SNE")


@dataclass(frozen=True)
class ModelMap(StudyQuestion):
    """Which models are alike?"""

    command: ClassVar[str] = "models map"

    roster: Roster = part(Roster)
    comparison: Comparison = part(Comparison)
    layout: LayoutName = option("umap", label="Map", help="how distances are drawn in a plane")
    seed: int = seed_option("seed of UMAP and t-SNE")


@dataclass(frozen=True)
class Targets:
    """Whom models are compared with, in the mean over each group."""

    names: tuple[str, ...] = option(
        (),
        name="targets",
        label="Aligned with",
        metavar="T",
        help="reality, groups such as 'vision models', or single models (reality and all groups)",
    )


@dataclass(frozen=True)
class ModelTable(StudyQuestion):
    """How aligned and how competent is each model?"""

    command: ClassVar[str] = "models table"

    roster: Roster = part(Roster)
    comparison: Comparison = part(Comparison)
    targets: Targets = part(Targets)


@dataclass(frozen=True)
class ModelProfiles(StudyQuestion):
    """In which layers is each model aligned with others?"""

    command: ClassVar[str] = "models profiles"

    roster: Roster = part(Roster)
    measure: Measure = part(Measure)
    targets: Targets = part(Targets)
