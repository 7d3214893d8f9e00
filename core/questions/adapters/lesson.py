"""What a training of adapters reads: encoders' vectors, a reference, and which stimuli teach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float32

from core.errors import InputError
from core.questions.adapters.maps import Adapters, Parts, Settings, split
from core.settings import choose_device
from core.spaces.choices import Clamping
from core.spaces.preprocess import thresholds
from core.study.models import is_reality, reads
from core.study.spaces import Layer, by_size, find_space, find_spaces, largest_models
from core.study.study import Study

if TYPE_CHECKING:
    from core.questions.adapters.training import Epoch

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
    """Read the spaces and draw the parts.

    Values are clamped as the study clamps them, but at a quantile of stimuli that are no test.
    """
    places = find_spaces(study, spaces)
    parts = split(study.size, pairs=pairs, seed=seed)
    return Lesson({str(place): _clamped(study, place, parts) for place in places}, parts)


def read_reference(study: Study, reference: str, *, seed: int = 0) -> Space:
    """Read what adapted vectors are compared with, clamped as `prepare` clamps."""
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


def passes(lesson: Lesson, settings: Settings, *, seed: int, device: str) -> Iterator[Epoch]:
    """Train, and yield after each pass the state of the training."""
    from core.questions.adapters.training import train  # torch takes seconds

    return train(lesson.spaces, lesson.parts, settings, seed=seed, device=choose_device(device))


def train_once(lesson: Lesson, settings: Settings, *, device: str) -> Adapters:
    """Return the best adapters of one training."""
    *_, last = passes(lesson, settings, seed=0, device=device)
    return last.best


def usual_models(study: Study, models: pd.DataFrame, solved: pd.DataFrame) -> tuple[list[str], str]:
    """Return two encoders and the reference among some models; raise InputError for fewer than 3.

    The reference is the best vision model by tasks solved (solved: model, solved), else the largest
    model that leaves two encoders. The encoders read images and captions if there are both.
    """
    models = models.set_index("model", drop=False)
    if len(models) < 3:
        raise InputError(
            f"two encoders and a reference are needed; {study.dataset.name!r} has {len(models)}"
            " finished models: embed another"
        )
    falling = by_size(study, falling=True)["model"]
    others = [name for name in models.index if name not in set(falling)]
    large = models.loc[[*(name for name in falling if name in models.index), *others]]
    seeing, reading = (large.index[reads(large, item)].tolist() for item in ("image", "caption"))
    share = solved.dropna(subset="solved").set_index("model")["solved"].astype("float64")
    measured = share[share.index.isin(seeing)]
    if len(measured):
        reference = str(measured.idxmax())
    else:
        other = large.index[is_reality(large)].tolist()
        reference = str((seeing if len(seeing) > 1 else [*other, *large.index[::-1]])[0])
    preferred = [name for name in largest_models(study) if name in models.index]
    first = [name for name in (*preferred, *seeing) if name != reference]
    candidates = [*first[:1], *reading[:1], *large.index]
    return list(dict.fromkeys(one for one in candidates if one != reference))[:2], reference
