"""Rows of the training pool: what models of images, language and melodies are shown of an event."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
from jaxtyping import UInt8, UInt16
from tokenizers import Tokenizer

from core.machine.processes import spread
from core.stimuli.cave.densities import LEVELS
from core.stimuli.cave.drawing import draw
from core.stimuli.cave.events import Event, draw_event, event_rng
from core.stimuli.cave.grammar import describe
from core.stimuli.cave.music.melody import sing
from core.stimuli.cave.music.notes import write
from core.training.configs import CONTEXT, IMAGE

SPLIT = "train"
_CHUNK = 512  # rows that a worker writes at a time

Rows = Callable[[Event], np.ndarray]


def pixels(event: Event) -> UInt8[np.ndarray, "3 side side"]:
    """Return the image that a model sees, channels first."""
    return np.asarray(draw(event, size=IMAGE)).transpose(2, 0, 1)


def texts(count: int) -> Iterator[str]:
    """Yield every level's caption of the first `count` training events."""
    return (describe(draw_event(SPLIT, index), level) for index in range(count) for level in LEVELS)


@dataclass(frozen=True)
class Captions:
    """Turns an event into one row of token ids per caption level, filled up with 0, the padding id,
    on the right.

    path: the tokenizer's tokenizer.json.
    """

    path: Path

    def __call__(self, event: Event) -> UInt16[np.ndarray, "levels context"]:
        tokenizer = _tokenizer(self.path)
        return np.stack([_padded(tokenizer.encode(describe(event, level)).ids) for level in LEVELS])


@dataclass(frozen=True)
class Passages:
    """Turns an event into one row of token ids: captions of any level, one after another, as many
    as fit.

    The same event described in other words is what teaches a language model that words are
    synonyms, as texts about one thing do. path: the tokenizer's tokenizer.json.
    """

    path: Path

    def __call__(self, event: Event) -> UInt16[np.ndarray, "context"]:
        rng = event_rng(event, purpose="passage")
        return _as_many_as_fit(_tokenizer(self.path), lambda: _any_caption(event, rng))


@dataclass(frozen=True)
class Concerts:
    """Turns an event into one row of token ids: melodies of it, one after another, as many as fit.

    path: the note tokenizer's tokenizer.json.
    """

    path: Path

    def __call__(self, event: Event) -> UInt16[np.ndarray, "context"]:
        rng = event_rng(event, purpose="concert")
        return _as_many_as_fit(_tokenizer(self.path), lambda: write(sing(event, rng=rng)))


def fill(
    path: Path, rows: Rows, count: int, shape: tuple[int, ...], dtype: str, *, jobs: int
) -> None:
    """Write `rows` of the first `count` training events into a new .npy file, which takes its name
    when it is complete; raises DeviceError where one of the `jobs` processes was killed.
    """
    new = path.with_suffix(".new.npy")
    np.lib.format.open_memmap(new, mode="w+", dtype=dtype, shape=(count, *shape)).flush()
    _reserve(new)
    write = partial(_write, new, rows)
    list(spread(write, range(0, count, _CHUNK), processes=jobs, light=True))
    os.replace(new, path)


def _reserve(path: Path) -> None:
    """Take all of a file's room now: a disk that fills up later would kill who writes its pages."""
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)


def _write(path: Path, rows: Rows, start: int) -> None:
    table = np.lib.format.open_memmap(path, mode="r+")
    for index in range(start, min(start + _CHUNK, len(table))):
        table[index] = rows(draw_event(SPLIT, index))
    table.flush()


def _any_caption(event: Event, rng: np.random.Generator) -> str:
    return describe(event, LEVELS[rng.integers(len(LEVELS))], rng=rng)


def _as_many_as_fit(tokenizer: Tokenizer, tell: Callable[[], str]) -> np.ndarray:
    ids: list[int] = []
    more = tokenizer.encode(tell()).ids
    while len(ids) + len(more) <= CONTEXT:
        ids += more
        more = tokenizer.encode(f" {tell()}", add_special_tokens=False).ids
    return _padded(ids)


def _padded(ids: list[int]) -> UInt16[np.ndarray, "context"]:
    return np.pad(np.array(ids, dtype=np.uint16), (0, CONTEXT - len(ids)))


@cache
def _tokenizer(path: Path) -> Tokenizer:
    return Tokenizer.from_file(str(path))
