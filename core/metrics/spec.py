"""What a metric is: an engine that compares two spaces, and a spec for tests, tables and pages."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Bool, Float, Float64, Int64, Real

from core.errors import MetricError
from core.options import Range
from core.pairs.engine import Engine, PairEngine
from core.spaces.preprocess import check_pair

Invariance = Literal["rotation", "isotropic_scaling", "translation", "invertible_linear"]
INVARIANCES: tuple[Invariance, ...] = get_args(Invariance)
SHAPE: frozenset[Invariance] = frozenset({"rotation", "isotropic_scaling", "translation"})
UNBOUNDED = (-np.inf, np.inf)

Parameter = int | float | str
AnyEngine = Engine[Any]  # metrics differ in how their engines hold layers
CpuEngine = PairEngine[Any]
Counts = Int64[np.ndarray, " n"]
Space = Float[np.ndarray, "n _"]
Halves = Bool[np.ndarray, "count n"]


@dataclass(frozen=True)
class MetricSpec:
    """What is known about a metric without calling it.

    scope: local if it compares neighborhoods, global if all pairs of stimuli. order_alone: only the
    order of similarities matters. invariances: the maps of either space that never change the
    value; every other map changes some value. sees, misses: what it distinguishes, one line each.
    ranges, choices: of the parameters in defaults. unbounded: the words with which a value can
    leave the range. self_aligned: m(x, x) is the aligned end of the range. costly: takes longer
    than all other metrics together.
    """

    id: str
    title: str
    short: str
    formula: str
    sees: str
    misses: str
    reference: str
    range: tuple[float, float] = (0.0, 1.0)
    higher_is_more_aligned: bool = True
    symmetric: bool = True
    scope: Literal["local", "global"] = "global"
    order_alone: bool = False
    invariances: frozenset[Invariance] = SHAPE
    defaults: Mapping[str, Parameter] = field(default_factory=dict)
    ranges: Mapping[str, Range] = field(default_factory=dict)
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unbounded: Mapping[str, str] = field(default_factory=dict)
    self_aligned: bool = True
    costly: bool = False


def _read_specs() -> dict[str, MetricSpec]:
    specs = {}
    text = Path(__file__).with_name("metrics.toml").read_text("utf-8")
    for name, fields in tomllib.loads(text).items():
        ranges, choices = fields.pop("ranges", {}), fields.pop("choices", {})
        specs[name] = MetricSpec(
            id=name,
            range=tuple(fields.pop("range", (0.0, 1.0))),
            invariances=frozenset(fields.pop("invariances", SHAPE)),
            ranges={
                key: Range(least, most, whole=isinstance(least, int))
                for key, (least, most) in ranges.items()
            },
            choices={key: tuple(words) for key, words in choices.items()},
            **fields,
        )
    return specs


SPECS = _read_specs()


@dataclass(frozen=True)
class Chance:
    """The mean score of any two unrelated spaces. level: from the keyword n and the metric's
    parameters. text: the formula, for a sentence.
    """

    level: Callable[..., float]
    text: str


@dataclass(frozen=True)
class PairChance:
    """The mean score of two unrelated spaces, from one number of each. trait: that number of a
    space. level: from the trait of both spaces and the keyword n.
    """

    trait: Callable[[Space], float]
    level: Callable[..., float]


@dataclass(frozen=True)
class Metric:
    """A metric; call it with two spaces.

    engine: makes the engine from the parameters. every_pair: whether it holds a number for each
    pair of stimuli; streamed: an engine that does not. on_torch: an engine from a torch device and
    the parameters. share: what a stimulus adds to the mean, given the number of its common
    neighbors and k. halves: scores on many halves of the stimuli at once. attenuates: noise weakens
    it by Spearman's and Brown's formulas. version: raised by hand when its values change.
    """

    spec: MetricSpec
    engine: Callable[..., CpuEngine]
    every_pair: bool = False
    streamed: Callable[..., AnyEngine] | None = None
    on_torch: Callable[..., AnyEngine] | None = None
    chance: Chance | None = None
    pair_chance: PairChance | None = None
    share: Callable[[Counts, int], Float64[np.ndarray, " n"]] | None = None
    halves: Callable[[Space, Space, Halves], Float64[np.ndarray, " count"]] | None = None
    attenuates: bool = False
    version: int = 1

    def __call__(
        self, x: Real[np.ndarray, "n dx"], y: Real[np.ndarray, "m dy"], **parameters: Parameter
    ) -> float:
        """Compare two spaces over the same stimuli, clamped and normalized by the caller; raises
        MetricError.
        """
        complete = self.complete(parameters)
        x, y = (one.astype(np.result_type(one, np.float32), copy=False) for one in (x, y))
        check_pair(x, y)
        return self.engine(**complete).score(x, y)

    def complete(self, parameters: Mapping[str, Parameter]) -> dict[str, Parameter]:
        """Return every parameter, defaults included; raise MetricError for a wrong one."""
        defaults = self.spec.defaults
        if unknown := sorted(parameters.keys() - defaults.keys()):
            takes = f"the parameters {', '.join(defaults)}" if defaults else "no parameters"
            raise MetricError(f"{self.spec.id} takes {takes}; got {', '.join(unknown)}")
        for name, value in parameters.items():
            kind = type(default := defaults[name])
            kinds = (int, float) if kind is float else (kind,)
            if not isinstance(value, kinds) or isinstance(value, bool):
                named = {str: "word", int: "whole number", float: "number"}[kind]
                expected = f"a {named}, such as {default}"
            elif isinstance(value, str) and value not in self.spec.choices[name]:
                expected = " or ".join(self.spec.choices[name])
            elif not isinstance(value, str) and value not in self.spec.ranges[name]:
                expected = self.spec.ranges[name].described
            else:
                continue
            raise MetricError(f"{name} of {self.spec.id} is {expected}; got {value!r}")
        return {**defaults, **parameters}

    def spec_with(self, parameters: Mapping[str, Parameter]) -> MetricSpec:
        """Return the spec with these parameters: with some a metric has no range."""
        words = self.spec.unbounded.items()
        free = any(parameters.get(name) == word for name, word in words)
        return replace(self.spec, range=UNBOUNDED) if free else self.spec

    def chance_level(self, n: int, parameters: Mapping[str, Parameter]) -> float:
        """Return the mean score of unrelated spaces over n stimuli, NaN without a formula."""
        complete = self.complete(parameters)
        return np.nan if self.chance is None else self.chance.level(n=n, **complete)
