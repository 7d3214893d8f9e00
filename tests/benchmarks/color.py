"""How long it takes to count pairs of pixels and to lay colors out from a thousand starts.

    python -m tests.benchmarks.color

Pictures are noise of CIFAR-10's size and number; dissimilarities are those of random points,
roughened so that no layout fits.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import pdist, squareform

from core.questions.color.geometry.cooccurrence import PAIRS, count_colors
from core.questions.color.geometry.layout import STARTS, lay_out


def make_pictures(count: int = 10_000, side: int = 32) -> list[np.ndarray]:
    """Return pictures of noise."""
    return list(np.random.default_rng(0).integers(0, 256, (count, side, side, 3), dtype=np.uint8))


def make_dissimilarities(n: int) -> np.ndarray:
    """Return dissimilarities of n colors that no points in three dimensions have."""
    rng = np.random.default_rng(n)
    return squareform(pdist(rng.normal(size=(n, 8))) + rng.random(n * (n - 1) // 2))


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    pictures = make_pictures()
    lay_out(make_dissimilarities(5), starts=1)  # compiles the loop, once per machine
    print(f"{os.cpu_count()} cores")
    print(
        f"{PAIRS:,} pairs of {len(pictures):,} pictures counted:"
        f" {seconds(lambda: count_colors(pictures)):.2f} s (at most 2)"
    )
    for n, most in ((24, 5), (200, 60)):
        target = make_dissimilarities(n)
        print(
            f"{STARTS:,} starts of {n} colors: {seconds(lambda target=target: lay_out(target)):.2f}"
            f" s (at most {most})"
        )


if __name__ == "__main__":
    main()
