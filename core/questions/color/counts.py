"""Which colors occur together, in images or in captions, and what the counts say of how colors
belong together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
from jaxtyping import Float, Float64, Int64, Integer, UInt8

from core.errors import InputError, MetricError
from core.progress import tell_each
from core.settings import ROOT

RADIUS, PAIRS, GRID = 4.0, 300_000, 8  # of pairs of pixels
GRIDS = (2, 16)  # fewest and most steps: of 16³ colors a table of all pairs takes 134 MB
SMOOTHING = 1.0  # added to each count
CIFAR10 = ROOT / "data" / "color" / "cifar10_counts.npz"  # of the test images, with seed 0
CIFAR10_PAIRS = 30_000_000  # a hundred times the paper's, since rare colors meet rarely
_BATCH = 1_000_000  # pairs that are in memory at a time

Picture = UInt8[np.ndarray, "_ _ 3"]  # (height, width, RGB); pictures differ in size
Colors = UInt8[np.ndarray, "pairs 3"]


def read_counts() -> Int64[np.ndarray, "cells cells"]:
    """Return how often the colors of CIFAR-10 meet, as `count_colors` of CIFAR10_PAIRS."""
    with np.load(CIFAR10, allow_pickle=False) as file:
        first, second, count = (
            file[name].astype(np.int64) for name in ("first", "second", "count")
        )
    table = np.zeros((GRID**3, GRID**3), np.int64)
    table[first, second] = table[second, first] = count
    return table


def offsets(radius: float) -> Int64[np.ndarray, "offsets 2"]:
    """Return every step (down, right) to another pixel at most `radius` away, Euclidean; its
    reverse is among them.
    """
    reach = int(radius)
    down, right = np.mgrid[-reach : reach + 1, -reach : reach + 1].reshape(2, -1)
    lengths = down**2 + right**2
    steps: np.ndarray = np.stack([down, right], axis=1)[
        (lengths > 0) & (lengths <= radius**2)
    ].astype(np.int64)
    return steps


def sample_pairs(
    pictures: Sequence[Picture], *, radius: float, pairs: int, rng: np.random.Generator
) -> tuple[Colors, Colors]:
    """Draw pairs of pixels that lie at most `radius` pixels apart in one picture, and return their
    colors.

    Each picture is as likely as any other, and within it each such pair of different pixels.
    Drawn with replacement. Raises InputError for a picture too small to hold a pair.
    """
    drawn = rng.integers(len(pictures), size=pairs)
    sizes = np.array([picture.shape[:2] for picture in pictures])
    starts = np.concatenate([[0], sizes.prod(axis=1).cumsum()[:-1]])
    steps, places = offsets(radius), np.empty((2, pairs), np.int64)
    for size in np.unique(sizes[drawn], axis=0):
        mine = np.flatnonzero((sizes[drawn] == size).all(axis=1))
        for end, at in zip(places, _draw_places(rng, steps, size, len(mine)), strict=True):
            end[mine] = starts[drawn[mine]] + at @ (size[1], 1)
    pixels = np.concatenate([picture.reshape(-1, 3) for picture in pictures])
    return pixels[places[0]], pixels[places[1]]


def _draw_places(
    rng: np.random.Generator,
    steps: Int64[np.ndarray, "offsets 2"],
    size: Int64[np.ndarray, "2"],
    count: int,
) -> tuple[Int64[np.ndarray, "count 2"], Int64[np.ndarray, "count 2"]]:
    """Draw pixels and their partners: first a step, in proportion to the places where it fits, then
    one of these places.
    """
    room = np.maximum(size - np.abs(steps), 0)
    ways = room.prod(axis=1)
    if not ways.any():
        raise InputError(
            f"a picture of {size[1]} × {size[0]} pixels holds no pair of pixels; leave it out"
        )
    chosen = rng.choice(len(steps), size=count, p=ways / ways.sum())
    corner = (rng.random((count, 2)) * room[chosen]).astype(np.int64)
    here = corner + np.maximum(-steps[chosen], 0)
    return here, here + steps[chosen]


def cells(rgb: Colors, *, grid: int = GRID) -> Int64[np.ndarray, " pairs"]:
    """Return the cell of each color on a grid of `grid` equal steps per channel: (r · grid + g) ·
    grid + b, 0 … grid³ − 1.

    Raises InputError for a grid outside GRIDS.
    """
    if not GRIDS[0] <= grid <= GRIDS[1]:
        raise InputError(f"a grid has {GRIDS[0]} to {GRIDS[1]} steps per channel; got {grid}")
    red, green, blue = rgb.astype(np.int64).T * grid // 256
    numbers: np.ndarray = (red * grid + green) * grid + blue
    return numbers


def count_colors(
    pictures: Sequence[Picture],
    *,
    radius: float = RADIUS,
    pairs: int = PAIRS,
    grid: int = GRID,
    seed: int = 0,
) -> Int64[np.ndarray, "cells cells"]:
    """Count how often the colors of a grid meet in `pairs` sampled pairs of pixels; see
    `sample_pairs`, `cells`, `count_pairs`.
    """
    rng = np.random.default_rng(seed)
    table = np.zeros((grid**3, grid**3), np.int64)
    for done in tell_each(range(0, pairs, _BATCH), "batches of pairs of pixels"):
        drawn = sample_pairs(pictures, radius=radius, pairs=min(_BATCH, pairs - done), rng=rng)
        table += count_pairs(*(cells(colors, grid=grid) for colors in drawn), kinds=grid**3)
    return table


def merge(
    counts: Integer[np.ndarray, "n n"], into: Integer[np.ndarray, " n"], *, kinds: int
) -> Int64[np.ndarray, "kinds kinds"]:
    """Return the table of counts in which the kinds that `into` gives one number to are one
    kind.
    """
    member = np.zeros((len(counts), kinds), np.int64)
    member[np.arange(len(counts)), into] = 1
    merged: np.ndarray = member.T @ counts @ member
    return merged


def cell_centers(numbers: Integer[np.ndarray, " n"], *, grid: int) -> Float64[np.ndarray, "n 3"]:
    """Return the sRGB color (0 … 255) in the middle of each cell: of the 8-bit colors that fall
    into it, the mean.
    """
    steps = np.stack([numbers // grid**2, numbers // grid % grid, numbers % grid], axis=1)
    lowest, highest = -(-steps * 256 // grid), -(-(steps + 1) * 256 // grid) - 1
    centers: np.ndarray = (lowest + highest) / 2
    return centers


def count_pairs(
    first: Integer[np.ndarray, " pairs"], second: Integer[np.ndarray, " pairs"], *, kinds: int
) -> Int64[np.ndarray, "kinds kinds"]:
    """Count how often two kinds meet, in either order: a symmetric table whose sum is twice the
    number of pairs.
    """
    table = np.bincount(first.astype(np.int64) * kinds + second, minlength=kinds**2).reshape(
        kinds, kinds
    )
    return table + table.T


def pmi(
    counts: Integer[np.ndarray, "n n"], *, smoothing: float = SMOOTHING
) -> Float64[np.ndarray, "n n"]:
    """Return the pointwise mutual information of every two kinds: ln p(A, B) / (p(A) p(B)), in
    nats.

    p(A, B): the counts plus `smoothing` in every cell, over their sum; p(A): its sum over B. With
    smoothing, a pair that was never seen is as if seen `smoothing` times; without, it would be −∞
    and is refused. counts: symmetric. Higher is more often together than by chance, 0 is chance.
    Symmetric. Raises MetricError for negative smoothing, an asymmetric table, a kind that was never
    seen, and unseen pairs without smoothing. Source: Church, Hanks 1990; Huh et al. 2024, appendix
    D.
    """
    if smoothing < 0:
        raise MetricError(f"smoothing is 0 or more; got {smoothing}")
    if not np.array_equal(counts, counts.T):
        raise MetricError("a symmetric table of counts expected: a pair is counted in both orders")
    if not counts.any(axis=1).all():
        raise MetricError(
            f"kind {int(np.flatnonzero(~counts.any(axis=1))[0])} was never seen; leave it out of"
            " the table"
        )
    joint = (counts + smoothing) / (counts.sum() + smoothing * counts.size)
    if not joint.all():
        raise MetricError(
            f"{np.count_nonzero(joint == 0) // 2} pairs were never seen; smooth, or keep only kinds"
            " seen more often"
        )
    alone = joint.sum(axis=1)
    information: np.ndarray = np.log(joint / np.outer(alone, alone))
    return information


def dissimilarity(information: Float[np.ndarray, "n n"]) -> Float64[np.ndarray, "n n"]:
    """Return max PMI − PMI, the largest of all pairs (a kind with itself included); 0 on the
    diagonal, which no layout looks at.

    Source: Huh et al. 2024, appendix D.
    """
    apart: np.ndarray = information.max() - information.astype(np.float64)
    np.fill_diagonal(apart, 0)
    return apart


def often(
    counts: Integer[np.ndarray, "n n"], *, least: int, most: int
) -> Int64[np.ndarray, " kept"]:
    """Return the kinds that were seen at least `least` times, of those the `most` that were seen
    most often, by rising index.
    """
    seen = counts.sum(axis=1)
    enough = np.flatnonzero(seen >= max(least, 1))
    return np.sort(enough[np.argsort(-seen[enough], kind="stable")[:most]]).astype(np.int64)


def count_together(
    captions: Iterable[str], words: Sequence[str]
) -> Int64[np.ndarray, "words words"]:
    """Count how often two color words are in one caption, in either order; twice the same word
    counts on the diagonal. Words are whole, in lower or upper case.
    """
    numbers = {word: number for number, word in enumerate(words)}
    table = np.zeros((len(words), len(words)), np.int64)
    for caption in captions:
        found = re.findall(r"[a-z]+", caption.lower())
        for first, second in combinations([numbers[word] for word in found if word in numbers], 2):
            table[first, second] += 1
            table[second, first] += 1
    return table
