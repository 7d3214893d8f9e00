"""The competence of models in a world: linear probes for vision and music, bits per byte and exams
for language.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from math import sqrt
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from PIL import Image

from core.competence.images import ImageSet, Question
from core.competence.language import choose, code_endings
from core.competence.opened import reopen
from core.competence.probes import split
from core.competence.records import (
    ACCURACY,
    BITS,
    Row,
    as_table,
    can_measure,
    joined,
    measured_rows,
    result_name,
    row,
    suite_recipe,
    unmeasured,
)
from core.competence.transfer import embed_items, probe_row
from core.encoders.encoder import Encoder, modality_of
from core.errors import EncoderError, InputError
from core.machine.processes import count_processes, spread
from core.modalities import Item
from core.progress import Progress
from core.stimuli.dataset import DatasetCard
from core.stimuli.worlds import Pictures, World
from core.store import ModelEntry, Store, write_result

EXAMS: Mapping[str, tuple[str, tuple[str, ...]]] = {  # task → group, parts
    "completions": ("language", ("binding", "companions")),
    "binding": ("completions", ("binding",)),
    "companions": ("completions", ("companions",)),
    "counting": ("language", ("counting",)),
}
PROBE = "probe"  # what the events of probes are called
_Z = 1.959964  # 95%
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

    drawn: gives the pictures, if a vision model needs them; by default every core draws them.
    Raise UnknownNameError, InputError for a dataset without a world and for features without a
    model, EncoderError if a model's weights are no longer those that were embedded.
    """
    held = Store(store)
    card, world, entries = check_measurable(held, dataset, models)
    missing = set(unmeasured(held, dataset))
    left = [entry for entry in entries if entry.card.name in missing]
    draw = drawn or partial(world.pictures, report=report)
    seeing = any(modality_of(entry.card).reads == "image" for entry in left)
    # on the CPU several processes measure; progress is the model's if there is one at a time
    processes = count_processes(len(left), device)
    shown = report if processes == 1 else None
    measure = _Measuring(held, dataset, world, draw() if seeing else {}, device, shown)
    for done, (place, rows) in enumerate(spread(measure, left, processes=processes), start=1):
        name, recipe = left[place].card.name, suite_recipe(left[place])
        table = as_table(rows, model=name, recipe=recipe)
        write_result(store, dataset=card, name=result_name(name), table=table, recipe=recipe)
        if report and not shown:
            report(done, len(left), "models measured")
    kept = [measured_rows(held, dataset, entry) for entry in entries]
    return joined([table for table in kept if table is not None])


def check_measurable(
    held: Store, dataset: str, models: Sequence[str]
) -> tuple[DatasetCard, World, list[ModelEntry]]:
    """Return the dataset, its world and the models; raise as `measure_all`."""
    card = held.dataset(dataset)
    if card.world is None:
        raise InputError(
            f"the tasks and exams are about the Cave's events, and {dataset!r} is not made of them;"
            " name that dataset, or tasks with --task"
        )
    entries = [held.model(dataset, model) for model in models]
    if closed := [entry.card.name for entry in entries if not can_measure(entry)]:
        raise InputError(
            f"{closed[0]!r} has features only, and no model to run; name models that were"
            " embedded here"
        )
    return card, card.world, entries


def world_sets(
    world: World, reads: Item | None, drawn: Callable[[], Pictures], revision: str = ""
) -> list[ImageSet]:
    """Return what is asked of models that read this: a set for each style of pictures, or one of
    melodies.
    """
    suite = world.suite(reads)

    def items(style: str, start: int, stop: int) -> Sequence[Image.Image] | Sequence[str]:
        if reads == "image":
            return [Image.fromarray(one) for one in np.asarray(drawn()[style][start:stop])]
        return [world.melody(event) for event in world.probes()[start:stop]]

    sets = []
    for style, count in suite["samples"].items():
        questions = tuple(
            Question(task.name, task.group, world.labels(task, count), split(count), PROBE)
            for task in world.tasks(reads)
            if task.style == style
        )
        source = {"cave": revision, "style": style, "samples": count, "seed": world.seed}
        source |= {"version": suite["questions"]}
        name = f"{style} probe pictures" if reads == "image" else "probe melodies"
        sets.append(ImageSet(name, source, count, partial(items, style), questions))
    return sets


def world_tasks(card: DatasetCard, *, report: Progress | None = None) -> list[ImageSet]:
    """Return the tasks of a dataset's world, whose pictures are drawn on first use. Raise
    InputError for a dataset without a world.
    """
    world = card.world
    if world is None:
        raise InputError(
            f"the Cave's tasks are of its own events, and {card.name!r} is not made of them; name"
            " tasks with --task"
        )
    return world_sets(world, "image", cache(partial(world.pictures, report=report)), card.revision)


def sit_exams(encoder: Encoder, world: World, *, report: Progress | None = None) -> list[Row]:
    """Return a row for each exam; NaN for a model that is not causal or reads too few tokens."""
    items = [item for exam in world.exams for item in world.items(exam)]
    answer = partial(row, unit=ACCURACY, split="test")
    try:
        codes = code_endings(encoder, items, report=report)
    except EncoderError as error:
        return [answer(name, group, reason=str(error)) for name, (group, _) in EXAMS.items()]
    rows = []
    for name, (group, parts) in EXAMS.items():
        places = [place for place, item in enumerate(items) if item.exam in parts]
        score = choose(codes[places], [items[place] for place in places])
        rows.append(answer(name, group, **vars(score)))
    return rows


def bits_per_byte(costs: pd.DataFrame | None, quantile: float = _Z) -> list[Row]:
    """Return two rows over the texts of `costs` (bits, bytes): total bits / total bytes, and the
    mean of bits / bytes; NaN for fewer than two texts.

    Intervals: `quantile` standard errors over texts to each side; of the total by linearization.
    """
    names = BITS, f"{BITS}, mean over texts"
    answer = partial(row, group="language", unit=BITS, split="test")
    coded = (
        pd.DataFrame(columns=["bits", "bytes"], dtype=float)
        if costs is None
        else costs[["bits", "bytes"]].dropna()
    )
    if len(coded) < 2:
        reason = _MASKED if costs is None else "fewer than two texts are longer than one token"
        return [answer(name, reason=reason) for name in names]
    bits, bytes = coded["bits"].to_numpy(), coded["bytes"].to_numpy()
    total, ratios, n = bits.sum() / bytes.sum(), bits / bytes, len(coded)
    errors = (bits - total * bytes).std(ddof=1) / bytes.mean(), ratios.std(ddof=1)
    rows = []
    for name, value, error in zip(names, (float(total), float(ratios.mean())), errors, strict=True):
        half = quantile * float(error) / sqrt(n)
        low, high = value - half, value + half
        rows.append(answer(name, value=value, low=low, high=high, n=n))
    return rows


@dataclass(frozen=True)
class _Measuring:
    """Measures a model, in whichever process; models that want the same pictures share them."""

    store: Store
    dataset: str
    world: World
    pictures: Pictures
    device: torch.device
    report: Progress | None

    def __call__(self, entry: ModelEntry) -> list[Row]:
        encoder = reopen(entry, self.device)
        reads, world = modality_of(entry.card).reads, self.world
        if reads == "caption":
            costs = self.store.text_costs(self.dataset, entry.card.name)
            return [*bits_per_byte(costs), *sit_exams(encoder, world, report=self.report)]

        rows, last = dict[str, Row](), encoder.card.layers[-1:]
        for images in world_sets(world, reads, lambda: self.pictures):
            (space,) = embed_items(encoder, images, last, self.report).values()
            for done, question in enumerate(images.questions, start=1):
                rows[question.task] = probe_row(space, question, device=self.device)
                if self.report:
                    self.report(done, len(images.questions), "linear probes")
        return [rows[task.name] for task in world.tasks(reads)]
