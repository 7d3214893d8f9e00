"""All layers of several models against all of several others, the stimuli of one side shuffled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from jaxtyping import Float64, Int64

from core.pairs.engine import Engine
from core.pairs.lists import NeighborLists
from core.pairs.prepared import Lists, Prepared

P = TypeVar("P")

Order = Int64[np.ndarray, " n"]
Orders = Int64[np.ndarray, "P n"]
Scoring = Callable[[Orders], Float64[np.ndarray, "P Lx Ly"]]


def shuffled_scores(
    engine: Engine[P], x: Sequence[Prepared[P]], y: Sequence[Prepared[P]]
) -> Scoring:
    """Return what scores all layers of x's models with all of y's, the stimuli of y in any order.

    x, y: one or more models each, as `engine.prepare` gives them.
    """
    if isinstance(engine, NeighborLists) and engine.shuffled is not None:
        return _at_once(engine.shuffled, engine.k, x, y)

    def score(order: Order) -> Float64[np.ndarray, "Lx Ly"]:
        models = [engine.permuted(model, order) for model in y]
        return np.block([[engine.scores(a, b).values for b in models] for a in x])

    return lambda orders: np.stack([score(order) for order in orders])


def _at_once(
    shuffled: Callable[..., np.ndarray],
    k: int,
    x: Sequence[Prepared[Lists]],
    y: Sequence[Prepared[Lists]],
) -> Scoring:
    lists_x, lists_y = (
        np.concatenate([model.layers[:, :, :k] for model in models]) for models in (x, y)
    )
    return lambda orders: shuffled(lists_x, lists_y, orders, k=k)
