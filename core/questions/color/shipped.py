"""The table of counts that comes with the project: colors of CIFAR-10's test images, without the
images.

    python -m core.questions.color.shipped IMAGES.npz

makes it again.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from jaxtyping import Int64

from core.questions.color.counts import count_colors
from core.questions.color.parts import GRID, RADIUS
from core.questions.color.photos import read_pictures
from core.settings import ROOT

FILE = ROOT / "data" / "color" / "cifar10_counts.npz"
PAIRS, SEED = 30_000_000, 0  # a hundred times the paper's, since rare colors meet rarely


def read_counts() -> Int64[np.ndarray, "cells cells"]:
    """Return how often the colors of CIFAR-10 meet: PAIRS pairs of pixels at most RADIUS apart, on
    a grid of GRID steps.
    """
    with np.load(FILE, allow_pickle=False) as file:
        first, second, count = (
            file[name].astype(np.int64) for name in ("first", "second", "count")
        )
    table = np.zeros((GRID**3, GRID**3), np.int64)
    table[first, second] = table[second, first] = count
    return table


def write_counts(images: Path, file: Path = FILE) -> None:
    """Count the colors of pictures and write the table: the pairs of cells that met, each once, and
    how often.
    """
    table = count_colors(read_pictures(images), radius=RADIUS, pairs=PAIRS, grid=GRID, seed=SEED)
    first, second = np.nonzero(np.triu(table))
    count = table[first, second].astype(np.uint32)
    np.savez_compressed(
        file, first=first.astype(np.uint16), second=second.astype(np.uint16), count=count
    )


if __name__ == "__main__":
    write_counts(Path(sys.argv[1]))
