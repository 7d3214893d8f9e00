"""What a metric is: one pure function of two spaces, and what is known about it. Tests, tables and
pages read the spec.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from core.errors import MetricError
from core.spaces.inputs import check_pair

Invariance = Literal["rotation", "isotropic_scaling", "translation", "invertible_linear"]
INVARIANCES: tuple[Invariance, ...] = get_args(Invariance)


@dataclass(frozen=True)
class MetricSpec:
    """What is known about a metric without calling it.

    range: least and greatest value. symmetric: m(x, y) = m(y, x). scope: whether it compares each
    stimulus's neighborhood (local) or all pairs of stimuli at once (global). ordinal: depends on
    the order of similarities alone. invariances: the maps of either space that never change the
    value; every map that is missing here changes some value. sees, misses: what it can and cannot
    tell apart, one plain line each. defaults: its parameters. self_aligned: m(x, x) is the aligned
    end of the range, whatever x. Every metric ignores a common reordering of the stimuli, save
    `linear_predictivity`, whose folds go by position.
    """

    id: str
    title: str
    formula: str
    range: tuple[float, float]
    higher_is_more_aligned: bool
    symmetric: bool
    scope: Literal["local", "global"]
    ordinal: bool
    invariances: frozenset[Invariance]
    sees: str
    misses: str
    defaults: Mapping[str, Any]
    reference: str
    self_aligned: bool = True


@dataclass(frozen=True)
class Metric:
    """A metric's function beside its spec; call it like the function."""

    spec: MetricSpec
    function: Callable[..., float]

    def __call__(
        self, x: Float[np.ndarray, "n dx"], y: Float[np.ndarray, "m dy"], **parameters: Any
    ) -> float:
        """Compare two spaces over the same stimuli; raises MetricError for degenerate spaces and
        unknown parameters.
        """
        complete = self.complete(parameters)
        check_pair(x, y)
        return self.function(x, y, **complete)

    def complete(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return every parameter, its default where none is given; raises MetricError for unknown
        ones and for words as numbers.
        """
        if unknown := sorted(parameters.keys() - self.spec.defaults.keys()):
            known = (
                f"the parameters {', '.join(self.spec.defaults)}"
                if self.spec.defaults
                else "no parameters"
            )
            raise MetricError(f"{self.spec.id} takes {known}; given {', '.join(unknown)}")
        for name, value in parameters.items():
            expected = str if isinstance(self.spec.defaults[name], str) else (int, float)
            if not isinstance(value, expected) or isinstance(value, bool):
                kind = "a word" if expected is str else "a number"
                raise MetricError(
                    f"{name} of {self.spec.id} is {kind}, such as {self.spec.defaults[name]}; given"
                    f" {value!r}"
                )
        return {**self.spec.defaults, **parameters}
