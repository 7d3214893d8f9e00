"""How long linear adapters take to train on wide encoders: python -m tests.benchmarks.adapters"""

from __future__ import annotations

import time

import numpy as np
import torch

from core.questions.adapters.maps.model import split
from core.questions.adapters.maps.training import train
from core.questions.adapters.retrieval import rank_own, recall

PAIRS, WIDTHS, STIMULI = 800, (1024, 1024), 1280


def make_spaces() -> dict[str, np.ndarray]:
    """Return two spaces of full rank that are linear maps of each other: training never stops
    early.
    """
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((STIMULI, WIDTHS[0]))
    return {
        "x": latent.astype(np.float32),
        "y": (latent @ rng.standard_normal(WIDTHS)).astype(np.float32),
    }


def main() -> None:
    spaces, parts = make_spaces(), split(STIMULI, pairs=PAIRS)
    for threads in (1, 2):
        torch.set_num_threads(threads)
        began = time.perf_counter()
        *_, last = train(spaces, parts)
        seconds = time.perf_counter() - began
        views = last.best.apply({name: space[parts.test] for name, space in spaces.items()})
        found = recall(rank_own(views["x"], views["y"]), 1)
        print(
            f"{PAIRS} pairs, widths {WIDTHS}, common space {last.best.width}: {last.number} passes"
            f" in {seconds:.1f} s on {threads} thread{'s' if threads > 1 else ''}; recall at 1"
            f" {found:.3f}"
        )


if __name__ == "__main__":
    main()
