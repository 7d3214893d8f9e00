"""The training pool: events of the split "train", drawn and described once by worker processes, then read from disk.

The pool is a folder named by a digest of a sample of it, so that a pool of an older world, grammar or tokenizer is never taken for
this one. No training event shares its signature with a test event (core/stimuli/cave/events.py).
"""

from __future__ import annotations

import fcntl
import hashlib
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from core.stimuli.cave.events import draw_event
from core.stimuli.cave.grammar import LEVELS, describe
from core.training.attributes import ATTRIBUTES, answers
from core.training.configs import CONTEXT, IMAGE, VOCABULARY
from core.training.rows import SPLIT, Rows, Tokens, fill, pixels, texts
from core.training.tokenizer import build_tokenizer

IMAGES = 49_152
EVENTS = 98_304  # described in words; the first of them are drawn too
_SAMPLE = 64  # events that the digest and nothing else looks at
_LEARNED = 8_192  # events whose captions the tokenizer is learned from


@dataclass(frozen=True)
class Pool:
    """Where the pool is and how much of it is used.

    root: folder of pools. images, events: number of events drawn and described. jobs: worker processes.
    """

    root: Path
    images: int = IMAGES
    events: int = EVENTS
    jobs: int = 1

    def pictures(self) -> torch.Tensor:
        """Return the images, (images, 3, 48, 48) uint8."""
        return self._kept(f"images-{IMAGE}px", pixels, self.images, (3, IMAGE, IMAGE), "uint8")

    def answers(self) -> torch.Tensor:
        """Return the classes of every attribute, (images, tasks) uint8."""
        return self._kept("answers", answers, self.images, (len(ATTRIBUTES),), "uint8")

    def captions(self) -> torch.Tensor:
        """Return one caption per event and level as token ids, (events, levels, CONTEXT) uint16, filled up with the padding id."""
        return self._kept(
            "captions", Tokens(self.tokenizer_folder() / "tokenizer.json"), self.events, (len(LEVELS), CONTEXT), "uint16"
        )

    def tokenizer(self) -> PreTrainedTokenizerBase:
        """Return the tokenizer of all language models."""
        return AutoTokenizer.from_pretrained(self.tokenizer_folder())

    def tokenizer_folder(self) -> Path:
        """Return the tokenizer's folder, made where it is missing."""
        folder = self._folder() / "tokenizer"
        with _locked(folder.with_suffix(".lock")):
            if not folder.exists():
                build_tokenizer(texts(min(_LEARNED, self.events)), vocab_size=VOCABULARY).save_pretrained(folder)
        return folder

    @cached_property
    def digest(self) -> str:
        """Return the digest of the world as it is drawn and described now."""
        return world_digest()

    def _folder(self) -> Path:
        folder = self.root / self.digest
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _kept(self, name: str, rows: Rows, count: int, shape: tuple[int, ...], dtype: str) -> torch.Tensor:
        path = self._folder() / f"{name}-{count}.npy"
        with _locked(path.with_suffix(".lock")):
            if not path.exists():
                fill(path, rows, count, shape, dtype, jobs=self.jobs)
        return torch.from_numpy(np.load(path, mmap_mode="c"))  # copy on write: torch wants writable memory, the file stays as it is


def world_digest() -> str:
    """Return 12 hexadecimal digits that change with the world, the drawing, the grammar, the tokenizer or the attributes."""
    digest = hashlib.sha256(inspect.getsource(build_tokenizer).encode())
    for index in range(_SAMPLE):
        event = draw_event(SPLIT, index)
        digest.update(pixels(event).tobytes())
        digest.update(answers(event).tobytes())
        digest.update("\n".join(describe(event, level) for level in LEVELS).encode())
    return digest.hexdigest()[:12]


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Let one process at a time make a part of the pool; the others wait and then find it."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
