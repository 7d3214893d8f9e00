"""The work that is done once per layer, whatever it is compared with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from jaxtyping import Float

from core.errors import FeatureError, MetricError
from core.machine.processes import count_threads
from core.spaces.inputs import check_space

T = TypeVar("T")
Space = Float[np.ndarray, "n _"]
Preprocess = Callable[[Space], Space]


def each_layer(
    part: Callable[[Space], T], layers: Sequence[Space], preprocess: Preprocess
) -> tuple[list[T | None], tuple[str, ...]]:
    """Preprocess every layer and make a part of it, several layers at once.

    Returns the parts, None for a layer that is refused, and why each is refused, "" where it is
    not. Raises MetricError where every layer is refused, with the first reason.
    """

    def attempt(layer: Space) -> tuple[T | None, str]:
        try:
            space = preprocess(layer)
            check_space(space)
            return part(space), ""
        except (FeatureError, MetricError) as error:
            return None, str(error)

    with ThreadPoolExecutor(count_threads()) as pool:
        made = list(pool.map(attempt, layers))
    refusals = tuple(why for _, why in made)
    if all(refusals):
        reason = refusals[0] if refusals else "none was given"
        raise MetricError(f"no layer can be compared: {reason}")
    return [one for one, _ in made], refusals


def stacked(parts: Sequence[np.ndarray | None], missing: int | float) -> np.ndarray:
    """Stack the layers' arrays, all of one shape; a layer that was refused is filled with
    `missing`.
    """
    like = next(part for part in parts if part is not None)
    return np.stack([np.full_like(like, missing) if part is None else part for part in parts])
