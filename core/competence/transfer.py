"""Linear probes of the store's vision models on any labeled images, kept as competence."""

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
from core.competence.records import (
    ACCURACY,
    COLUMNS,
    Row,
    joined,
    keep_rows,
    kept_rows,
    measured_name,
    row,
)
from core.embedding.runner import auto_batch_size, encode_fitting
from core.encoders.encoder import Encoder
from core.errors import FeatureError, InputError, UnknownNameError
from core.progress import Progress
from core.recipe import Recipe
from core.settings import expand
from core.store import Store
from core.store.schema import VERSIONS

Layers = Literal["last", "all"]


def open_tasks(
    names: Sequence[str], *, limit: Limit = LIMIT, report: Progress | None = None
) -> list[ImageSet]:
    """Open tasks of VTAB, `vtab` for all of them, or folders of labeled images; at most `limit`
    samples of each. Raise UnknownNameError for another name, InputError for two folders of one
    name, and as `open_vtab` and `open_folder`.
    """
    wanted = [name for each in names for name in (task_names() if each == ALL else [each])]
    sets = []
    for name in dict.fromkeys(wanted):
        if name in task_names():
            sets.append(open_vtab(name, limit=limit, report=report))
        elif name and expand(name).exists():  # "" would be the current folder
            sets.append(open_folder(expand(name), limit=limit, report=report))
        else:
            raise UnknownNameError("folder or task of VTAB", name, [*task_names(), ALL])
    for name, times in Counter(images.name for images in sets).items():
        if times > 1:
            raise InputError(
                f"{times} tasks are named {name!r}, so one would replace the other; rename a folder"
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
    """Probe models on every question of the sets, keep the rows in the store and return them:
    COLUMNS, then `layer`.

    models: names of vision models, all of the dataset if empty. What is kept by the same recipe is
    not measured again. Raise UnknownNameError, InputError for models that see no images,
    EncoderError if weights are no longer those embedded.
    """
    held = Store(store)
    tables = list[pd.DataFrame]()
    for entry in entries_to_measure(held, dataset, models, "image"):
        name, encoder = f"layers~{entry.card.name}", None  # probes of all layers are no competence
        if layers == "last":
            name = measured_name("probes", entry.card.name)
        wanted = entry.card.layers[-1:] if layers == "last" else entry.card.layers
        for images in sets:
            spaces: dict[str, np.ndarray] = {}
            for question in images.questions:
                recipe = Recipe.of(
                    "probe",
                    version=VERSIONS["probe"],
                    weights=entry.card.weights,
                    layers=layers,
                    precision=precision_name(entry, device),
                    images=dict(images.source),
                    task=question.task,
                )
                kept = kept_rows(held, dataset, name, entry, recipe)
                if kept is None:
                    encoder = encoder or reopen(entry, device)
                    spaces = spaces or embed_items(encoder, images, wanted, report)
                    rows = []
                    for done, (layer, space) in enumerate(spaces.items(), start=1):
                        rows.append(probe_row(space, question, device=device) | {"layer": layer})
                        if report:
                            report(done, len(spaces), f"linear probes of {question.task}")
                    kept = keep_rows(held, dataset, name, entry, recipe, rows)
                tables.append(kept)
    return joined(tables, [*COLUMNS, "layer"])


def embed_items(
    encoder: Encoder, items: ImageSet, layers: Sequence[str], report: Progress | None
) -> dict[str, Float32[np.ndarray, "n _"]]:
    """Return the last layers of a model, by their names, over items that are read a batch at a
    time.
    """
    parts: list[list[np.ndarray]] = [[] for _ in layers]
    batch, limit = auto_batch_size(encoder.device), 0
    for start in range(0, items.size, batch):
        stop = min(start + batch, items.size)
        encoding, limit = encode_fitting(encoder, items.images(start, stop), limit=limit)
        for part, layer in zip(parts, encoding.layers[-len(layers) :], strict=True):
            part.append(layer)
        if report:
            report(stop, items.size, f"{encoder.card.name} over {items.name}")
    return {name: np.concatenate(part) for name, part in zip(layers, parts, strict=True)}


def probe_row(
    space: Float32[np.ndarray, "n _"], question: Question, *, device: torch.device | str = "cpu"
) -> Row:
    """Return what a probe answers as a row, NaN with the reason if a space cannot be probed."""
    answer = partial(row, question.task, question.group, unit=ACCURACY, split=question.split)
    try:
        return answer(**vars(probe(space, question.labels, question.parts, device=device)))
    except FeatureError as error:
        return answer(reason=str(error))
