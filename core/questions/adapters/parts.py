"""The options of the questions about adapters, and the bounds of their values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from core.options import MOST_STIMULI, draws_option, option

SEEDS, DRAWS = 5, 200
FEWEST_DRAWS = 40  # of which one lies beyond each end of a 95% interval, on average
WIDTH, TEMPERATURE = 256, 0.07
COLDEST, HOTTEST = 0.001, 10.0  # temperatures
LEAST = 3  # training pairs; two lie on one line
WIDEST = 8192  # a wider common space fills a machine's memory and holds nothing more
USUAL = "the usual ones where none are named"
ALL_PAIRS = "training pairs (all that test and validation leave)"

Start = Literal["canonical", "random"]
Direction = Literal["both", "forward"]
Products = Literal["cosine", "raw"]


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
