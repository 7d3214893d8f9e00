"""All pairs among one set of models, each pair once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np

from core.pairs.engine import Engine
from core.pairs.lists import NeighborLists
from core.pairs.overlap import by_stimulus
from core.pairs.prepared import Lists, Prepared, Scores, mean_of_both, split_rows

P = TypeVar("P")

HELD = 32  # models that are ready at once: kernels of all pairs of stimuli would fill the memory

Prepare = Callable[[Sequence[str]], Mapping[str, Prepared[P]]]


def scores_among(
    engine: Engine[P], names: Sequence[str], prepare: Prepare[P], *, symmetric: bool
) -> Iterator[tuple[str, str, Scores]]:
    """Score all layers of every two models against each other: the earlier name, the later one, the
    scores of their layers.

    prepare: gives what `engine.prepare` makes of each model by name, without those that are
    refused; pairs with them are left out. symmetric: whether the metric is; else each pair of
    layers has the mean of both directions.
    """
    for start in range(0, len(names), HELD):
        block = names[start : start + HELD]
        held = prepare(block)
        models = [held[name] for name in block if name in held]
        against = _against(engine, models, symmetric=symmetric)
        for place in range(start + 1, len(names)):
            other = names[place]
            ready = held if other in block else prepare([other])
            earlier = [name for name in names[start : min(place, start + HELD)] if name in held]
            if other in ready and earlier:
                for name, scores in zip(earlier, against(ready[other], len(earlier)), strict=True):
                    yield name, other, scores


def _against(
    engine: Engine[P], models: Sequence[Prepared[P]], *, symmetric: bool
) -> Callable[[Prepared[P], int], list[Scores]]:
    """Return what scores the first so many of the models against another."""
    if models and isinstance(engine, NeighborLists):
        return _lists_against(engine, models, symmetric=symmetric)
    return lambda other, first: [
        _score(engine, model, other, symmetric=symmetric) for model in models[:first]
    ]


def _score(engine: Engine[P], x: Prepared[P], y: Prepared[P], *, symmetric: bool) -> Scores:
    # back is quicker than forth for neighbor lists: the model with few layers comes first
    back = engine.scores(y, x).flipped
    return back if symmetric else mean_of_both(engine.scores(x, y), back)


def _lists_against(
    engine: NeighborLists, models: Sequence[Prepared[Lists]], *, symmetric: bool
) -> Callable[[Prepared[Lists], int], list[Scores]]:
    """Stack all models: one call costs more than a pair of layers."""
    lists = np.concatenate([model.layers[:, :, : engine.k] for model in models])
    # each stimulus's lists side by side in memory
    stacked = by_stimulus(lists, engine.k).transpose(1, 0, 2)
    ends = np.cumsum([len(model.layers) for model in models]).tolist()

    def against(other: Prepared[Lists], first: int) -> list[Scores]:
        x = Prepared(stacked[: ends[first - 1]], ("",) * ends[first - 1])
        return split_rows(_score(engine, x, other, symmetric=symmetric), ends[: first - 1])

    return against
