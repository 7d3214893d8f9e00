"""Simulated measurements: noisy linear views of known factors, the same in each trial."""

from __future__ import annotations

import numpy as np


def standard(columns: np.ndarray) -> np.ndarray:
    spread = columns.std(axis=0)
    return (columns - columns.mean(axis=0)) / np.where(spread > 0, spread, 1)


def simulate(
    world: np.ndarray, *, reliability: float, trials: int, units: int, seed: int
) -> np.ndarray:
    """Return trials of units whose mean over all trials has a reliability: the signal has variance
    1, the noise of one trial r (1 − ρ) / ρ.
    """
    rng = np.random.default_rng(seed)
    signal = standard(standard(world) @ rng.normal(size=(world.shape[1], units)))
    spread = np.sqrt(trials * (1 - reliability) / reliability)
    return (signal + rng.normal(scale=spread, size=(trials, *signal.shape))).astype(np.float32)
