"""The training pool: events of the split "train", drawn and described once by worker processes,
then read from disk. Every part is named by a digest of a sample, so that none of an older drawing,
grammar or tokenizer is used.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path

import numpy as np
import torch
from filelock import FileLock
from jaxtyping import UInt8, UInt16
from tokenizers import (
    Regex,
    Tokenizer,
    decoders,
    models,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import AutoTokenizer, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from core.cave.captions import LEVELS, describe
from core.cave.drawing import draw
from core.cave.events import DESCRIBED, DRAWN, Event, draw_event, event_rng
from core.cave.melodies import LENGTHS, PITCHES, sing, write
from core.cave.tasks import FACTORS, answers
from core.cave.training.configs import CONTEXT, IMAGE, VOCABULARY
from core.machine.processes import spread

VERSION = 1  # raise it when other tokens are learned from the same texts
PAD, BOS, EOS, MASK = "<pad>", "<s>", "</s>", "<mask>"
SPLIT = "train"
_CHUNK = 512  # rows that a worker writes at a time
_SAMPLE = 64  # events that the digest and nothing else looks at
_LEARNED = 8_192  # events whose captions the tokenizer is learned from
Rows = Callable[[Event], np.ndarray]


def build_tokenizer(captions: Iterable[str], vocab_size: int) -> PreTrainedTokenizerFast:
    """Learn a byte-level BPE from captions: any text can be encoded and is decoded to itself.

    Every text gets the beginning-of-text token in front, so that a causal model predicts the first
    word too. `vocab_size` counts the four special tokens and the 256 bytes, and is reached if the
    captions have that many distinct pieces.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[PAD, BOS, EOS, MASK],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(captions, trainer)
    return _finished(tokenizer)


def build_note_tokenizer() -> PreTrainedTokenizerFast:
    """Return the tokenizer of melodies as `core.cave.melodies` writes them: a token for each pitch
    and rest, and one for each length. Nothing is learned.
    """
    tokens = [PAD, BOS, EOS, MASK, *PITCHES, *map(str, LENGTHS)]
    vocabulary = {token: place for place, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("[ :]"), "removed")
    return _finished(tokenizer)


def _finished(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BOS} $A",
        pair=f"{BOS} $A {BOS} $B",
        special_tokens=[(BOS, tokenizer.token_to_id(BOS))],
    )
    special = {"pad_token": PAD, "bos_token": BOS, "eos_token": EOS, "mask_token": MASK}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, padding_side="right", **special)


def pixels(event: Event) -> UInt8[np.ndarray, "3 side side"]:
    return np.asarray(draw(event, size=IMAGE)).transpose(2, 0, 1)


def texts(count: int) -> Iterator[str]:
    return (describe(draw_event(SPLIT, index), level) for index in range(count) for level in LEVELS)


# of an event each, token ids, filled up with 0, the padding id, on the right; path: of the
# tokenizer's tokenizer.json
def _captions(path: Path, event: Event) -> UInt16[np.ndarray, "levels context"]:
    tokenizer = _tokenizer(path)
    return np.stack([_padded(tokenizer.encode(describe(event, level)).ids) for level in LEVELS])


def _passage(path: Path, event: Event) -> UInt16[np.ndarray, " context"]:
    """Return captions of any level, one after another, as many as fit. The same event described in
    other words is what teaches a language model that words are synonyms, as texts about one thing
    do.
    """
    rng = event_rng(event, purpose="passage")
    return _as_many_as_fit(
        path, lambda: describe(event, LEVELS[rng.integers(len(LEVELS))], rng=rng)
    )


def _concert(path: Path, event: Event) -> UInt16[np.ndarray, " context"]:
    rng = event_rng(event, purpose="concert")
    return _as_many_as_fit(path, lambda: write(sing(event, rng=rng)))


def _as_many_as_fit(path: Path, tell: Callable[[], str]) -> np.ndarray:
    ids: list[int] = []
    tokenizer = _tokenizer(path)
    more = tokenizer.encode(tell()).ids
    while len(ids) + len(more) <= CONTEXT:
        ids += more
        more = tokenizer.encode(f" {tell()}", add_special_tokens=False).ids
    return _padded(ids)


def _padded(ids: list[int]) -> UInt16[np.ndarray, " context"]:
    return np.pad(np.array(ids, dtype=np.uint16), (0, CONTEXT - len(ids)))


@cache
def _tokenizer(path: Path) -> Tokenizer:
    return Tokenizer.from_file(str(path))


def fill(
    path: Path, rows: Rows, count: int, shape: tuple[int, ...], dtype: str, *, jobs: int
) -> None:
    """Write `rows` of the first `count` training events into a new .npy file, which takes its name
    when it is complete; raises DeviceError if one of the `jobs` processes was killed.
    """
    new = path.with_suffix(".new.npy")
    np.lib.format.open_memmap(new, mode="w+", dtype=dtype, shape=(count, *shape)).flush()
    work = partial(_write, new, rows)
    list(spread(work, range(0, count, _CHUNK), processes=jobs, light=True))
    os.replace(new, path)


def _write(path: Path, rows: Rows, start: int) -> None:
    table = np.lib.format.open_memmap(path, mode="r+")
    for index in range(start, min(start + _CHUNK, len(table))):
        table[index] = rows(draw_event(SPLIT, index))
    table.flush()


@dataclass(frozen=True)
class Pool:
    """Where the pool is and how much of it is used.

    root: its folder. images, events: number of events drawn and described. jobs: worker processes.
    """

    root: Path
    images: int = DRAWN
    events: int = DESCRIBED
    jobs: int = 1

    def pictures(self) -> torch.Tensor:
        return self._kept(f"images-{self.shown}", pixels, self.images, (3, IMAGE, IMAGE), "uint8")

    def answers(self) -> torch.Tensor:
        return self._kept(f"answers-{self.shown}", answers, self.images, (len(FACTORS),), "uint8")

    def captions(self) -> torch.Tensor:
        """Return a caption of every level for each drawn event as token ids, (images, levels,
        CONTEXT) uint16, 0 is padding.
        """
        rows = partial(_captions, self.tokenizer_folder() / "tokenizer.json")
        shape = (len(LEVELS), CONTEXT)
        return self._kept(f"captions-{self.said}", rows, self.images, shape, "uint16")

    def passages(self) -> torch.Tensor:
        """Return several descriptions of each event as token ids, (events, CONTEXT) uint16."""
        rows = partial(_passage, self.tokenizer_folder() / "tokenizer.json")
        return self._kept(f"passages-{self.said}", rows, self.events, (CONTEXT,), "uint16")

    def concerts(self) -> torch.Tensor:
        """Return several melodies of each event as token ids, (events, CONTEXT) uint16."""
        rows = partial(_concert, self.tokenizer_folder(notes=True) / "tokenizer.json")
        return self._kept(f"concerts-{self.sung}", rows, self.events, (CONTEXT,), "uint16")

    def tokenizer(self, *, notes: bool = False) -> PreTrainedTokenizerBase:
        return AutoTokenizer.from_pretrained(self.tokenizer_folder(notes=notes))

    def tokenizer_folder(self, *, notes: bool = False) -> Path:
        """Return the folder of the tokenizer of texts, or of melodies, which appears whole."""
        folder = self.root / (f"notes-{self.sung}" if notes else f"tokenizer-{self.said}")
        with _locked(folder):
            if not folder.exists():
                new = folder.with_name(f".{folder.name}.new")
                shutil.rmtree(new, ignore_errors=True)
                learned = texts(min(_LEARNED, self.events))
                made = build_note_tokenizer() if notes else build_tokenizer(learned, VOCABULARY)
                made.save_pretrained(new)
                new.rename(folder)
        return folder

    @cached_property
    def shown(self) -> str:
        """Return a digest that changes with the drawing or the factors."""
        sample = [draw_event(SPLIT, index) for index in range(_SAMPLE)]
        return _digest(pixels(event).tobytes() + answers(event).tobytes() for event in sample)

    @cached_property
    def said(self) -> str:
        """Return a digest that changes with the grammar or the tokenizer."""
        parts = f"{VOCABULARY} tokens, version {VERSION}", *texts(_SAMPLE)
        return _digest(part.encode() for part in parts)

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
        # copy on write: torch needs writable memory, the file does not change
        return torch.from_numpy(np.load(path, mmap_mode="c"))


def _digest(parts: Iterable[bytes]) -> str:
    total = hashlib.sha256()
    for part in parts:
        total.update(part)
    return total.hexdigest()[:12]


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):
        yield
