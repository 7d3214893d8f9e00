"""What the Adapters page, `platoscope adapt` and `platoscope adapters` ask."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeVar

from core.errors import InputError
from core.options import MOST_STIMULI, build, draws_option, option, part, seed_option, values_of
from core.questions.question import StudyQuestion
from core.study.parts import Measure

SEEDS, DRAWS = 5, 200
FEWEST_DRAWS = 40  # of which one lies beyond each end of a 95 % interval, on average
WIDTH, TEMPERATURE = 256, 0.07
COLDEST, HOTTEST = 0.001, 10.0  # temperatures
LEAST = 3  # training pairs; two lie on one line
WIDEST = 8192  # a wider common space fills a machine's memory and holds nothing more
USUAL = "the usual ones where none are named"
ALL_PAIRS = "training pairs (all that test and validation leave)"

Start = Literal["canonical", "random"]
Direction = Literal["both", "forward"]
Products = Literal["cosine", "raw"]

A = TypeVar("A", bound="AdapterQuestion")


def pairs_option(default: tuple[int, ...] | None, *, help: str) -> Any:
    """Declare how many pairs train adapters, or several such numbers."""
    return option(default, least=LEAST, most=MOST_STIMULI, label="Pairs", help=help)


def trainings_option(help: str) -> Any:
    """Declare how often adapters are trained."""
    return option(SEEDS, least=1, most=1_000, label="Trainings", help=help)


def halves_option() -> Any:
    """Declare on how many halves of the test stimuli a gain is measured again."""
    help = "halves of the test stimuli, for the interval of the gain"
    return draws_option(DRAWS, least=FEWEST_DRAWS, label="Draws", help=help)


@dataclass(frozen=True)
class Fitting:
    """How adapters are trained. What the proposal does not name (first weights, decay, which pass
    is kept) is this program's own. The loss's denominator runs over a batch of 256 pairs, the
    proposal's over all.
    """

    width: int = option(
        WIDTH, least=1, most=WIDEST, label="Width", help="dimensions of the common space"
    )
    temperature: float = option(
        TEMPERATURE,
        least=COLDEST,
        most=HOTTEST,
        label="Temperature",
        metavar="T",
        help="of the loss; at low temperatures only the nearest stimuli matter",
    )
    learned: bool = option(
        False, label="Learn the temperature", help="learn the temperature from there"
    )
    start: Start = option(
        "canonical",
        label="Start",
        help="canonical: weights of canonical correlation, learned in whitened coordinates of the"
        " directions that it keeps, and decaying toward it; random: random weights of all"
        " directions, decaying toward 0 (published: random, since the proposal names no start)",
    )
    direction: Direction = option(
        "both",
        label="Direction of the loss",
        help="each encoder looks for its own stimulus in the other, or the first in the second"
        " alone (published: forward)",
    )
    products: Products = option(
        "cosine",
        label="Products",
        help="what the loss and all kernels compare: cosines, or inner products of vectors as long"
        " as they are (published: raw)",
    )
    offset: bool = option(
        True, label="Offset", help="center each encoder's vectors (published: no offset)"
    )


@dataclass(frozen=True)
class AdapterQuestion(StudyQuestion):
    """What is asked of linear adapters of some encoders, beside a reference."""

    device: ClassVar[str] = "auto"

    x: tuple[str, ...] = option(
        (),
        label="Encoders",
        metavar="A[:LAYER]",
        help="an encoder, in its penultimate block where no layer is named (published: last);"
        f" {USUAL}",
    )
    y: tuple[str, ...] = option(
        (),
        label="With",
        metavar="B[:LAYER]",
        help="another encoder; of several, the i-th goes with the i-th of x",
    )
    z: tuple[str, ...] = option(
        (),
        label="And with",
        metavar="C[:LAYER]",
        help="further encoders, with every x and y; all pairs are in the loss",
    )
    ref: tuple[str, ...] = option(
        (),
        label="Reference",
        metavar="R[:LAYER]",
        help="strong models that the common space is compared with; they take no part in training",
    )
    fitting: Fitting = part(Fitting)
    measure: Measure = part(Measure)
    seed: int = seed_option("of which stimuli test, validate and train, and of all draws")

    @property
    def spaces(self) -> tuple[str, ...]:
        """Return the encoders that are trained together, of a question about one x and one y."""
        return (*self.x[:1], *self.y[:1], *self.z)

    def each(self: A) -> Iterator[A]:
        """Yield the question about each x with its y; raises InputError where they are not as
        many.
        """
        if len(self.x) != len(self.y):
            raise InputError(
                f"the i-th --x goes with the i-th --y; got {len(self.x)} and {len(self.y)}: name"
                " as many of both"
            )
        for x, y in zip(self.x, self.y, strict=True):
            yield replace(self, x=(x,), y=(y,))

    def turned(self, kind: type[A], **choices: object) -> A:
        """Return a question of another type about the same adapters."""
        values = {name: value for name, value in values_of(self).items() if name != "pairs"}
        return build(kind, values | choices)

    @property
    def label(self) -> str:
        """Return what an axis of alignment says."""
        return f"alignment with the reference ({self.measured})"

    @property
    def measured(self) -> str:
        """Return by what alignment is measured, in words."""
        k = self.measure.settings.get("k")
        return f"{self.measure.spec.short}{f', k = {k}' if k else ''}"


@dataclass(frozen=True)
class Adaptation(AdapterQuestion):
    """Do linear adapters bring frozen encoders nearer to a strong model?"""

    command: ClassVar[str] = "adapt"

    pairs: int | None = pairs_option(None, help=ALL_PAIRS)
    seeds: int = trainings_option(
        "trainings; they differ in what is drawn, not in the test stimuli"
    )
    bootstrap: int = halves_option()


@dataclass(frozen=True)
class PairsCurve(AdapterQuestion):
    """What are fewer training pairs worth?"""

    command: ClassVar[str] = "adapters curve"

    pairs: tuple[int, ...] = pairs_option(
        (), help="numbers of training pairs (all, a half, a quarter …)"
    )
    seeds: int = trainings_option("trainings per number of pairs")
    bootstrap: int = halves_option()


@dataclass(frozen=True)
class OneSet(AdapterQuestion):
    """What is asked of one set of encoders."""

    pairs: int | None = pairs_option(None, help=ALL_PAIRS)


@dataclass(frozen=True)
class OneTraining(OneSet):
    """What is asked of one training of adapters.

    passes: None for a training that comes to its end.
    """

    passes: int | None = option(
        None,
        least=0,
        most=1_000,
        label="Passes",
        help="stop after so many passes over the training pairs",
    )


@dataclass(frozen=True)
class Course(OneTraining):
    """How does one training of adapters go on?"""

    command: ClassVar[str] = "adapters course"


@dataclass(frozen=True)
class Kernels(OneTraining):
    """Which test stimuli are alike to the encoders, to the reference and in the common space?"""

    command: ClassVar[str] = "adapters kernels"

    before: bool = option(
        False, label="Before", help="the encoders and the reference alone; nothing is trained"
    )
