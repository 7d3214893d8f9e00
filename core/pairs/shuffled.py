"""All layers of several models against all of several others, the stimuli of one side shuffled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64

from core.pairs.engine import Engine
from core.pairs.lists import NeighborLists

Orders = Int64[np.ndarray, "P n"]
Scoring = Callable[[Orders], Float64[np.ndarray, "P Lx Ly"]]


def shuffled_scores(engine: Engine, x: Sequence[Any], y: Sequence[Any]) -> Scoring:
    """Return what scores all layers of x's models with all of y's, the stimuli of y in any order.

    x, y: one or more models each, as `engine.prepare` gives them.
    """
    if isinstance(engine, NeighborLists) and engine.shuffled is not None:
        return _at_once(engine.shuffled, engine.k, x, y)

    def scores(orders: Orders) -> Float64[np.ndarray, "P Lx Ly"]:
        shuffled = ([engine.permuted(model, order) for model in y] for order in orders)
        return np.stack(
            [np.block([[engine.scores(a, b) for b in models] for a in x]) for models in shuffled]
        )

    return scores


def _at_once(
    shuffled: Callable[..., np.ndarray], k: int, x: Sequence[Any], y: Sequence[Any]
) -> Scoring:
    lists_x, lists_y = (np.concatenate([lists[:, :, :k] for lists in models]) for models in (x, y))
    return lambda orders: shuffled(lists_x, lists_y, orders, k=k)
