"""What a stitch loses, with its interval over stimuli, and the way through two networks that loses
least.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64, Int64

from core.errors import InputError

DRAWS, SEED, LEVEL = 1000, 0, 0.95
Scores = Float64[np.ndarray, " n"]


def summarize(scores: Scores, own: Scores, guess: Scores) -> dict[str, float]:
    """Return score (F's mean), own (g's), chance (of who sees nothing), and with 95 % intervals

        penalty = own − score,    lost = (own − score) / (own − chance).

    Nothing is lost at 0; at 1 F does no better than who sees nothing, and above it worse. Intervals
    are percentiles over 1,000 draws of the stimuli with replacement, the same for F, g and chance.
    lost is NaN where g itself does no better than chance.
    """
    means = np.array([scores.mean(), own.mean(), guess.mean()])
    drawn = np.random.default_rng(SEED).multinomial(len(own), np.ones(len(own)) / len(own), DRAWS)
    draws = drawn @ np.stack([scores, own, guess], axis=1) / len(own)
    penalty, lost = means[1] - means[0], float(_lost(means[None])[0])
    ends = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    penalties = np.quantile(draws[:, 1] - draws[:, 0], ends)
    losses = np.quantile(_lost(draws), ends) if np.isfinite(lost) else [np.nan, np.nan]
    named = {"score": means[0], "own": means[1], "chance": means[2], "penalty": penalty}
    named |= {"penalty_low": penalties[0], "penalty_high": penalties[1]}
    named |= {"lost": lost, "lost_low": losses[0], "lost_high": losses[1]}
    return {name: float(value) for name, value in named.items()}


def _lost(means: Float64[np.ndarray, "draws 3"]) -> Float64[np.ndarray, " draws"]:
    score, own, chance = means.T
    reach = own - chance
    lost: np.ndarray = (own - score) / np.where(reach > 0, reach, np.nan)
    return lost


def least_path(penalties: Float64[np.ndarray, "x y"]) -> Int64[np.ndarray, " y"]:
    """Return, for each layer of y, the layer of x that stands for it at the least total penalty,
    never an earlier one than for the layer before; of equal ways that of the earliest layers.

    By dynamic programming: least(i, j) = p(i, j) + min over i′ ≤ i of least(i′, j − 1). Raises
    InputError for a penalty that is NaN.
    """
    if not np.isfinite(penalties).all():
        raise InputError("a way needs the penalty of every pair of layers; stitch the others first")
    total = penalties[:, 0]
    came = []
    for column in penalties.T[1:]:
        best = np.minimum.accumulate(total)
        first = np.array([int(np.argmax(total == value)) for value in best])
        came.append(first)
        total = column + best
    path = [int(np.argmin(total))]
    for first in reversed(came):
        path.append(int(first[path[-1]]))
    return np.array(path[::-1], dtype=np.int64)
