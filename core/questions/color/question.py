"""What the Color page and `platoscope color` ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeVar

from core.options import MOST_STIMULI, build, draws_option, option, part, seed_option, values_of
from core.questions.color.geometry.defaults import (
    DRAWS,
    GRID,
    GRIDS,
    PAIRS,
    PERMUTATIONS,
    RADIUS,
    SENTENCES,
    SHIPPED,
    SLOT,
    SMOOTHING,
    STARTS,
    K,
)
from core.questions.question import StudyQuestion

PERCEPTION, CAPTIONS = "perception", "captions"
PIXELS, VECTORS = "pixels:", "vectors:"  # followed by what is counted, or by a file
BEST, WORST = "best", "worst"  # language models, by competence
SOURCES = (
    "perception, captions, pixels:IMAGES (cifar10, a dataset, a folder or an .npz file),"
    " vectors:FILE, or a language model: best, worst, one of the dataset, simcse, roberta, hf:ID"
)

Survey = Literal["xkcd", "uw"]
SourceKind = Literal["perception", "pixels", "captions", "language", "vectors"]
S = TypeVar("S", bound="SourceQuestion")


def kind_of(source: str) -> SourceKind:
    """Return what kind of source a name means."""
    if source == PERCEPTION:
        return "perception"
    if source == CAPTIONS:
        return "captions"
    if source.startswith(PIXELS):
        return "pixels"
    return "vectors" if source.startswith(VECTORS) else "language"


@dataclass(frozen=True)
class PairCounting:
    """How colors that occur together are counted."""

    radius: float = option(
        RADIUS,
        least=1,
        most=1_024,
        label="Radius in pixels",
        help="most pixels between the two of a pair",
    )
    pairs: int = option(
        PAIRS,
        least=0,
        most=1_000_000_000,
        label="Pairs of pixels",
        help="pairs of pixels to draw",
    )
    grid: int = option(
        GRID,
        least=GRIDS[0],
        most=GRIDS[1],
        label="Grid, steps per channel",
        help="steps per channel of the color grid",
    )
    side: int | None = option(
        None,
        least=2,
        most=4_096,
        label="Pictures of",
        help="first shrink pictures to this many pixels, so that a pixel means more of a picture",
    )
    smoothing: float = option(
        SMOOTHING,
        least=0,
        most=1_000_000,
        label="Smoothing",
        help="added to each count; with 0, a source with a pair that was never seen is refused",
    )
    least: int | None = option(
        None,
        least=0,
        most=1_000_000_000,
        label="Least count",
        help="leave out colors seen less often (100 in pixels, 20 in captions)",
    )


@dataclass(frozen=True)
class Counting(PairCounting):
    """How colors that occur together are counted, and what they count for."""

    by: Literal["words", "cells"] = option(
        "words",
        label="Pixels count for",
        help="lay out color words, or the colors of the grid themselves",
    )


@dataclass(frozen=True)
class Reading:
    """What language models are asked, and where they are read out."""

    layer: str | None = option(
        None,
        label="Layer",
        metavar="LAYER",
        help="of every language model: last, 'last 4' (side by side), or a name or number"
        " (as published, otherwise last)",
    )
    sentences: tuple[str, ...] = option(
        SENTENCES,
        label="Sentences",
        metavar="SENTENCE",
        help=f"sentences with {SLOT} where the color goes; a word's vectors are averaged over them",
    )


@dataclass(frozen=True)
class Palette:
    """Which colors are laid out, and what they look like."""

    words: tuple[str, ...] = option(
        (),
        label="Color words",
        metavar="WORD",
        help="some of the 24 color words, all if none; a file of vectors has a row for each, in"
        " this order",
    )
    survey: Survey = option(
        "xkcd", label="Colors of words by", help="the survey that says which color a word means"
    )


@dataclass(frozen=True)
class Precision:
    """How thoroughly layouts are sought and tested."""

    starts: int = option(
        STARTS, least=0, most=100_000, label="Random starts", help="random starts of each layout"
    )
    permutations: int = draws_option(
        PERMUTATIONS, least=0, label="Permutations", help="permutations of colors, for p"
    )
    seed: int = seed_option("seed of random starts, permutations and draws")


@dataclass(frozen=True)
class SourceQuestion(StudyQuestion):
    """What is asked of sources of colors: of what says how unlike colors are."""

    device: ClassVar[str] = "auto"

    source: tuple[str, ...] = option(
        (), label="Sources", metavar="SOURCE", help=f"{SOURCES} (one of each kind)"
    )
    counting: Counting = part(Counting)
    reading: Reading = part(Reading)
    palette: Palette = part(Palette)
    dims: int = option(3, least=2, most=3, label="Layouts in", help="dimensions of layouts")
    precision: Precision = part(Precision)

    def of(self: S, *sources: str) -> S:
        """Return the same question about these sources, without the options that none of them
        has.
        """
        foreign = foreign_options(sources)
        kept = {name: value for name, value in values_of(self).items() if name not in foreign}
        return build(type(self), kept | {"source": sources})


@dataclass(frozen=True)
class ColorLayout(SourceQuestion):
    """Where does a source put each color, beside where perception has it?"""

    command: ClassVar[str] = "color layout"


@dataclass(frozen=True)
class ColorAgreement(SourceQuestion):
    """Do eyes, pixels and words have the same geometry of color?"""

    command: ClassVar[str] = "color agreement"

    bootstrap: int = draws_option(
        DRAWS,
        least=0,
        label="Draws of colors",
        help="draws of colors, for the 95 %% interval of each agreement",
    )
    k: int = option(
        K,
        least=1,
        most=MOST_STIMULI,
        label="Nearest colors",
        help="nearest colors that two sources may share",
    )


@dataclass(frozen=True)
class ColorModels(StudyQuestion):
    """Do better language models know color better?"""

    command: ClassVar[str] = "color models"
    device: ClassVar[str] = "auto"

    reading: Reading = part(Reading)
    palette: Palette = part(Palette)
    precision: Precision = part(Precision)


COUNTED = ("by", "radius", "pairs", "grid", "side")  # of pixels alone
OWN: dict[SourceKind, tuple[str, ...]] = {  # options that belong to a kind of source
    "perception": (),
    "pixels": (*COUNTED, "smoothing", "least"),
    "captions": ("smoothing", "least"),
    "language": ("layer", "sentences"),
    "vectors": (),
}


def foreign_options(sources: tuple[str, ...]) -> set[str]:
    """Return the options that none of these sources has.

    The counts that come with the project have a radius, pairs and a grid of their own.
    """
    own = {name for source in sources for name in OWN[kind_of(source)]}
    if not any(kind_of(one) == "pixels" and one != PIXELS + SHIPPED for one in sources):
        own -= {"radius", "pairs", "grid", "side"}
    return {name for names in OWN.values() for name in names} - own
