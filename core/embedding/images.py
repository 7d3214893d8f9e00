"""Images on their way to a model: read, decoded and prepared batch by batch, in order.

For CUDA, processes prepare the next batches while it computes; on the CPU, threads prepare a batch
when it is needed. Pixels are the same.
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
from typing import Any

import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader

from core.errors import DeviceError, PlatoscopeError
from core.machine.processes import count_cores, end_with_parent
from core.settings import WORKERS, picture_workers

Batch = Sequence[int]
Prepared = Generator[Sequence[Tensor], None, None]  # the images of one batch after another
Prepare = Callable[[Image.Image], Tensor]
PART = 16  # images that a process hands over at a time; all work on the first batch
MOST = 16  # processes that are started unasked
ROOM = 2**30  # bytes of shared memory that their images may need
SHARED = "/dev/shm"  # where Linux keeps it; a container may have no more than 64 MB
# of fetching a part from a process that is ended meanwhile
CUT_OFF = (EOFError, ConnectionError, FileNotFoundError)


@dataclass(frozen=True)
class Images:
    """The images of a dataset by index, as a model takes them. Processes get a copy of it."""

    image: Callable[[int], Image.Image]
    prepare: Prepare

    def __getitem__(self, index: int) -> Tensor:
        return self.prepare(self.image(index))

    def __getitems__(self, indices: Batch) -> Tensor | PlatoscopeError:
        """Return a part of a batch; an error as a value, since a DataLoader would add its traceback
        to the message.
        """
        try:
            return torch.stack([self[index] for index in indices])
        except PlatoscopeError as error:
            return error


def load_images(images: Images, batches: Sequence[Batch], *, device: str) -> Prepared:
    """Yield the images of each batch, on their way to a device; close it to end what prepares them.
    Raise StimuliError for a broken image, and DeviceError if a process was killed.
    """
    workers = count_workers(device, sum(map(len, batches)))
    if workers:
        return _load_ahead(images, batches, device=device, workers=workers)
    return _load_in_turn(images, batches)


def count_workers(device: str, images: int) -> int:
    """Return how many processes prepare images: as the setting says, else for CUDA one per core but
    one, unless shared memory is short; never more than there are cores, or work.
    """
    wanted, cores = picture_workers(), count_cores()
    if wanted is None:
        short = os.path.isdir(SHARED) and shutil.disk_usage(SHARED).free < ROOM
        wanted = min(cores - 1, MOST) if device.startswith("cuda") and not short else 0
    return min(wanted, cores, math.ceil(images / PART))


def _load_in_turn(images: Images, batches: Sequence[Batch]) -> Prepared:
    threads = torch.get_num_threads()
    if threads == 1:
        yield from ([images[index] for index in batch] for batch in batches)
        return
    with ThreadPoolExecutor(threads) as pool:
        try:
            for batch in batches:
                yield list(pool.map(images.__getitem__, batch))
        finally:  # a caller that stops waits for no more than what has begun
            pool.shutdown(cancel_futures=True)


def _load_ahead(images: Images, batches: Sequence[Batch], *, device: str, workers: int) -> Prepared:
    # forks of a process that has imported what they need and nothing else: none inherits threads,
    # locks or a GPU from this one, and each starts at once
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["core.embedding.ignore_sigint", "core.encoders.vision"])
    parts = [
        list(batch[start : start + PART])
        for batch in batches
        for start in range(0, len(batch), PART)
    ]
    loader = DataLoader[Tensor | PlatoscopeError](
        images,  # type: ignore[arg-type]  # it has what a loader of parts asks for
        batch_sampler=parts,
        num_workers=workers,
        collate_fn=_whole,
        pin_memory=device.startswith("cuda"),
        worker_init_fn=_begin,
        multiprocessing_context=context,
    )
    with closing(_checked(loader)) as ready:
        for batch in batches:
            whole: list[Tensor] = []
            while len(whole) < len(batch):
                whole += next(ready).unbind()
            yield whole


def _checked(loader: Iterable[Tensor | PlatoscopeError]) -> Generator[Tensor, None, None]:
    try:
        for part in loader:
            if isinstance(part, PlatoscopeError):
                raise part
            yield part
    except (RuntimeError, *CUT_OFF) as error:
        # whether a process was ended, rather than failed in what it prepared
        is_killed = "DataLoader worker (pid" in str(error)
        if not isinstance(error, RuntimeError):
            is_killed = "in DataLoader worker process" not in str(error)
        if not is_killed:
            raise
        raise DeviceError(
            "a process that prepared images was ended, most likely because memory ran out; set"
            f" {WORKERS} to a smaller number, or to 0 for none"
        ) from error


def _begin(_: int) -> None:
    end_with_parent()


def _whole(part: Any) -> Any:
    return part
