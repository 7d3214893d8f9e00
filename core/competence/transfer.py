"""Linear probes of the store's vision models on any labeled images, on their last layer or on all,
kept as rows of competence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float32

from core.competence.images import (
    ALL,
    LIMIT,
    ImageSet,
    Limit,
    Question,
    open_folder,
    open_vtab,
    task_names,
)
from core.competence.opened import entries_to_measure, precision_name, reopen
from core.competence.probes import probe
from core.competence.records import ACCURACY, COLUMNS, Row, keep_rows, kept_rows, measured_name, row
from core.embedding.runner import auto_batch_size, encode_fitting
from core.encoders.encoder import Encoder
from core.errors import FeatureError, InputError, UnknownNameError
from core.progress import Progress
from core.recipe import Recipe
from core.settings import expand
from core.store import ModelEntry, Store
from core.store.schema import VERSIONS

Layers = Literal["last", "all"]


def open_tasks(
    names: Sequence[str], *, limit: Limit = LIMIT, report: Progress | None = None
) -> list[ImageSet]:
    """Open tasks by name: one of VTAB, `vtab` for all of them, or a folder of labeled images; at
    most `limit` samples of each. Raises UnknownNameError for what is neither, InputError for two
    folders of one name, and as `open_vtab` and `open_folder`.
    """
    wanted = [name for each in names for name in (task_names() if each == ALL else [each])]
    sets = []
    for name in dict.fromkeys(wanted):
        if name in task_names():
            sets.append(open_vtab(name, limit=limit, report=report))
        elif name and expand(name).exists():  # "" would be the folder that one stands in
            sets.append(open_folder(expand(name), limit=limit, report=report))
        else:
            raise UnknownNameError("folder or task of VTAB", name, [*task_names(), ALL])
    for name, times in Counter(images.name for images in sets).items():
        if times > 1:
            raise InputError(
                f"{times} tasks are called {name!r}, and each takes the place of the other; rename"
                " a folder"
            )
    return sets


def probe_models(
    store: Path,
    dataset: str,
    models: Sequence[str],
    sets: Sequence[ImageSet],
    *,
    layers: Layers = "last",
    device: torch.device,
    report: Progress | None = None,
) -> pd.DataFrame:
    """Probe models on every question of the sets given, keep the rows in the store and return them:
    COLUMNS, then `layer`.

    models: names of vision models, all of the dataset if empty. What is kept by the same recipe is
    not measured again. Those of the last layer are competence; those of all layers are kept next to
    it. Raises UnknownNameError, InputError for models that see no images, EncoderError if weights
    are no longer those embedded.
    """
    held = Store(store)
    tables: list[pd.DataFrame] = []
    for entry in entries_to_measure(held, dataset, models, "image"):
        name, encoder = f"layers~{entry.card.name}", None  # which is no competence of the model's
        if layers == "last":
            name = measured_name("probes", entry.card.name)
        for images in sets:
            questions = images.questions
            recipes = {each: _recipe(entry, images, each, layers, device) for each in questions}
            kept = {
                question: kept_rows(held, dataset, name, entry, recipe)
                for question, recipe in recipes.items()
            }
            if left := [question for question in recipes if kept[question] is None]:
                encoder = encoder or reopen(entry, device)
                spaces = _embed(encoder, images, layers, report)
            for question in left:
                rows = _probe_layers(spaces, question, device=device, report=report)
                kept[question] = keep_rows(held, dataset, name, entry, recipes[question], rows)
            tables += [table for table in kept.values() if table is not None]
    empty = pd.DataFrame(columns=[*COLUMNS, "layer"])
    return pd.concat(tables, ignore_index=True) if tables else empty


def _embed(
    encoder: Encoder, images: ImageSet, layers: Layers, report: Progress | None
) -> dict[str, Float32[np.ndarray, "n _"]]:
    wanted = encoder.card.layers[-1:] if layers == "last" else encoder.card.layers
    parts: list[list[np.ndarray]] = [[] for _ in wanted]
    size, limit = auto_batch_size(encoder.device), 0
    for start in range(0, images.size, size):
        stop = min(start + size, images.size)
        encoding, limit = encode_fitting(encoder, images.images(start, stop), limit=limit)
        for part, layer in zip(parts, encoding.layers[-len(wanted) :], strict=True):
            part.append(layer)
        if report:
            report(stop, images.size, f"{encoder.card.name} over {images.name}")
    return {name: np.concatenate(part) for name, part in zip(wanted, parts, strict=True)}


def _probe_layers(
    spaces: dict[str, np.ndarray],
    question: Question,
    *,
    device: torch.device,
    report: Progress | None,
) -> list[Row]:
    """Return a row for each layer, NaN with the reason if a layer cannot be probed."""
    rows = []
    for done, (layer, space) in enumerate(spaces.items(), start=1):
        answer = partial(row, question.task, question.group, unit=ACCURACY, split=question.split)
        try:
            score = answer(**vars(probe(space, question.labels, question.parts, device=device)))
        except FeatureError as error:
            score = answer(reason=str(error))
        rows.append(score | {"layer": layer})
        if report:
            report(done, len(spaces), f"linear probes of {question.task}")
    return rows


def _recipe(
    entry: ModelEntry, images: ImageSet, question: Question, layers: Layers, device: torch.device
) -> Recipe:
    return Recipe.of(
        "probe",
        version=VERSIONS["probe"],
        weights=entry.card.weights,
        layers=layers,
        precision=precision_name(entry, device),
        images=dict(images.source),
        task=question.task,
    )
