"""The pictures of the transfer suite: every style of the probe events, drawn once by worker
processes and shared by all models.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from core.cave.drawing import draw
from core.cave.events import draw_event
from core.cave.tasks import SPLIT, STYLES
from core.machine.processes import count_cores, spread
from core.progress import Progress

SIDE = 48  # pixels, as the Cave's models see them; others bring them to their own size
_DRAWN = 96  # pixels when a style is laid over a picture, whose outlines want some room
_CHUNK = 100  # events that a worker draws at a time

Pictures = dict[str, UInt8[np.ndarray, "_ side side 3"]]


def draw_pictures(
    samples: Mapping[str, int], *, jobs: int | None = None, report: Progress | None = None
) -> Pictures:
    """Draw the first events of the probe stream in each style, as many as `samples` says.

    jobs: worker processes, one per core where None; 1 draws here. Raises DeviceError where one of
    them was killed.
    """
    starts, parts = range(0, max(samples.values()), _CHUNK), dict[int, Pictures]()
    draw_some = partial(_draw, dict(samples))
    drawing = spread(draw_some, starts, processes=jobs or count_cores(), light=True)
    for place, part in drawing:
        parts[place] = part
        if report:
            report(len(parts), len(starts), "drawing the probe pictures, in hundreds")
    return _joined([parts[place] for place in sorted(parts)])


def as_images(rows: UInt8[np.ndarray, "n side side 3"]) -> list[Image.Image]:
    """Return rows of pixels as images."""
    return [Image.fromarray(row) for row in rows]


def _draw(samples: Mapping[str, int], start: int) -> Pictures:
    """Draw one chunk of events, each in every style that goes so far."""
    stop = min(start + _CHUNK, max(samples.values()))
    plain = [draw(draw_event(SPLIT, index), size=_DRAWN) for index in range(start, stop)]
    wanted = {style: plain[: max(0, count - start)] for style, count in samples.items()}
    return {
        style: np.stack([_styled(style, image) for image in images])
        for style, images in wanted.items()
        if images
    }


def _styled(style: str, image: Image.Image) -> UInt8[np.ndarray, "side side 3"]:
    return np.asarray(STYLES[style](image).reduce(_DRAWN // SIDE))


def _joined(parts: list[Pictures]) -> Pictures:
    return {
        style: np.concatenate([part[style] for part in parts if style in part])
        for style in parts[0]
    }
