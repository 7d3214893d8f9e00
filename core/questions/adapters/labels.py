"""What is known of the Cave's stimuli as classes: factors, which are the case in the world, and
nuisances, which are drawn again for each picture or caption, whatever is the case; wording nearly
so, since captions of a wrong length are drawn again (`tests/benchmarks/wording.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Int64

from core.errors import NotApplicableError
from core.stimuli.worlds import Event, World
from core.study.study import Study, studied_indices

FACTORS = ("scene", "time", "weather", "count")

Labels = Int64[np.ndarray, "n"]


def study_events(study: Study) -> tuple[World, list[Event]]:
    """Return the world of a study and the events behind its stimuli; raises NotApplicableError for
    a dataset without one.
    """
    world, table = study.dataset.world, study.store.stimuli(study.dataset.name)
    drawn = world.behind(study.dataset) if world else []
    if world is None or [event.scene for event in drawn] != list(table.get("scene", ())):
        raise NotApplicableError(
            "palette, light and wording are known of the Cave's stimuli alone; got"
            f" {study.dataset.name!r}: name --dataset cave"
        )
    return world, [drawn[index] for index in studied_indices(study)]


def factor_labels(world: World, seen: Sequence[Event]) -> dict[str, Labels]:
    """Return each of FACTORS as classes from 0."""
    rows = [dict(zip(world.factors, world.answers(event), strict=True)) for event in seen]
    values = {name: [world.factors[name][row[name]] for row in rows] for name in FACTORS}
    return {name: _classes(values[name]) for name in FACTORS}


def nuisance_labels(
    world: World, seen: Sequence[Event], modality: str, level: str | None
) -> Mapping[str, Labels]:
    """Return the nuisances of what a modality reads as classes from 0; none of a modality that has
    none, and of captions that somebody else wrote.
    """
    nuisances = world.nuisances(seen, modality, level)
    return {name: _classes(values) for name, values in nuisances.items()}


def _classes(values: Sequence[object]) -> Labels:
    return np.unique(np.array(values), return_inverse=True)[1].astype(np.int64)
