"""Made spaces of a known latent, and how long it takes to translate one into another."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache

import numpy as np
from jaxtyping import Float64

from core.questions.translation.measuring import measure_pairs
from core.questions.translation.question import Latent, Matching

DIMS, FEW = 16, 8  # dimensions and stimuli of what a machine is timed with

Made = Float64[np.ndarray, "n d"]


def made_spaces(
    size: int, dims: int, noise: float, rng: np.random.Generator, *, latent: Latent
) -> tuple[Made, Made]:
    """Return two spaces of one latent, each with noise of its own: z + noise · ε, ε standard
    normal.

    The squared length of z is `dims` on average, as that of ε. latent: `normal`, z is standard
    normal as well, so that every rotation of it is as likely; `skewed`, direction j is exponential
    with a variance in proportion to 1/j, so that no rotation or reflection leaves it as it is.
    """
    z = make_latent(size, dims, rng, latent)
    x, y = (z + noise * rng.normal(size=z.shape) for _ in range(2))
    return x, y


def make_latent(size: int, dims: int, rng: np.random.Generator, latent: Latent) -> Made:
    """Return a latent; see `made_spaces`."""
    if latent == "normal":
        return rng.normal(size=(size, dims))
    variances = 1 / np.arange(1, dims + 1)
    scales = np.sqrt(variances * dims / variances.sum())
    skewed: Made = (rng.exponential(size=(size, dims)) - 1) * scales
    return skewed


@cache
def seconds_for(size: int, matching: Matching) -> float:
    """Return about how many seconds it takes to measure one pair of spaces over all draws, at the
    pace that this machine has now.
    """
    spent = {}
    for n in (min(size, FEW), size):  # the first imports what it needs
        pair = made_spaces(n, DIMS, 1.0, np.random.default_rng(0), latent="skewed")
        began = time.perf_counter()
        measure_pairs([pair], replace(matching, k=min(matching.k, n - 1)))
        spent[n] = time.perf_counter() - began
    return spent[size] * matching.draws
