"""All pairs among one set of models, each pair once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float64

from core.pairs.engine import Engine
from core.pairs.lists import Lists, NeighborLists
from core.pairs.overlap import by_stimulus

HELD = 32  # models that are ready at once: kernels of all pairs of stimuli would fill the memory

LayerScores = Float64[np.ndarray, "_ _"]
Prepare = Callable[[Sequence[str]], Mapping[str, Any]]


def scores_among(
    engine: Engine, names: Sequence[str], prepare: Prepare, *, symmetric: bool
) -> Iterator[tuple[str, str, LayerScores]]:
    """Score all layers of every two models against each other: the earlier name, the later one, the
    scores of their layers.

    prepare: gives what `engine.prepare` makes of each model by name, without those that are
    refused; pairs with them are left out. symmetric: whether the metric is; else each pair of
    layers has the mean of both directions.
    """
    for start in range(0, len(names), HELD):
        block = names[start : start + HELD]
        held = prepare(block)
        against = _against(
            engine, [held[name] for name in block if name in held], symmetric=symmetric
        )
        for place in range(start + 1, len(names)):
            other = names[place]
            ready = held if other in block else prepare([other])
            earlier = [name for name in names[start : min(place, start + HELD)] if name in held]
            if other in ready and earlier:
                for name, scores in zip(earlier, against(ready[other], len(earlier)), strict=True):
                    yield name, other, scores


def _against(
    engine: Engine, models: Sequence[Any], *, symmetric: bool
) -> Callable[[Any, int], list[LayerScores]]:
    """Return what scores the first so many of the models against another."""

    def score(x: Any, y: Any) -> LayerScores:
        back = engine.scores(
            y, x
        ).T  # of neighbor lists this is quicker than forth: the model with few layers comes first
        return back if symmetric else (engine.scores(x, y) + back) / 2

    if not (models and isinstance(engine, NeighborLists)):
        return lambda other, first: [score(model, other) for model in models[:first]]
    stacked, ends = _stacked(models, engine.k)  # one call for all: it costs more than a pair
    return lambda other, first: np.split(
        score(stacked[: ends[first - 1]], other), ends[: first - 1]
    )


def _stacked(models: Sequence[Lists], k: int) -> tuple[Lists, list[int]]:
    """Stack the first k neighbors of all models' layers, each stimulus's side by side in memory;
    and where each model ends.
    """
    stacked = by_stimulus(np.concatenate([lists[:, :, :k] for lists in models]), k).transpose(
        1, 0, 2
    )
    return stacked, np.cumsum([len(lists) for lists in models]).tolist()
