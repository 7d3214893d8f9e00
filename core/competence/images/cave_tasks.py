"""The Cave's nineteen tasks as sets of images with questions, for probes of every layer."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from PIL import Image

from core.cave import tasks
from core.cave.events import SEED, events
from core.competence.images.labeled import ImageSet, Question
from core.competence.images.pictures import Pictures, as_images, draw_pictures
from core.competence.probes import split
from core.errors import InputError
from core.progress import Progress
from core.stimuli.dataset import DatasetCard


def cave_tasks(card: DatasetCard, *, report: Progress | None = None) -> list[ImageSet]:
    """Return the Cave's tasks, one set for each style of pictures, which are drawn on
    first use.

    Raises InputError for the card of another dataset.
    """
    if not card.has_probes:
        raise InputError(
            f"the Cave's tasks are of its own events, and {card.name!r} is not made of them; name"
            " tasks with --task"
        )

    @cache
    def drawn() -> Pictures:
        return draw_pictures(tasks.SAMPLES, report=report)

    return [_of_style(style, card, drawn) for style in tasks.SAMPLES]


def _of_style(style: str, card: DatasetCard, drawn: Callable[[], Pictures]) -> ImageSet:
    count = tasks.SAMPLES[style]
    seen = [(event, tasks.look_of(event)) for event in events(tasks.SPLIT, count)]
    questions = tuple(
        Question(task.name, task.group, tasks.labels(task, seen), split(count), split=tasks.SPLIT)
        for task in tasks.TASKS
        if task.style == style
    )
    source = {
        "cave": card.revision,
        "style": style,
        "samples": count,
        "seed": SEED,
        "version": tasks.VERSION,
    }

    def images(start: int, stop: int) -> list[Image.Image]:
        return as_images(np.asarray(drawn()[style][start:stop]))

    return ImageSet(f"{style} probe pictures", source, count, images, questions)
