"""Units that recur in two models of a study, beside what shuffled stimuli and random bases give."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float32, Float64

from core.errors import MetricError
from core.questions.neurons.question import ALL_LAYERS, Mining
from core.questions.neurons.units import (
    Partners,
    Units,
    find_partners,
    null_maxima,
    p_of,
    rotate,
    units_of,
)
from core.statistics.nulls import ALPHA, draw_orders
from core.study.layers import read_choice
from core.study.study import Study

Layers = Mapping[int, Float32[np.ndarray, "n _"]]
HELD = 2**31  # bytes of models that are held while all of them are compared
PROBE = 512  # units with which a machine's pace is measured


@dataclass(frozen=True)
class Model:
    """The layers of a model that are looked at, and their units."""

    layers: Layers
    units: Units


@dataclass(frozen=True)
class Recurrence:
    """What two models have in common, unit by unit.

    null: the best pair's correlation under each permutation. rotated: the partners in random bases
    of y, and x as it is; rotated_x: in random bases of x, and y as it is.
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
        """Return the same where the counterparts are looked for in random bases: the units whose
        counterparts they are stay as they are.
        """
        of_x = np.mean([each.best_x for each in self.rotated])
        of_y = np.mean([each.best_y for each in self.rotated_x])
        return float(of_x + of_y) / 2

    @property
    def threshold(self) -> float:
        """Return the highest correlation that is still chance."""
        allowed = int(ALPHA * (len(self.null) + 1) + 1e-9) - 1
        return float(np.sort(self.null)[len(self.null) - 1 - allowed])


def check_layers(text: str, *, of_two: bool) -> None:
    """Refuse what names no layers of every model, such as `best`, or a pair where there are no two
    models; raises MetricError.
    """
    choice = None if text == ALL_LAYERS else read_choice(text)
    if choice and choice.depth is None and not (of_two and choice.pair):
        pair = "a pair such as 3:5, " if of_two else ""
        raise MetricError(
            f"units are looked for in all layers, the last, {pair}or at a depth from 0 to 1; got"
            f" {text!r}"
        )


def chosen_layers(text: str, count_x: int, count_y: int) -> tuple[Sequence[int], Sequence[int]]:
    """Return the layers of two models that are looked at; raises MetricError for a pair that is not
    there.
    """
    if text == ALL_LAYERS:
        return range(count_x), range(count_y)
    place = read_choice(text).place(count_x, count_y)
    assert place is not None  # `check_layers` has refused the rest
    return [place[0]], [place[1]]


def read_model(study: Study, name: str, layers: Sequence[int]) -> Model:
    """Read some layers of a model, its outliers clamped as the study says."""
    spaces = study.spaces(name)
    chosen = {layer: spaces[layer] for layer in layers}
    try:
        return Model(chosen, units_of(chosen))
    except MetricError as error:
        raise MetricError(f"{name}: {error}") from error


def reader(study: Study, names: Sequence[str], layers: str) -> Callable[[str], Model]:
    """Return what reads models and holds as many of the last ones as there is room for."""
    counts = {name: study.entry(name).dims for name in names}
    largest = max(8 * study.size * sum(dims) for dims in counts.values())

    @lru_cache(maxsize=max(2, HELD // largest))
    def read(name: str) -> Model:
        count = len(counts[name])
        return read_model(study, name, chosen_layers(layers, count, count)[0])

    return read


def mine(x: Model, y: Model, mining: Mining) -> Recurrence:
    """Return which units of two models recur, and what chance gives."""
    orders = draw_orders(len(x.units.values), count=mining.null, seed=mining.seed)
    seeds = range(mining.seed, mining.seed + mining.rotations)
    return Recurrence(
        find_partners(x.units, y.units),
        null_maxima(x.units, y.units, orders),
        tuple(find_partners(x.units, units_of(rotate(y.layers, seed=seed))) for seed in seeds),
        tuple(find_partners(units_of(rotate(x.layers, seed=seed)), y.units) for seed in seeds),
    )


def shuffled_partners(x: Units, y: Units, *, seed: int) -> Partners:
    """Return the partners after one shuffling of the stimuli of y."""
    order = draw_orders(len(y.values), count=1, seed=seed)[0]
    return find_partners(x, Units(y.values[order], y.layers, y.numbers))


def foresee(models: Sequence[Sequence[int]], stimuli: int, mining: Mining) -> float:
    """Return about how many seconds it takes to mine every two of these models, at the pace that
    this machine has now. models: of each the widths of its layers.
    """
    counts = [_count_units(widths, mining.layers) for widths in models]
    pairs = (sum(counts) ** 2 - sum(count**2 for count in counts)) / 2
    values = np.random.default_rng(0).random((stimuli, PROBE), dtype=np.float32)
    units = Units(values, np.zeros(PROBE, dtype=np.int64), np.arange(PROBE))
    find_partners(units, units)  # wakes the threads
    began = time.perf_counter()
    find_partners(units, units)
    pace = (time.perf_counter() - began) / PROBE**2
    return pace * pairs * (1 + mining.null + 2 * mining.rotations)


def _count_units(widths: Sequence[int], layers: str) -> int:
    """Return about how many units the layers have that are looked at."""
    return sum(widths) if layers == ALL_LAYERS else max(widths)
