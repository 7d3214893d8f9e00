"""The work that is done once per layer, whatever it is compared with."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from jaxtyping import Float

from core.errors import FeatureError, MetricError
from core.spaces.inputs import check_space

T = TypeVar("T")
Space = Float[np.ndarray, "n _"]
Preprocess = Callable[[Space], Space]


def each_layer(
    part: Callable[[Space], T], layers: Sequence[Space], preprocess: Preprocess
) -> list[T | None]:
    """Preprocess every layer and return what `part` makes of it, several layers at once; None for a
    layer that is refused.

    Raises MetricError where every layer is refused, with the first reason.
    """

    def attempt(layer: Space) -> T | FeatureError | MetricError:
        try:
            space = preprocess(layer)
            check_space(space)
            return part(space)
        except (FeatureError, MetricError) as error:
            return error

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        made = list(pool.map(attempt, layers))
    refused = [one for one in made if isinstance(one, (FeatureError, MetricError))]
    if len(refused) == len(made):
        raise MetricError(
            f"no layer can be compared: {refused[0] if refused else 'none was given'}"
        )
    return [None if isinstance(one, (FeatureError, MetricError)) else one for one in made]


def stacked(parts: Sequence[np.ndarray | None], missing: int | float) -> np.ndarray:
    """Stack the layers' arrays, all of one shape; a layer that was refused is filled with
    `missing`.
    """
    like = next(part for part in parts if part is not None)
    return np.stack([np.full_like(like, missing) if part is None else part for part in parts])
