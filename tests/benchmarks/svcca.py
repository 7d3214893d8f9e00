"""`python -m tests.benchmarks.svcca`: how long SVCCA of all pairs of layers takes, beside the steps
of the released code, which starts anew for every pair.

Those steps are: standardize both spaces, take a random decomposition of rank 10, fit a canonical
correlation analysis to both sets of directions and take the mean correlation of its variates. Their
time is that of a few pairs, times the number of pairs. Features are random, with a spectrum that
falls as that of trained models does: the i-th direction is 1/i as strong.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import product

import numpy as np
import torch
from sklearn.cross_decomposition import CCA

from core.metrics.engines import make_engine

STIMULI, RANK, CALLS = 1024, 10, 4
CASES = (  # layers and their width, of two models
    ((12, 384), (12, 768)),
    ((12, 768), (12, 768)),
    ((25, 768), (33, 768)),
    ((12, 1024), (12, 4096)),
)


def main() -> None:
    print(f"n = {STIMULI}; layers of a width; processor seconds, and the ratio of both")
    for sides in CASES:
        x, y = (draw_layers(*side, seed=seed) for seed, side in enumerate(sides))
        engine = make_engine("svcca", rank=RANK)
        start = time.process_time()
        engine.scores(engine.prepare(x), engine.prepare(y))
        ours = time.process_time() - start
        pairs = list(product(x, y))
        start = time.process_time()
        for pair in pairs[:: len(pairs) // CALLS][:CALLS]:
            released(*pair)
        theirs = (time.process_time() - start) / CALLS * len(pairs)
        case = " × ".join(f"{layers} of {width}" for layers, width in sides)
        print(f"{case:24}{ours:8.2f}{theirs:8.2f}{theirs / ours:7.1f} ×", flush=True)


def draw_layers(count: int, width: int, *, seed: int) -> Sequence[np.ndarray]:
    """Draw a model's layers, which share what all models see."""
    shared = np.random.default_rng(100).standard_normal((STIMULI, 300))
    rng = np.random.default_rng(seed)
    strengths = 1 / np.arange(1, 301)
    layers = []
    for _ in range(count):
        seen = (shared + rng.standard_normal(shared.shape)) * strengths
        layer = seen @ rng.standard_normal((300, width))
        layers.append((layer + 0.01 * rng.standard_normal(layer.shape)).astype(np.float32))
    return layers


def released(x: np.ndarray, y: np.ndarray) -> float:
    """Score one pair by the steps of the released code."""
    directions = []
    for space in (x, y):
        rows = torch.from_numpy(space)
        rows = torch.nn.functional.normalize(rows, dim=1)
        rows = (rows - rows.mean(dim=0)) / (rows.std(dim=0) + 1e-8)
        directions.append(torch.svd_lowrank(rows, q=RANK)[0].numpy())
    variates = CCA(n_components=RANK).fit(*directions).transform(*directions)
    pairs = zip(*(each.T for each in variates), strict=True)
    return float(np.mean([np.corrcoef(*pair)[0, 1] for pair in pairs]))


if __name__ == "__main__":
    main()
