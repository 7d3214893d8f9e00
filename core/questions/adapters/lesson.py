"""One training of adapters: which encoders and reference, their vectors, which stimuli do what, and
the training pass by pass.

Spaces are named as `core.study.spaces.find_space` reads them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float32

from core.errors import InputError
from core.questions.adapters.maps.model import Adapters, Parts, Settings, compared, joined, split
from core.questions.adapters.measures import score_views
from core.questions.adapters.retrieval import rank_own, recall
from core.settings import choose_device
from core.spaces.choices import Clamping
from core.spaces.preprocess import thresholds
from core.study.models import is_reality, reads
from core.study.parts import Measure
from core.study.spaces import Layer, by_size, find_space, find_spaces, largest_models
from core.study.study import Study

if TYPE_CHECKING:
    from core.questions.adapters.maps.training import Epoch

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


def usual_models(study: Study, models: pd.DataFrame, solved: pd.DataFrame) -> tuple[list[str], str]:
    """Return two encoders and the reference among some models.

    models: rows of `Study.models`. solved: the share of tasks that each vision model
    solves: model, solved.

    The reference is the best vision model by tasks solved, else the largest model that leaves two
    encoders. The encoders are one that reads images and one that reads captions where there are
    both. Raises InputError for fewer than three models.
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
    reference = _usual_reference(large, seeing, solved)
    preferred = [name for name in largest_models(study) if name in models.index]
    first = [name for name in (*preferred, *seeing) if name != reference]
    candidates = [*first[:1], *reading[:1], *large.index]
    return list(dict.fromkeys(one for one in candidates if one != reference))[:2], reference


def _usual_reference(large: pd.DataFrame, seeing: list[str], solved: pd.DataFrame) -> str:
    share = solved.dropna(subset="solved").set_index("model")["solved"].astype("float64")
    measured = share[share.index.isin(seeing)]
    if len(measured):
        return str(measured.idxmax())
    other = large.index[is_reality(large)].tolist()
    return str((seeing if len(seeing) > 1 else [*other, *large.index[::-1]])[0])


def follow(
    lesson: Lesson, reference: Space, measure: Measure, settings: Settings, *, device: str
) -> Iterator[tuple[Epoch, Mapping[str, float]]]:
    """Train, and yield after each pass the state of the training, with a row of its figures:
    epoch, loss, validation, best (its pass), and recall_10 and alignment of the best adapters so
    far (see `watch`).
    """
    seen: dict[str, float] = {}
    for epoch in passes(lesson, settings, seed=0, device=device):
        if epoch.best_number == epoch.number:
            seen = watch(lesson, reference, epoch.best, measure)
        losses = {"epoch": epoch.number, "loss": epoch.loss, "validation": epoch.validation}
        yield epoch, {**losses, "place": epoch.place, "best": epoch.best_number, **seen}


def passes(lesson: Lesson, settings: Settings, *, seed: int, device: str) -> Iterator[Epoch]:
    """Train, and yield after each pass the state of the training."""
    from core.questions.adapters.maps.training import train  # torch takes seconds

    return train(lesson.spaces, lesson.parts, settings, seed=seed, device=choose_device(device))


def train_once(
    lesson: Lesson, settings: Settings, *, device: str, stop: int | None = None
) -> Adapters:
    """Return the best adapters of one training; stop: after so many passes, None for the end."""
    for epoch in passes(lesson, settings, seed=0, device=device):
        best = epoch.best
        if epoch.number == stop:
            break
    return best


def watch(
    lesson: Lesson, reference: Space, adapters: Adapters, measure: Measure
) -> dict[str, float]:
    """Return how adapters do on the validation stimuli: alignment and recall_10.

    alignment: of the mean of all adapted vectors with the reference. recall_10: the mean over all
    directions.
    """
    rows = lesson.parts.validation
    adapted = adapters.apply({name: space[rows] for name, space in lesson.spaces.items()})
    mean = joined(adapted, adapters.products)
    scores = score_views({"": mean}, compared(reference[rows], adapters.products), measure)
    recalls = [
        recall(rank_own(adapted[a], adapted[b]), 10) for a in adapted for b in adapted if a != b
    ]
    return {"alignment": scores[""], "recall_10": float(np.mean(recalls))}
