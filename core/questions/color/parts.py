"""The options of the color questions: which sources, how they count, read and are laid out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.options import draws_option, option, seed_option

SURVEYS = ("xkcd", "uw")  # which tell the colors that words mean
RADIUS, PAIRS, GRID = 4.0, 300_000, 8  # of pairs of pixels
GRIDS = (2, 16)  # fewest and most steps: of 16³ colors a table of all pairs takes 134 MB
SMOOTHING = 1.0  # added to each count
SHIPPED = "cifar10"  # the counts that come with the project
SLOT = "<col>"
SENTENCES = ("The color <col>.", "This color is <col>.", "The color of this thing is <col>.")
STARTS = 1000  # of a layout
K, PERMUTATIONS, DRAWS = 3, 1000, 1000  # of an agreement

PERCEPTION, CAPTIONS = "perception", "captions"
PIXELS, VECTORS = "pixels:", "vectors:"  # followed by what is counted, or by a file
BEST, WORST = "best", "worst"  # language models, by competence
LARGEST = "vision"  # the largest trained vision model
SOURCES = (
    "perception, captions, pixels:IMAGES (cifar10, a dataset, a folder or an .npz file),"
    " vectors:FILE, vision (the largest vision model), or a model: best, worst, one of the dataset,"
    " simcse, roberta, hf:ID"
)

Survey = Literal["xkcd", "uw"]
SourceKind = Literal["perception", "pixels", "captions", "model", "vectors"]


def kind_of(source: str) -> SourceKind:
    """Return what kind of source a name means."""
    if source == PERCEPTION:
        return "perception"
    if source == CAPTIONS:
        return "captions"
    if source.startswith(PIXELS):
        return "pixels"
    return "vectors" if source.startswith(VECTORS) else "model"


@dataclass(frozen=True)
class Counting:
    """How colors that occur together are counted, and what they count for."""

    by: Literal["words", "cells"] = option(
        "words",
        label="Pixels as",
        help="lay out color words, or the colors of the grid themselves",
    )
    radius: float = option(
        RADIUS,
        least=1,
        most=1_024,
        label="Radius",
        help="most pixels between the two of a pair",
    )
    pairs: int = option(
        PAIRS,
        least=0,
        most=1_000_000_000,
        label="Pixel pairs",
        help="pairs of pixels to draw",
    )
    grid: int = option(
        GRID,
        least=GRIDS[0],
        most=GRIDS[1],
        label="Grid steps",
        help="steps per channel of the color grid",
    )
    side: int | None = option(
        None,
        least=2,
        most=4_096,
        label="Shrink to",
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
        "xkcd", label="Color survey", help="the survey that says which color a word means"
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
