"""`python -m tests.benchmarks.dispersion [STORE]`: seconds that a consensus takes, and a page's
answer to another set size.

Random features with a part in common stand for four wide models; the rest is of a store of the
Cave, which keeps what is found.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd
from jaxtyping import Float32

from core.questions.asking import ask
from core.questions.dispersion.question import Ranking, SetEffect, Spaces, StimulusDispersion
from core.statistics.procrustes import generalized_procrustes
from core.store import Store
from core.study.spaces import default_spaces, find_space
from core.study.study import Study

WIDTHS = (1280, 1280, 1280, 1536)
SIZES = (256, 128, 200)

T = TypeVar("T")


def main(n: int, widths: Sequence[int], store: Path | None) -> None:
    """Print what each part costs; the store is copied, so that nothing is answered from what it
    kept.
    """
    rounds = timed(
        f"consensus of {len(widths)} spaces, n = {n}, widths {min(widths)} to {max(widths)}",
        lambda: wide(n, widths),
    )
    print(f"  {rounds} rounds")
    if store:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(
                store, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("alignment-*")
            )
            answer(Study(Store(Path(folder)), "cave"))


def wide(n: int, widths: Sequence[int]) -> int:
    """Return how many rounds it takes."""
    return len(generalized_procrustes(spaces(n, widths)).objective)


def spaces(n: int, widths: Sequence[int]) -> list[Float32[np.ndarray, "n _"]]:
    """Return spaces of a part in common and a part of their own."""
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((n, 200)) / np.sqrt(np.arange(1, 201))
    return [
        (shared @ rng.standard_normal((200, d)) + 2 * rng.standard_normal((n, d))).astype(
            np.float32
        )
        for d in widths
    ]


def answer(study: Study) -> None:
    """Print what the consensus of all vision models costs, then the effect on alignment at one set
    size after another.
    """

    def disperse(spaces: Sequence[str]) -> pd.DataFrame:
        return ask(StimulusDispersion(joint=Spaces(tuple(spaces))), study)

    def effect(size: int) -> pd.DataFrame:
        return ask(SetEffect(ranking=Ranking(tuple(four)), size=size), study)

    every = [str(find_space(study, name)) for name in study.readers("image")]
    timed(f"consensus of all {len(every)} vision models", lambda: disperse(every))
    four = default_spaces(study)
    timed("consensus of the default models", lambda: disperse(four))
    for size in SIZES:
        timed(f"effect on sets of {size}", lambda size=size: effect(size))
    timed(f"the same sets of {size} again", lambda: effect(size))


def timed(what: str, do: Callable[[], T]) -> T:
    """Print how long something takes, on the clock and of processors, and return what it gives."""
    began, worked = time.perf_counter(), time.process_time()
    found = do()
    print(
        f"{what}: {time.perf_counter() - began:.2f} s ({time.process_time() - worked:.2f} s of"
        " processors)",
        flush=True,
    )
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "store",
        nargs="?",
        type=Path,
        help="a store of the Cave; without one only the wide consensus is timed",
    )
    given = parser.parse_args()
    main(1024, WIDTHS, given.store)
