"""Measure a model's competence in the Cave: nineteen linear probes for vision, eleven of them for
music; bits per byte and two exams for language.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float32

from core.cave import exams, tasks
from core.cave.drawing import Look
from core.cave.events import Event, events
from core.cave.melodies import sing, write
from core.competence.images.pictures import Pictures, as_images, draw_pictures
from core.competence.language.completions import choose, code_endings
from core.competence.opened import reopen
from core.competence.probes import probe, split
from core.competence.records import (
    ACCURACY,
    BITS,
    COLUMNS,
    as_table,
    can_measure,
    measured_rows,
    result_name,
    row,
    suite_recipe,
    unmeasured,
)
from core.embedding.images import SharedImages
from core.embedding.runner import auto_batch_size, encode_fitting
from core.encoders.encoder import Encoder, modality_of
from core.errors import EncoderError, FeatureError, InputError
from core.machine.processes import count_processes, spread
from core.progress import Progress
from core.stimuli.dataset import DatasetCard
from core.store import ModelEntry, Store, write_result

EXAMS: Mapping[str, tuple[str, tuple[str, ...]]] = {  # task → group, parts
    "completions": ("language", ("binding", "companions")),
    "binding": ("completions", ("binding",)),
    "companions": ("completions", ("companions",)),
    "counting": ("language", ("counting",)),
}
_Z = 1.959964  # 95 %
_MASKED = "this model does not predict text, so it has no bits per byte"


def measure_all(
    store: Path,
    dataset: str,
    models: Sequence[str],
    *,
    device: torch.device,
    drawn: Callable[[], Pictures] | None = None,
    report: Progress | None = None,
) -> pd.DataFrame:
    """Measure the models that have not been measured, keep their rows in the store and return the
    rows of all.

    drawn: gives the pictures; where None they are drawn here, by every core. They are wanted only
    where a vision model needs them. Raises UnknownNameError, InputError for a dataset that is not
    the Cave and for features without a model, EncoderError where a model's weights are no longer
    those that were embedded.
    """
    held = Store(store)
    card, entries = check_measurable(held, dataset, models)
    missing = set(unmeasured(held, dataset))
    left = [entry for entry in entries if entry.card.name in missing]
    seeing = any(modality_of(entry.card).reads == "image" for entry in left)
    draw = drawn or partial(draw_pictures, tasks.SAMPLES, report=report)
    pictures = draw() if seeing else {}
    for entry, rows in _each_measured(held, dataset, left, pictures, device=device, report=report):
        recipe = suite_recipe(entry)
        table = as_table(rows, model=entry.card.name, recipe=recipe)
        write_result(
            store, dataset=card, name=result_name(entry.card.name), table=table, recipe=recipe
        )
    kept = [measured_rows(held, dataset, entry) for entry in entries]
    tables = [table for table in kept if table is not None]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=list(COLUMNS))


def check_measurable(
    held: Store, dataset: str, models: Sequence[str]
) -> tuple[DatasetCard, list[ModelEntry]]:
    """Return the dataset and the models, all of which can be measured; raises as `measure_all`."""
    card = held.dataset(dataset)
    if not card.has_probes:
        raise InputError(
            f"the tasks and exams are about the Cave's events, and {dataset!r} is not made of them;"
            " name that dataset"
        )
    entries = [held.model(dataset, model) for model in models]
    if closed := [entry.card.name for entry in entries if not can_measure(entry)]:
        raise InputError(
            f"{closed[0]!r} has features only, and no model to run; name models that were"
            " embedded here"
        )
    return card, entries


def probe_tasks(
    features: Mapping[str, Float32[np.ndarray, "_ d"]],
    *,
    asked: Sequence[tasks.Task],
    device: torch.device | str = "cpu",
    report: Progress | None = None,
) -> list[dict[str, Any]]:
    """Return a row for each of the tasks that are asked. features: of the first probe events'
    pictures, by style; of their melodies under that of the plain ones.
    """
    rows = []
    for done, task in enumerate(asked, start=1):
        rows.append(_probe_task(task, features[task.style], device=device))
        if report:
            report(done, len(asked), "linear probes")
    return rows


def sit_exams(encoder: Encoder, *, report: Progress | None = None) -> list[dict[str, Any]]:
    """Return a row for each exam and each part of `completions`; NaN for a model that is not causal
    or reads too few tokens.
    """
    items = [item for part in exams.SIZES for item in exams.items(part)]
    try:
        codes = code_endings(encoder, items, report=report)
    except EncoderError as error:
        return [
            row(name, group, unit=ACCURACY, split="test", reason=str(error))
            for name, (group, _) in EXAMS.items()
        ]
    rows = []
    for name, (group, parts) in EXAMS.items():
        places = [place for place, item in enumerate(items) if item.exam in parts]
        score = choose(codes[places], [items[place] for place in places])
        rows.append(row(name, group, unit=ACCURACY, split="test", **vars(score)))
    return rows


def bits_per_byte(costs: pd.DataFrame | None, quantile: float = _Z) -> list[dict[str, Any]]:
    """Return two rows over the texts of `costs` (bits, bytes): total bits / total bytes, and the
    mean of bits / bytes.

    Lower is better. Intervals: `quantile` standard errors to each side, 95 % of a normal where not
    said otherwise, with texts as the independent samples; that of the total by linearization. There
    is no chance level. NaN for a model that codes no texts, or fewer than two.
    """
    names = BITS, f"{BITS}, mean over texts"
    coded = (
        pd.DataFrame(columns=["bits", "bytes"], dtype=float)
        if costs is None
        else costs[["bits", "bytes"]].dropna()
    )
    if len(coded) < 2:
        reason = _MASKED if costs is None else "fewer than two texts are longer than one token"
        return [row(name, "language", unit=BITS, split="test", reason=reason) for name in names]
    bits, bytes = coded["bits"].to_numpy(), coded["bytes"].to_numpy()
    total, ratios, n = bits.sum() / bytes.sum(), bits / bytes, len(coded)
    errors = (bits - total * bytes).std(ddof=1) / bytes.mean(), ratios.std(ddof=1)
    rows = []
    for name, value, error in zip(names, (float(total), float(ratios.mean())), errors, strict=True):
        half = quantile * float(error) / sqrt(n)
        rows.append(
            row(
                name,
                "language",
                unit=BITS,
                split="test",
                value=value,
                low=value - half,
                high=value + half,
                n=n,
            )
        )
    return rows


def _each_measured(
    store: Store,
    dataset: str,
    entries: Sequence[ModelEntry],
    pictures: Pictures,
    *,
    device: torch.device,
    report: Progress | None,
) -> Iterator[tuple[ModelEntry, list[dict[str, Any]]]]:
    """Yield the rows of each model as they are known; on the CPU several processes measure.

    Progress is the model's where there is one at a time, and else counts models.
    """
    processes = count_processes(len(entries), device)
    shown = report if processes == 1 else None
    measure = _Measuring(store, dataset, pictures, device, shown)
    measured = spread(measure, entries, processes=processes)
    for done, (place, rows) in enumerate(measured, start=1):
        yield entries[place], rows
        if report and not shown:
            report(done, len(entries), "models measured")


@dataclass(frozen=True)
class _Measuring:
    """Measures a model, in whichever process; models that want the pictures alike share them."""

    store: Store
    dataset: str
    pictures: Pictures
    device: torch.device
    report: Progress | None
    prepared: SharedImages = field(default_factory=SharedImages)

    def __call__(self, entry: ModelEntry) -> list[dict[str, Any]]:
        encoder = self.prepared.shared_by(reopen(entry, self.device))
        reads = modality_of(entry.card).reads
        if reads == "image":
            return _probe_pictures(encoder, self.pictures, device=self.device, report=self.report)
        if reads == "melody":
            return _probe_melodies(encoder, device=self.device, report=self.report)
        costs = self.store.text_costs(self.dataset, entry.card.name)
        return [*bits_per_byte(costs), *sit_exams(encoder, report=self.report)]


def _probe_pictures(
    encoder: Encoder, pictures: Pictures, *, device: torch.device, report: Progress | None
) -> list[dict[str, Any]]:
    features = {
        style: _features(
            encoder, rows, as_items=as_images, what=f"{style} probe pictures", report=report
        )
        for style, rows in pictures.items()
    }
    return probe_tasks(features, asked=tasks.TASKS, device=device, report=report)


def _probe_melodies(
    encoder: Encoder, *, device: torch.device, report: Progress | None
) -> list[dict[str, Any]]:
    sung = [write(sing(event)) for event, _ in _seen(tasks.SAMPLES["plain"])]
    features = _features(encoder, sung, as_items=list, what="probe melodies", report=report)
    return probe_tasks({"plain": features}, asked=tasks.SUNG, device=device, report=report)


def _features(
    encoder: Encoder,
    rows: Sequence[Any] | np.ndarray,
    *,
    as_items: Callable[[Any], list[Any]],
    what: str,
    report: Progress | None,
) -> Float32[np.ndarray, "n d"]:
    """Return the last layer's vectors of rows. as_items: makes of a batch what is encoded."""
    size, limit, parts = auto_batch_size(encoder.device), 0, []
    for start in range(0, len(rows), size):
        encoding, limit = encode_fitting(encoder, as_items(rows[start : start + size]), limit=limit)
        parts.append(encoding.layers[-1])
        if report:
            done = min(start + size, len(rows))
            report(done, len(rows), f"{encoder.card.name} over {what}")
    return np.concatenate(parts)


def _probe_task(
    task: tasks.Task, features: Float32[np.ndarray, "n d"], *, device: torch.device | str
) -> dict[str, Any]:
    try:
        score = probe(
            features, tasks.labels(task, _seen(len(features))), split(len(features)), device=device
        )
    except FeatureError as error:
        return row(task.name, task.group, unit=ACCURACY, split=tasks.SPLIT, reason=str(error))
    return row(task.name, task.group, unit=ACCURACY, split=tasks.SPLIT, **vars(score))


@cache
def _seen(count: int) -> tuple[tuple[Event, Look], ...]:
    return tuple((event, tasks.look_of(event)) for event in events(tasks.SPLIT, count))
