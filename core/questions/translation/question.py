"""What the Translation page, `platoscope translate` and `platoscope translation` ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from core.options import MOST_STIMULI, neighbors_option, option, part, seed_option
from core.questions.question import StudyQuestion

Method = Literal["both", "gw", "qap"]
SIZE = 64
METHOD_TITLES = {"gw": "Gromov–Wasserstein", "qap": "quadratic assignment"}


def size_option() -> Any:
    """Declare how many stimuli are matched."""
    help = "how many stimuli are matched"
    return option(SIZE, least=4, most=MOST_STIMULI, label="Stimuli", help=help)


@dataclass(frozen=True)
class Matching:
    """How two spaces are matched with no pairs given, and how alignment is measured beside it."""

    method: Method = option(
        "both",
        label="Matched by",
        help="gw: Gromov–Wasserstein, annealed (needs the extra `translation`); qap: quadratic"
        " assignment from several starts",
    )
    starts: int = option(
        10,
        least=1,
        most=1000,
        label="Random starts",
        help="random starts, beside that from matched profiles; the best counts",
    )
    draws: int = option(
        5, least=1, most=1000, label="Draws", help="sets of stimuli, without one in common"
    )
    k: int = neighbors_option(help="of mutual k-NN, the alignment")
    seed: int = seed_option("seed of the sets, their order and starts")


@dataclass(frozen=True)
class Translation(StudyQuestion):
    """Can two models be translated into each other with no pairs given?"""

    command: ClassVar[str] = "translate"
    device: ClassVar[None] = None

    a: str = option(
        "",
        label="One model",
        metavar="M[:LAYER]",
        help="one space, the penultimate block where no layer is named (the two largest vision"
        " models of two objectives)",
    )
    b: str = option("", label="Another model", metavar="M[:LAYER]", help="another space")
    sizes: tuple[int, ...] = option(
        (),
        least=4,
        most=MOST_STIMULI,
        label="Stimuli",
        help="numbers of stimuli that are matched (16, 32, 64 and 128, of as many as there are)",
    )
    matching: Matching = part(Matching)

    def compared_metrics(self) -> tuple[str, ...]:
        return ("mutual_knn",)


@dataclass(frozen=True)
class TranslationPairs(StudyQuestion):
    """Are more aligned models easier to translate with no pairs given?"""

    command: ClassVar[str] = "translation pairs"
    device: ClassVar[None] = None

    spaces: tuple[str, ...] = option(
        (),
        label="Models",
        metavar="M[:LAYER]",
        help="spaces, penultimate blocks where no layer is named (the largest model of each"
        " objective and family in all its seeds, and reality)",
    )
    size: int = size_option()
    matching: Matching = part(Matching)

    def compared_metrics(self) -> tuple[str, ...]:
        return ("mutual_knn",)
