"""The training pool: events of the split "train", drawn and described once by worker processes,
then read from disk.

Every part is named by a digest of a sample of it, so that one of an older drawing, grammar or
tokenizer is never taken for it. No training event shares its signature with a test event
(core/stimuli/cave/events.py).
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from filelock import FileLock
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from core.stimuli.cave.densities import LEVELS
from core.stimuli.cave.events import draw_event
from core.stimuli.cave.music.melody import sing
from core.stimuli.cave.music.notes import write
from core.training.attributes import ATTRIBUTES, answers
from core.training.configs import CONTEXT, EVENTS, IMAGE, IMAGES, VOCABULARY
from core.training.rows import SPLIT, Captions, Concerts, Passages, Rows, fill, pixels, texts
from core.training.tokenizer import VERSION as TOKENIZER
from core.training.tokenizer import build_note_tokenizer, build_tokenizer

_SAMPLE = 64  # events that the digest and nothing else looks at
_LEARNED = 8_192  # events whose captions the tokenizer is learned from


@dataclass(frozen=True)
class Pool:
    """Where the pool is and how much of it is used.

    root: its folder. images, events: number of events drawn and described. jobs: worker processes.
    """

    root: Path
    images: int = IMAGES
    events: int = EVENTS
    jobs: int = 1

    def pictures(self) -> torch.Tensor:
        """Return the images, (images, 3, 48, 48) uint8."""
        return self._kept(f"images-{self.shown}", pixels, self.images, (3, IMAGE, IMAGE), "uint8")

    def answers(self) -> torch.Tensor:
        """Return the classes of every attribute, (images, tasks) uint8."""
        return self._kept(
            f"answers-{self.shown}", answers, self.images, (len(ATTRIBUTES),), "uint8"
        )

    def captions(self) -> torch.Tensor:
        """Return a caption of every level for each drawn event as token ids, (images, levels,
        CONTEXT) uint16, 0 is padding.
        """
        rows = Captions(self.tokenizer_folder() / "tokenizer.json")
        return self._kept(
            f"captions-{self.said}", rows, self.images, (len(LEVELS), CONTEXT), "uint16"
        )

    def passages(self) -> torch.Tensor:
        """Return several descriptions of each event as token ids, (events, CONTEXT) uint16, 0 is
        padding.
        """
        rows = Passages(self.tokenizer_folder() / "tokenizer.json")
        return self._kept(f"passages-{self.said}", rows, self.events, (CONTEXT,), "uint16")

    def concerts(self) -> torch.Tensor:
        """Return several melodies of each event as token ids, (events, CONTEXT) uint16, 0 is
        padding.
        """
        rows = Concerts(self.note_tokenizer_folder() / "tokenizer.json")
        return self._kept(f"concerts-{self.sung}", rows, self.events, (CONTEXT,), "uint16")

    def tokenizer(self) -> PreTrainedTokenizerBase:
        """Return the tokenizer of all language models."""
        return AutoTokenizer.from_pretrained(self.tokenizer_folder())

    def note_tokenizer(self) -> PreTrainedTokenizerBase:
        """Return the tokenizer of all models of melodies."""
        return AutoTokenizer.from_pretrained(self.note_tokenizer_folder())

    def tokenizer_folder(self) -> Path:
        """Return the tokenizer's folder, made where it is missing."""
        folder = self.root / f"tokenizer-{self.said}"
        with _locked(folder):
            if not folder.exists():
                learned = texts(min(_LEARNED, self.events))
                _save(build_tokenizer(learned, vocab_size=VOCABULARY), folder)
        return folder

    def note_tokenizer_folder(self) -> Path:
        """Return the folder of the note tokenizer, made where it is missing."""
        folder = self.root / f"notes-{self.sung}"
        with _locked(folder):
            if not folder.exists():
                _save(build_note_tokenizer(), folder)
        return folder

    @cached_property
    def shown(self) -> str:
        """Return a digest that changes with the drawing or the attributes."""
        sample = [draw_event(SPLIT, index) for index in range(_SAMPLE)]
        return _digest(pixels(event).tobytes() + answers(event).tobytes() for event in sample)

    @cached_property
    def said(self) -> str:
        """Return a digest that changes with the grammar or the tokenizer."""
        return _digest(
            [
                f"{VOCABULARY} tokens, version {TOKENIZER}".encode(),
                *(text.encode() for text in texts(_SAMPLE)),
            ]
        )

    @cached_property
    def sung(self) -> str:
        """Return a digest that changes with the melodies or their tokens."""
        melodies = (write(sing(draw_event(SPLIT, index))) for index in range(_SAMPLE))
        tokens = build_note_tokenizer().get_vocab()
        return _digest(part.encode() for part in (*sorted(tokens), *melodies))

    def _kept(
        self, name: str, rows: Rows, count: int, shape: tuple[int, ...], dtype: str
    ) -> torch.Tensor:
        path = self.root / f"{name}-{count}.npy"
        with _locked(path):
            if not path.exists():
                fill(path, rows, count, shape, dtype, jobs=self.jobs)
        return torch.from_numpy(
            np.load(path, mmap_mode="c")
        )  # copy on write: torch wants writable memory, the file stays as it is


def _save(tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Write a tokenizer into a folder that appears whole."""
    new = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    tokenizer.save_pretrained(new)
    new.rename(folder)


def _digest(parts: Iterable[bytes]) -> str:
    total = hashlib.sha256()
    for part in parts:
        total.update(part)
    return total.hexdigest()[:12]


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Let one process at a time make a part of the pool; the others wait and then find it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):
        yield
