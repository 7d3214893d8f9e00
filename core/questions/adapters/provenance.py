"""Where adapters come from: what their file says."""

from __future__ import annotations

from dataclasses import asdict
from typing import NamedTuple

from core.questions.adapters.maps.model import Settings
from core.recipe import Recipe
from core.study.spaces import find_spaces
from core.study.study import Study


class Provenance(NamedTuple):
    """What a file says of its adapters: the spaces they are of, how they were trained, on how many
    pairs, and of which seed.

    stopped: the passes after which somebody ended the training, None where it came to its end.
    """

    spaces: tuple[str, ...]
    settings: Settings
    pairs: int
    seed: int
    stopped: int | None = None


def adapters_recipe(study: Study, provenance: Provenance) -> Recipe:
    """Return all that adapters depend on."""
    places, stopped = find_spaces(study, provenance.spaces), provenance.stopped
    return study.recipe(
        "adapters",
        [place.model for place in places],
        spaces=[str(place) for place in places],
        pairs=provenance.pairs,
        settings=asdict(provenance.settings),
        seed=provenance.seed,
        **({} if stopped is None else {"stopped": stopped}),
    )
