"""Where the training of adapters starts: the coordinates in which an encoder's weights are learned,
and the first weights.

Weak encoders share a few directions of small variance. From random weights, training fits the large
ones by chance before it has found those; canonical correlation knows them at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float64, Int64

from core.questions.adapters.maps.model import Parts, Settings
from core.questions.adapters.retrieval import rank_own
from core.spaces.bases import center, span

RANKS = tuple(2**power for power in range(1, 11))  # directions that canonical correlation may keep
POWER = 4  # of the correlations, by which canonical variates are weighted

Space = Float[np.ndarray, "n _"]


class White(NamedTuple):
    """Coordinates of an encoder's vectors x, (x − middle) · turn, that are uncorrelated over the
    training stimuli and of variance 1 there, those of the largest principal axes first.
    """

    middle: Float64[np.ndarray, "d"]
    turn: Float64[np.ndarray, "d r"]

    def of(self, space: Float[np.ndarray, "n d"]) -> Float64[np.ndarray, "n r"]:
        """Return the coordinates of some vectors."""
        coordinates: np.ndarray = (space.astype(np.float64) - self.middle) @ self.turn
        return coordinates


class Start(NamedTuple):
    """Where the weights of one encoder start: `base + learned`, in `coordinates`. Training changes
    `learned` alone, and decay pulls it to 0.
    """

    coordinates: White
    base: Float64[np.ndarray, "r width"]
    learned: Float64[np.ndarray, "r width"]


def set_out(
    spaces: Mapping[str, Space], parts: Parts, settings: Settings, *, seed: int
) -> dict[str, Start]:
    """Return where each encoder's weights start.

    canonical: at the canonical variates of all encoders, see `canonical_maps`. random: at normal
    weights of variance 1/width on vectors of root mean square length 1. Without offset, vectors are
    not centered: canonical directions are then orthogonal to their mean. Raises MetricError where
    training stimuli lie on one line.
    """
    if settings.start == "random":
        dice = np.random.default_rng(seed)
        return {name: _random(space, parts, settings, dice) for name, space in spaces.items()}
    maps = canonical_maps([*spaces.values()], parts, offset=settings.offset)
    return {
        name: _canonical(white, weight, settings.width)
        for name, (white, weight) in zip(spaces, maps, strict=True)
    }


def canonical_maps(
    spaces: Sequence[Space], parts: Parts, *, offset: bool = True
) -> list[tuple[White, Float64[np.ndarray, "_ _"]]]:
    """Return the coordinates of each space, and in its first ones the weights of the canonical
    variates of all, each times the fourth power of its correlation.

    How many principal directions are kept is chosen in RANKS, by the place at which a validation
    stimulus comes in retrieval, the mean over directions; without that the variates of wide spaces
    correlate perfectly by chance. offset: as of `whiten`, which raises MetricError.
    """
    whites = [whiten(space, parts.train, offset=offset) for space in spaces]
    seen, checked = (
        [white.of(space[rows]) for white, space in zip(whites, spaces, strict=True)]
        for rows in (parts.train, parts.validation)
    )
    most = min(side.shape[1] for side in seen)
    ways = [correlate(seen, rank) for rank in sorted({min(rank, most) for rank in RANKS})]
    best = min(ways, key=lambda weights: _mean_rank(checked, weights))
    return [
        (White(white.middle, white.turn[:, : len(weight)]), weight)
        for white, weight in zip(whites, best, strict=True)
    ]


def whiten(space: Space, train: Int64[np.ndarray, "_"], *, offset: bool = True) -> White:
    """Return white coordinates over the training stimuli; no axis that is rounding alone.

    offset: False for coordinates that need no middle, which leave out what lies along the mean.
    Raises MetricError where the stimuli lie on one line.
    """
    seen = space[train]
    middle = seen.mean(axis=0, dtype=np.float64)
    unit = middle / (np.linalg.norm(middle) or 1)
    if not offset:
        seen = (seen - np.outer(seen @ unit, unit)).astype(space.dtype)
    basis = span(center(seen))
    length = float(np.abs(seen).max())  # the unit of `center`
    turn = basis.axes.T / basis.sizes * (len(seen) ** 0.5 / length)
    if offset:
        return White(middle, turn)
    return White(np.zeros_like(middle), turn - np.outer(unit, unit @ turn))


def correlate(
    sides: Sequence[Float64[np.ndarray, "n _"]], rank: int
) -> list[Float64[np.ndarray, "_ _"]]:
    """Return the weights of each side's first `rank` white coordinates that give the canonical
    variates of all sides, times their correlations to the power POWER.

    Of two sides these are Hotelling's; of more, the variates whose sum varies most (MAXVAR), whose
    correlation is the mean over pairs. Source: Kettenring 1971; weights after Gong, Ke, Isard,
    Lazebnik 2014.
    """
    kept = [side[:, :rank] for side in sides]
    joint = np.hstack(kept)
    values, vectors = np.linalg.eigh(joint.T @ joint / len(joint))
    shared = (values[::-1][:rank] - 1) / (len(sides) - 1)
    weights = vectors[:, ::-1][:, :rank] * shared.clip(min=0) ** POWER
    return np.split(weights, np.cumsum([side.shape[1] for side in kept])[:-1])


def _mean_rank(
    sides: Sequence[Float64[np.ndarray, "n _"]], weights: Sequence[Float64[np.ndarray, "_ _"]]
) -> float:
    """Return at which place a stimulus comes among all, averaged over directions of retrieval."""
    views = [side[:, : len(weight)] @ weight for side, weight in zip(sides, weights, strict=True)]
    return float(np.mean([rank_own(x, y).places.mean() for x, y in permutations(views, 2)]))


def _canonical(white: White, weight: Float64[np.ndarray, "r k"], width: int) -> Start:
    """Return a start at canonical weights, scaled to vectors of root mean square length 1."""
    kept = min(width, weight.shape[1])
    base = np.zeros((len(weight), width))
    base[:, :kept] = weight[:, :kept] / np.linalg.norm(weight[:, :kept])
    return Start(white, base, np.zeros_like(base))


def _random(space: Space, parts: Parts, settings: Settings, dice: np.random.Generator) -> Start:
    seen = space[parts.train].astype(np.float64)
    middle = seen.mean(axis=0) * settings.offset
    length = np.sqrt(((seen - middle) ** 2).sum(axis=1).mean())
    learned = dice.standard_normal((seen.shape[1], settings.width)) / settings.width**0.5
    return Start(White(middle, np.eye(seen.shape[1]) / length), np.zeros_like(learned), learned)
