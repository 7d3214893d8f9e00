"""Matched units: features of two models that are each other's most correlated over the stimuli.

A unit is one feature of one layer. Controls: permuted stimuli, and random bases of either model.
Source: Dravid et al. 2023 (Rosetta neurons).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32, Float64, Int64

from core.errors import MetricError
from core.options import draws_option, option, seed_option
from core.spaces.kernels import ROUNDING
from core.statistics.nulls import ALPHA, draw_orders
from core.study.layers import read_choice
from core.study.study import Study

ALL_LAYERS = "all"
BLOCK = 2048  # units of either model that are correlated at once: 16 MB
PACE = 2e10  # floating-point operations a second, of a slow machine

Layers = Mapping[int, Float32[np.ndarray, "n _"]]


@dataclass(frozen=True)
class Mining:
    """Which units are matched, and against what chance."""

    layers: str = option(
        ALL_LAYERS,
        label="Layers",
        metavar="LAYERS",
        help="all of both models, last, or a depth from 0 to 1; of two models also a pair A:B",
    )
    null: int = draws_option(
        39,
        least=19,
        label="Permutations",
        help="of one model's stimuli: what the best pair reaches by chance",
    )
    rotations: int = option(
        3, least=1, most=100, label="Rotations", help="random bases of one model's layers"
    )
    seed: int = seed_option("seed of permutations and rotations")


@dataclass(frozen=True)
class Units:
    """The units of a model that vary over the stimuli. values: centered and of length 1, so that
    inner products are Pearson correlations. numbers: of each unit in its layer, from 0.
    """

    values: Float32[np.ndarray, "n u"]
    layers: Int64[np.ndarray, " u"]
    numbers: Int64[np.ndarray, " u"]

    @property
    def count(self) -> int:
        return len(self.layers)


@dataclass(frozen=True)
class Partners:
    """Pairs of units that are each other's best, the most correlated first. x, y: places among the
    units of either model. best_x, best_y: the mean, over all units of either model, of their
    highest correlation with any unit of the other.
    """

    x: Int64[np.ndarray, " p"]
    y: Int64[np.ndarray, " p"]
    r: Float32[np.ndarray, " p"]
    best_x: float
    best_y: float


def units_of(layers: Mapping[int, Float[np.ndarray, "n _"]]) -> Units:
    """Return the units of some layers of a model; raises MetricError if none varies."""
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
    """Return the units of x and y that are each other's most correlated; of equals the first."""
    (r_x, at_x), (r_y, at_y) = (
        (np.full(each.count, -np.inf, dtype=np.float32), np.zeros(each.count, dtype=np.int64))
        for each in (x, y)
    )
    for rows, columns, r in _correlations(x, y):
        for best, at, here, start, part in (
            (r_x, at_x, rows, columns.start, r),
            (r_y, at_y, columns, rows.start, r.T),
        ):
            nearest = part.argmax(axis=1)
            values = part[np.arange(len(part)), nearest]
            higher = values > best[here]
            at[here] = np.where(higher, nearest + start, at[here])
            best[here] = np.where(higher, values, best[here])
    mutual = np.flatnonzero(at_y[at_x] == np.arange(x.count))
    order = mutual[np.argsort(-r_x[mutual], kind="stable")]
    means = (float(best.mean(dtype=np.float64)) for best in (r_x, r_y))
    return Partners(order, at_x[order], r_x[order], *means)


def null_maxima(x: Units, y: Units, orders: Int64[np.ndarray, "P n"]) -> Float64[np.ndarray, " P"]:
    """Return the highest correlation of any unit of x with any of y, for each order of y's
    stimuli.
    """
    maxima = []
    for order in orders:
        shuffled = Units(y.values[order], y.layers, y.numbers)
        maxima.append(max(float(r.max()) for _, _, r in _correlations(x, shuffled)))
    return np.array(maxima)


def p_of(r: Float[np.ndarray, " p"], null: Float64[np.ndarray, " P"]) -> Float64[np.ndarray, " p"]:
    """Return the p of each correlation against the best pair of each permutation: (1 + #{null ≥ r})
    / (P + 1). Source: Westfall, Young 1993 (the maximum over tests).
    """
    reached = len(null) - np.searchsorted(np.sort(null), r.astype(np.float64), side="left")
    return (1 + reached) / (len(null) + 1)


def rotate(
    layers: Mapping[int, Float[np.ndarray, "n _"]], *, seed: int
) -> dict[int, Float64[np.ndarray, "n _"]]:
    """Return layers in a random basis, the same one for all layers of a width; kernels stay.

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


def _correlations(x: Units, y: Units) -> Iterator[tuple[slice, slice, Float32[np.ndarray, "a b"]]]:
    """Yield the correlations of all units of x with all of y, a block at a time."""
    for row in range(0, x.count, BLOCK):
        rows = slice(row, min(row + BLOCK, x.count))
        for column in range(0, y.count, BLOCK):
            columns = slice(column, min(column + BLOCK, y.count))
            yield rows, columns, x.values[:, rows].T @ y.values[:, columns]


@dataclass(frozen=True)
class Model:
    layers: Layers
    units: Units


@dataclass(frozen=True)
class Recurrence:
    """Matched units of two models. null: the best pair's correlation under each permutation.
    rotated: the partners in random bases of y; rotated_x: in random bases of x.
    """

    partners: Partners
    null: Float64[np.ndarray, " P"]
    rotated: tuple[Partners, ...]
    rotated_x: tuple[Partners, ...]

    def recurring(self, partners: Partners) -> int:
        """Return how many of these pairs are beyond chance, p ≤ 0.05 for the best of all."""
        return int(np.count_nonzero(p_of(partners.r, self.null) <= ALPHA))

    @property
    def alike(self) -> float:
        """Return the mean correlation of a unit with its best counterpart, over both models."""
        return (self.partners.best_x + self.partners.best_y) / 2

    @property
    def alike_rotated(self) -> float:
        """Return the same with counterparts in random bases."""
        of_x = np.mean([each.best_x for each in self.rotated])
        of_y = np.mean([each.best_y for each in self.rotated_x])
        return float(of_x + of_y) / 2

    @property
    def threshold(self) -> float:
        """Return the highest correlation that is still chance."""
        allowed = int(ALPHA * (len(self.null) + 1) + 1e-9) - 1
        return float(np.sort(self.null)[len(self.null) - 1 - allowed])


def check_layers(text: str, *, of_two: bool) -> None:
    choice = None if text == ALL_LAYERS else read_choice(text)
    if choice and choice.depth is None and not (of_two and choice.pair):
        pair = "a pair such as 3:5, " if of_two else ""
        raise MetricError(
            f"units are looked for in all layers, the last, {pair}or at a depth from 0 to 1; got"
            f" {text!r}"
        )


def chosen_layers(text: str, count_x: int, count_y: int) -> tuple[Sequence[int], Sequence[int]]:
    if text == ALL_LAYERS:
        return range(count_x), range(count_y)
    place = read_choice(text).place(count_x, count_y)
    assert place is not None  # `check_layers` has refused the rest
    return [place[0]], [place[1]]


def read_model(study: Study, name: str, layers: Sequence[int]) -> Model:
    spaces = study.spaces(name)
    chosen = {layer: spaces[layer] for layer in layers}
    try:
        return Model(chosen, units_of(chosen))
    except MetricError as error:
        raise MetricError(f"{name}: {error}") from error


def mine(x: Model, y: Model, mining: Mining) -> Recurrence:
    """Return which units of two models match, and what chance gives."""
    orders = draw_orders(len(x.units.values), count=mining.null, seed=mining.seed)
    seeds = range(mining.seed, mining.seed + mining.rotations)
    return Recurrence(
        find_partners(x.units, y.units),
        null_maxima(x.units, y.units, orders),
        tuple(find_partners(x.units, units_of(rotate(y.layers, seed=seed))) for seed in seeds),
        tuple(find_partners(units_of(rotate(x.layers, seed=seed)), y.units) for seed in seeds),
    )


def foresee(models: Sequence[Sequence[int]], stimuli: int, mining: Mining) -> float:
    """Return about how many seconds matching takes. models: of each the widths of its layers."""
    counts = [sum(one) if mining.layers == ALL_LAYERS else max(one) for one in models]
    pairs = (sum(counts) ** 2 - sum(count**2 for count in counts)) / 2
    return 2 * stimuli * pairs * (1 + mining.null + 2 * mining.rotations) / PACE
