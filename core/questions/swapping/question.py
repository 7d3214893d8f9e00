"""What the page Reading across asks of swapped probes, and `platoscope swap`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from core.options import MOST_STIMULI, draws_option, option, seed_option
from core.questions.question import StudyQuestion

LEAST = 3  # anchors; two lie on one line


@dataclass(frozen=True)
class Swap(StudyQuestion):
    """Can one model's probe be used on another, without training?"""

    command: ClassVar[str] = "swap"

    spaces: tuple[str, ...] = option(
        (),
        name="models",
        label="Probes of",
        metavar="M[:LAYER]",
        help="models whose probes are swapped, each with every other, in their penultimate block"
        " where no layer is named (usual vision models, and language models of their size)",
    )
    factors: tuple[str, ...] = option(
        (),
        label="Factors",
        metavar="F",
        help="factors that probes tell (all of 2 to 20 values that are known of every stimulus)",
    )
    anchors: int | None = option(
        None,
        least=LEAST,
        most=MOST_STIMULI,
        label="Anchors",
        help="stimuli by which two spaces are joined; they teach no probe (256, or a third of those"
        " outside a fold where that is less)",
    )
    folds: int = option(
        4, least=2, most=20, label="Folds", help="parts of the stimuli, each of them tested once"
    )
    permutations: int = draws_option(
        39,
        least=19,
        label="Permutations",
        help="times that anchors are paired at random, which gives chance and p",
    )
    seed: int = seed_option("of folds, anchors and permutations")
