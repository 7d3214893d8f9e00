"""What adapters are trained and measured on: vectors of encoders and reference, and which stimuli
do what.

Spaces are named as `core.study.spaces.find_space` reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float32

from core.errors import InputError
from core.questions.adapters.maps.model import Parts, split
from core.spaces.choices import Clamping
from core.spaces.preprocess import thresholds
from core.study.spaces import Layer, find_space, find_spaces
from core.study.study import Study

Space = Float32[np.ndarray, "n _"]
UNCLAMPED = Clamping(1.0)


class Lesson(NamedTuple):
    """What adapters are trained and measured on: each encoder's vectors by its space's name, and
    which stimuli do what.
    """

    spaces: dict[str, Space]
    parts: Parts


def prepare(
    study: Study, spaces: Sequence[str], *, pairs: int | None = None, seed: int = 0
) -> Lesson:
    """Read the spaces and draw the parts; see `core.questions.adapters.maps.model.split`.

    Values are clamped as the study clamps them, but at a quantile that the test stimuli have no
    part in. Raises UnknownNameError, MetricError where two names mean one space, InputError for
    pairs.
    """
    places = find_spaces(study, spaces)
    parts = split(study.size, pairs=pairs, seed=seed)
    return Lesson({str(place): _clamped(study, place, parts) for place in places}, parts)


def read_reference(study: Study, reference: str, *, seed: int = 0) -> Space:
    """Read what adapted vectors are compared with, clamped as `prepare` clamps; seed: of the test
    stimuli.
    """
    return _clamped(study, find_space(study, reference), split(study.size, seed=seed))


def _clamped(study: Study, place: Layer, parts: Parts) -> Space:
    bare = Study(
        study.store, study.dataset.name, UNCLAMPED, where=study.where, stimuli=study.stimuli
    )
    layers = bare.spaces(place.model)
    if study.clamping.q == 1:
        return layers[place.layer]
    seen = np.setdiff1d(np.arange(study.size), parts.test)
    bounds = thresholds([layer[seen] for layer in layers], **vars(study.clamping))
    bound = bounds[place.layer]
    clamped: np.ndarray = np.clip(layers[place.layer], -bound, bound)
    return clamped


def find_places(
    study: Study, spaces: Sequence[str], references: Sequence[str]
) -> tuple[list[Layer], list[Layer]]:
    """Return what the names of encoders and of references mean.

    Raises UnknownNameError, MetricError where two names mean one space, InputError where a
    reference is an encoder, be it in another layer or reading other captions: it would have a part
    in the training.
    """
    places, truths = find_spaces(study, spaces), find_spaces(study, references)
    weights = {study.entry(place.model).card.weights for place in places}
    if shared := sorted(
        {truth.model for truth in truths if study.entry(truth.model).card.weights in weights}
    ):
        raise InputError(
            f"the reference has no part in the training, but {', '.join(shared)} has an encoder's"
            " weights; name another one"
        )
    return places, truths
