"""Parts of a dataset: several machines can encode it with one model, a part each.

Whoever encodes all of it does so part by part, too, so that the batches are the same.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from core.embedding.batches import check_encoding, encode_fitting
from core.embedding.reading import Reading
from core.embedding.shards import resume, write_shard
from core.progress import Progress
from core.stimuli.dataset import Dataset
from core.store.publishing import locked

SIZE = 16_384  # stimuli: some minutes of work, and a multiple of the usual batches
EVERY = None  # instead of a part's number: all of them, by one process

Part = int | None


def parts_of(n: int) -> list[range]:
    """Return the parts of n stimuli, in the order in which a model reads them."""
    return [range(start, min(start + SIZE, n)) for start in range(0, n, SIZE)]


def shared_parts(n: int, *, alone: bool) -> Sequence[Part]:
    """Return the parts that are worth a unit of work each. alone: whether one process does all."""
    parts = parts_of(n)
    return [EVERY] if alone or len(parts) < 2 else range(len(parts))


def within(part: range, report: Progress | None) -> Progress | None:
    """Return what reports of a part alone; it takes the progress of the whole."""
    if report is None:
        return None
    return lambda done, _, what: report(done - part.start, len(part), what)


def encode(
    target: Path,
    folder: Path,
    dataset: Dataset,
    reading: Reading,
    part: range,
    *,
    size: int,
    report: Progress | None,
) -> None:
    """Encode what no shard of a part holds yet, batch by batch."""
    encoder, n = reading.encoder, dataset.card.size
    ids = dataset.stimuli["stimulus"].to_numpy()[reading.order].tolist()
    what = f"{encoder.card.name} over {dataset.card.name}"
    with locked(_part_file(target, part)):
        done, limit = resume(folder, part)
        if report:
            report(done, n, what)
        began = time.monotonic()
        with closing(reading.batches(range(done, part.stop), size)) as batches:
            for start, items in zip(range(done, part.stop, size), batches, strict=True):
                stop = start + len(items)
                encoding, limit = encode_fitting(encoder, items, limit=limit)
                check_encoding(encoder, encoding, ids[start:stop])
                seconds = time.monotonic() - began
                write_shard(folder, encoding, start=start, limit=limit, seconds=seconds)
                if report:
                    report(stop, n, what)
                began = time.monotonic()


def _part_file(target: Path, part: range) -> Path:
    """Return the file that is locked while a part of `target` is encoded; nobody writes it."""
    return target.with_name(f"{target.stem}.part-{part.start}{target.suffix}")
