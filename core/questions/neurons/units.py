"""Units that recur: features of two models that rise and fall together over the same stimuli.

A unit is one feature of one layer. Two units are partners where each is, of all units of the other
model, the one it is most correlated with. Source: Dravid et al. 2023 (Rosetta neurons: Pearson's
correlation and mutual nearest neighbors over all layers of two models).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32, Float64, Int64

from core.errors import MetricError
from core.spaces.kernels import ROUNDING

BLOCK = 2048  # units of either model that are correlated at once: 16 MB


@dataclass(frozen=True)
class Units:
    """The units of a model over n stimuli, without those that never vary.

    values: centered and of length 1, so that inner products are Pearson correlations. layers,
    numbers: of each unit its layer and its place there, from 0.
    """

    values: Float32[np.ndarray, "n u"]
    layers: Int64[np.ndarray, " u"]
    numbers: Int64[np.ndarray, " u"]

    @property
    def count(self) -> int:
        """Return how many units vary."""
        return len(self.layers)


@dataclass(frozen=True)
class Partners:
    """Pairs of units that are each other's best, the most correlated first.

    x, y: places among the units of either model. r: Pearson's, in [−1, 1]. best_x, best_y: the mean
    over all units of either model of their highest correlation with any unit of the other, whether
    each is the other's best or not.
    """

    x: Int64[np.ndarray, " p"]
    y: Int64[np.ndarray, " p"]
    r: Float32[np.ndarray, " p"]
    best_x: float
    best_y: float


def units_of(layers: Mapping[int, Float[np.ndarray, "n _"]]) -> Units:
    """Return the units of some layers of a model; raises MetricError where none varies."""
    values, places = [], []
    for layer, space in layers.items():
        around = space - space.mean(axis=0, dtype=np.float64)
        lengths = np.linalg.norm(around, axis=0)
        rounding = ROUNDING * np.sqrt(len(space)) * np.abs(space).max(axis=0)
        varying = np.flatnonzero(lengths > rounding)
        values.append((around[:, varying] / lengths[varying]).astype(np.float32))
        places.append(np.stack([np.full(len(varying), layer), varying]))
    layer, number = np.concatenate(places, axis=1)
    if not len(layer):
        raise MetricError(
            "units that vary over the stimuli expected; in these layers all are constant: choose"
            " other layers"
        )
    return Units(np.concatenate(values, axis=1), layer, number)


def find_partners(x: Units, y: Units) -> Partners:
    """Return the units of x and y that are each other's best: no other unit of y is more correlated
    with that of x, and none of x with that of y; of equals the first counts.
    """
    best_x, best_y = _Best(x.count), _Best(y.count)
    for rows, columns, r in _correlations(x, y):
        best_x.note(rows, columns.start, r)
        best_y.note(columns, rows.start, r.T)
    mutual = np.flatnonzero(best_y.at[best_x.at] == np.arange(x.count))
    order = mutual[np.argsort(-best_x.r[mutual], kind="stable")]
    means = (float(best.r.mean(dtype=np.float64)) for best in (best_x, best_y))
    return Partners(order, best_x.at[order], best_x.r[order], *means)


def null_maxima(x: Units, y: Units, orders: Int64[np.ndarray, "P n"]) -> Float64[np.ndarray, " P"]:
    """Return the highest correlation of any unit of x with any of y, the stimuli of y in each of
    these orders: what the best pair reaches where nothing pairs the stimuli.
    """
    maxima = []
    for order in orders:
        shuffled = Units(y.values[order], y.layers, y.numbers)
        maxima.append(max(float(r.max()) for _, _, r in _correlations(x, shuffled)))
    return np.array(maxima)


def p_of(r: Float[np.ndarray, " p"], null: Float64[np.ndarray, " P"]) -> Float64[np.ndarray, " p"]:
    """Return for each correlation how often the best pair of all reaches as much by chance: (1 +
    #{null ≥ r}) / (P + 1), so that the choice of the best is paid for. Source: Westfall, Young 1993
    (the maximum over tests).
    """
    reached = len(null) - np.searchsorted(np.sort(null), r.astype(np.float64), side="left")
    return (1 + reached) / (len(null) + 1)


def rotate(
    layers: Mapping[int, Float[np.ndarray, "n _"]], *, seed: int
) -> dict[int, Float64[np.ndarray, "n _"]]:
    """Return layers in a random basis, the same one for all layers of a width, as those of a
    residual stream share theirs. Inner products, and with them all kernels, stay as they are.

    Source: Mezzadri 2007 (the QR decomposition of normal values, signs fixed, is Haar).
    """
    rng, bases = np.random.default_rng(seed), {}
    for space in layers.values():
        width = space.shape[1]
        if width not in bases:
            q, r = np.linalg.qr(rng.normal(size=(width, width)))
            bases[width] = q * np.sign(np.diagonal(r))
    return {
        layer: (space - space.mean(axis=0, dtype=np.float64)) @ bases[space.shape[1]]
        for layer, space in layers.items()
    }


class _Best:
    """The highest correlation of each unit so far, and with which unit."""

    def __init__(self, count: int) -> None:
        self.r = np.full(count, -np.inf, dtype=np.float32)
        self.at = np.zeros(count, dtype=np.int64)

    def note(self, rows: slice, start: int, r: Float32[np.ndarray, "a b"]) -> None:
        """Take in the correlations of some units with others, counted from `start`."""
        nearest = r.argmax(axis=1)
        values = r[np.arange(len(r)), nearest]
        higher = values > self.r[rows]
        self.at[rows] = np.where(higher, nearest + start, self.at[rows])
        self.r[rows] = np.where(higher, values, self.r[rows])


def _correlations(x: Units, y: Units) -> Iterator[tuple[slice, slice, Float32[np.ndarray, "a b"]]]:
    """Yield the correlations of all units of x with all of y, a block at a time."""
    for rows in _blocks(x.count):
        for columns in _blocks(y.count):
            yield rows, columns, x.values[:, rows].T @ y.values[:, columns]


def _blocks(count: int) -> Iterator[slice]:
    for start in range(0, count, BLOCK):
        yield slice(start, min(start + BLOCK, count))
