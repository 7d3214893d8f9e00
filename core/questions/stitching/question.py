"""What the Stitching page, `platoscope stitch` and the `platoscope stitching` commands ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from core.options import MOST_LAYERS, draws_option, option, part, seed_option
from core.questions.question import StudyQuestion
from core.study.parts import Measure

Start = Literal["least-squares", "random"]
USUAL = "of middle size, a self-supervised model or CLIP into a supervised one"


@dataclass(frozen=True)
class Fitting:
    """How h is fitted: on new events of the Cave, which no store holds."""

    start: Start = option(
        "least-squares",
        label="Start of h",
        help="where h begins: least squares between activations, or random weights",
    )
    events: int = option(
        1024,
        least=64,
        most=40_960,
        label="Events",
        help="new events of the Cave that h is fitted to",
    )
    steps: int = option(
        100,
        least=0,
        most=10_000,
        label="Steps",
        help="steps of gradient descent on the task loss, 64 events each; 0 leaves the start",
    )
    seed: int = seed_option("of the events, of their order and of random weights")


@dataclass(frozen=True)
class _OfTwo(StudyQuestion):
    """What is asked of one model whose lower layers feed the upper layers of another."""

    device: ClassVar[str] = "auto"

    x: str = option(
        "", label="Lower layers of", metavar="F", help=f"the model that begins ({USUAL})"
    )
    y: str = option("", label="Upper layers of", metavar="G", help="the model that goes on")
    fitting: Fitting = part(Fitting)


@dataclass(frozen=True)
class Stitch(_OfTwo):
    """What is lost where one network goes on from a layer of another?"""

    command: ClassVar[str] = "stitch"

    layer_x: int | None = option(
        None,
        least=0,
        most=MOST_LAYERS,
        label="Up to layer",
        help="the last layer of the first, from 0 (the middle)",
    )
    layer_y: int | None = option(
        None,
        least=0,
        most=MOST_LAYERS,
        label="From behind layer",
        help="the layer of the second that is replaced, from 0 (at the same relative depth)",
    )


@dataclass(frozen=True)
class StitchMap(_OfTwo):
    """Which layers of one network can stand for which of another, and can alignment tell?"""

    command: ClassVar[str] = "stitching map"

    measure: Measure = part(Measure)


@dataclass(frozen=True)
class _OfMany(StudyQuestion):
    """What is asked of several trainings of the Cave's vision models, seed by seed."""

    device: ClassVar[str] = "auto"

    names: tuple[str, ...] = option(
        (),
        name="models",
        label="Models",
        metavar="M",
        help="vision models that finished a usual training, in all their seeds (all that fit)",
    )
    fitting: Fitting = part(Fitting)


@dataclass(frozen=True)
class StitchKinds(_OfMany):
    """Which networks can be stitched: of another seed, objective or size, at another depth?"""

    command: ClassVar[str] = "stitching kinds"

    size: str = option(
        "s", label="Size", metavar="SIZE", help="of the models that go on: xs, s or m"
    )


@dataclass(frozen=True)
class StitchTrend(_OfMany):
    """Can networks of different objectives be stitched more cheaply as they get better?"""

    command: ClassVar[str] = "stitching trend"

    objectives: tuple[str, ...] = option(
        ("multitask", "SimCLR", "CLIP"),
        label="Objectives",
        metavar="O",
        help="objectives whose models are stitched to each other",
    )
    permutations: int = draws_option(
        999, least=1, help="times that competence is dealt anew within two objectives"
    )
