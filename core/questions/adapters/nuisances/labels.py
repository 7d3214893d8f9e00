"""What is known of the Cave's stimuli as classes: factors, which are the case in the world, and
nuisances, which are drawn anew for each picture or caption, whatever is the case; wording nearly
so, since captions of a wrong length are drawn again (`tests/benchmarks/wording.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Int64

from core.cave.captions import DENSITIES, frame_of
from core.cave.drawing import Look, draw_look
from core.cave.events import Event, event_rng, events
from core.errors import NotApplicableError
from core.study.study import Study, studied_indices

FACTORS = ("scene", "time", "weather", "count")
QUARTER = 90.0  # degrees of the hue circle, of one class of palettes

Labels = Int64[np.ndarray, "n"]


def study_events(study: Study) -> list[Event]:
    """Return the events behind the studied stimuli; raises NotApplicableError for another dataset
    than the Cave.
    """
    source, table = study.dataset.source, study.store.stimuli(study.dataset.name)
    is_cave = source.get("kind") == "cave" and {"split", "size", "seed"} <= source.keys()
    drawn = (
        list(events(source["split"], source["size"], seed=source["seed"]))
        if is_cave
        else list[Event]()
    )
    if not is_cave or [event.scene for event in drawn] != list(table.get("scene", ())):
        raise NotApplicableError(
            "palette, light and wording are known of the Cave's stimuli alone; got"
            f" {study.dataset.name!r}: name --dataset cave"
        )
    return [drawn[index] for index in studied_indices(study)]


def factor_labels(seen: Sequence[Event]) -> dict[str, Labels]:
    """Return each of FACTORS as classes from 0."""
    values: Mapping[str, Sequence[object]] = {
        "scene": [event.scene for event in seen],
        "time": [event.time for event in seen],
        "weather": [event.weather for event in seen],
        "count": [len(event.things) for event in seen],
    }
    return {name: _classes(values[name]) for name in FACTORS}


def nuisance_labels(
    seen: Sequence[Event], modality: str, level: str | None
) -> Mapping[str, Labels]:
    """Return the nuisances of what a modality reads as classes from 0.

    Of pictures: palette (the quarter of the hue circle that the sky's hue lies in), light (the
    corner from which it falls) and texture; of captions: wording (the frame of the sentence). Empty
    for a modality that has none and for captions that somebody else wrote.
    """
    if modality == "vision":
        looks = [draw_look(event_rng(event, purpose="image")) for event in seen]
        return {
            "palette": _classes([int(look.palette["sky"][2] % 360 // QUARTER) for look in looks]),
            "light": _classes([_corner(look) for look in looks]),
            "texture": _classes([look.texture for look in looks]),
        }
    if modality == "language" and level is not None and level in DENSITIES:
        return {"wording": _classes([frame_of(event, level) for event in seen])}
    return {}


def _corner(look: Look) -> int:
    across, down = look.light
    return 2 * (across > 0) + (down > 0)


def _classes(values: Sequence[object]) -> Labels:
    return np.unique(np.array(values), return_inverse=True)[1].astype(np.int64)
