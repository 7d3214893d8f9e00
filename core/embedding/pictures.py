"""Pictures on their way to a model: read, decoded and prepared batch by batch, in the order given.

For CUDA, processes prepare the next batches while it computes. On the CPU they would take the cores
from the model, so threads prepare a batch when its turn has come, one for each core that the model
has. Pixels are the same either way.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import shutil
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext
from typing import Any

import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader

from core.errors import DeviceError, PlatoscopeError
from core.machine.processes import count_cores, end_with_parent
from core.settings import WORKERS, picture_workers

Batch = Sequence[int]
Prepared = Generator[Sequence[Tensor], None, None]  # the pictures of one batch after another
PART = 16  # pictures that a process hands over at a time; all work on the first batch
MOST = 16  # processes that are started unasked
ROOM = 2**30  # bytes of shared memory that their pictures may need
SHARED = "/dev/shm"  # where Linux keeps it; a container may have no more than 64 MB
# of fetching a part from a process that is ended meanwhile
CUT_OFF = (EOFError, ConnectionError, FileNotFoundError)


@dataclass(frozen=True)
class Pictures:
    """The pictures of a dataset by index, as a model takes them. Processes get a copy of it."""

    image: Callable[[int], Image.Image]
    prepare: Callable[[Image.Image], Tensor]

    def __getitem__(self, index: int) -> Tensor:
        return self.prepare(self.image(index))

    def __getitems__(self, indices: Batch) -> Tensor | PlatoscopeError:
        """Return a part of a batch; an error as a value, since a DataLoader would raise it with the
        worker's traceback as its message.
        """
        try:
            return torch.stack([self[index] for index in indices])
        except PlatoscopeError as error:
            return error


def load_pictures(pictures: Pictures, batches: Sequence[Batch], *, device: str) -> Prepared:
    """Yield the pictures of each batch on their way to a device; close it to end what prepares
    them.

    Raises StimuliError when a broken picture's turn has come, and DeviceError where a process ended
    by itself.
    """
    workers = count_workers(device, sum(map(len, batches)))
    if workers:
        return _load_ahead(pictures, batches, device=device, workers=workers)
    return _load_in_turn(pictures, batches)


def count_workers(device: str, pictures: int) -> int:
    """Return how many processes prepare pictures: as the setting says, else one per core but one
    for CUDA, unless shared memory is short, and none for other devices; never more than there are
    cores, or work.
    """
    wanted, cores = picture_workers(), count_cores()
    if wanted is None:
        short = os.path.isdir(SHARED) and shutil.disk_usage(SHARED).free < ROOM
        wanted = min(cores - 1, MOST) if device.startswith("cuda") and not short else 0
    return min(wanted, cores, math.ceil(pictures / PART))


def _load_in_turn(pictures: Pictures, batches: Sequence[Batch]) -> Prepared:
    threads = torch.get_num_threads()
    if threads == 1:
        yield from ([pictures[index] for index in batch] for batch in batches)
        return
    with ThreadPoolExecutor(threads) as pool:
        try:
            for batch in batches:
                yield list(pool.map(pictures.__getitem__, batch))
        finally:  # whoever stops waits for no more than what has begun
            pool.shutdown(cancel_futures=True)


def _load_ahead(
    pictures: Pictures, batches: Sequence[Batch], *, device: str, workers: int
) -> Prepared:
    loader = DataLoader[Tensor | PlatoscopeError](
        pictures,  # type: ignore[arg-type]  # it has what a loader of parts asks for
        batch_sampler=[part for batch in batches for part in _parts(batch)],
        num_workers=workers,
        collate_fn=_whole,
        pin_memory=device.startswith("cuda"),
        worker_init_fn=_begin,
        multiprocessing_context=_clean_processes(),
    )
    with closing(_checked(loader)) as ready:
        for batch in batches:
            whole: list[Tensor] = []
            while len(whole) < len(batch):
                whole += next(ready).unbind()
            yield whole


def _checked(loader: Iterable[Tensor | PlatoscopeError]) -> Generator[Tensor, None, None]:
    """Yield what the processes prepare, and raise what they could not."""
    try:
        for part in loader:
            if isinstance(part, PlatoscopeError):
                raise part
            yield part
    except (RuntimeError, *CUT_OFF) as error:
        if not _tells_of_an_end(error):
            raise
        raise DeviceError(
            "a process that prepared pictures was ended, most likely for want of memory; set"
            f" {WORKERS} to a smaller number, or to 0 to do without"
        ) from error


def _tells_of_an_end(error: Exception) -> bool:
    """Return whether a process was ended, rather than failed in what it prepared."""
    if isinstance(error, RuntimeError):
        return "DataLoader worker (pid" in str(error)
    return "in DataLoader worker process" not in str(error)


def _parts(batch: Batch) -> list[list[int]]:
    return [list(batch[start : start + PART]) for start in range(0, len(batch), PART)]


def _clean_processes() -> ForkServerContext:
    """Return what starts processes as forks of one that has imported what they need and nothing
    else: none inherits threads, locks or a GPU from this one, and each starts at once.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["core.embedding.deaf", "core.encoders.vision"])
    return context


def _begin(_: int) -> None:
    end_with_parent()


def _whole(part: Any) -> Any:
    """Return a part as it is: its pictures are put together already."""
    return part
