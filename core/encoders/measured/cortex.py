"""A simulated cortex: voxels that see the known factors of a made world through noise, so that a
brain stands beside models wherever reality is known. It says nothing of real brains.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, Float32

VERSION = 1  # raise it when subjects get other voxels
SIMULATED = "simulated:"  # what the spec of a subject begins with
TRIALS, VOXELS = 4, 200
# the planted reliability of each subject's voxels, over all trials
SUBJECTS: Mapping[str, float] = {"cortex-1": 0.8, "cortex-2": 0.6, "cortex-3": 0.4}


def describe_subject(name: str) -> dict[str, Any]:
    """Return what a subject's card says of how its voxels were made."""
    planted = {"reliability": SUBJECTS[name], "trials": TRIALS, "voxels": VOXELS}
    return {"simulated": {"version": VERSION, **planted}}


def measure_subject(name: str, world: Float[np.ndarray, "n f"]) -> Float32[np.ndarray, "r n d"]:
    """Return a subject's voxels in each trial."""
    seed = list(SUBJECTS).index(name)
    return simulate(world, reliability=SUBJECTS[name], trials=TRIALS, units=VOXELS, seed=seed)


def simulate(
    world: Float[np.ndarray, "n f"], *, reliability: float, trials: int, units: int, seed: int
) -> Float32[np.ndarray, "r n d"]:
    """Return noisy linear views of a world's factors, one per unit and the same in each trial.

    Every factor and every unit without its noise has variance 1 over the stimuli. reliability: of
    the mean over all trials, in (0, 1): signal 1, noise of one trial r (1 − ρ) / ρ.
    """
    rng = np.random.default_rng(seed)
    signal = _standard(_standard(world) @ rng.normal(size=(world.shape[1], units)))
    spread = np.sqrt(trials * (1 - reliability) / reliability)
    noise = rng.normal(scale=spread, size=(trials, *signal.shape))
    return (signal + noise).astype(np.float32)


def _standard(columns: Float[np.ndarray, "n _"]) -> Float[np.ndarray, "n _"]:
    """Center columns and scale them to variance 1; a constant one becomes 0."""
    around = columns - columns.mean(axis=0, dtype=np.float64)
    spread = around.std(axis=0)
    scaled: np.ndarray = around / np.where(spread > 0, spread, 1)
    return scaled
