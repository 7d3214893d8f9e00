"""Work for crews: functions that a worker of Ray can import."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

from store_fakes import CountedDataset, CountingEncoder

from core.embedding.runner import embed
from core.errors import UnknownNameError
from core.progress import Progress


def double(number: int, report: Progress | None) -> int:
    if report:
        report(1, 2, f"number {number}")
        report(2, 2, f"number {number}")
    return 2 * number


def fail(_: Progress | None) -> int:
    raise UnknownNameError("number", "three", ["four"])


def divide(_: Progress | None) -> float:
    return 1 / 0


def vanish(_: Progress | None) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def make(log: Path) -> int:
    """Leave a line in a file for each time that this is made."""
    with log.open("a") as file:
        file.write(f"{os.getpid()}\n")
    return os.getpid()


def share(once: Callable[[], int], _: Progress | None) -> tuple[int, int]:
    return os.getpid(), once()


class DyingEncoder(CountingEncoder):
    """Kills its process before a batch, once; notes each batch in a file."""

    log: Path
    at: int

    def encode(self, items):
        with self.log.open("a") as file:
            file.write("batch\n")
        if len(self.log.read_text().splitlines()) == self.at:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().encode(items)


def embed_dying(store: Path, log: Path, report: Progress | None) -> str:
    encoder = DyingEncoder()
    encoder.log, encoder.at = log, 4
    return embed(
        store, CountedDataset(60), encoder, batch_size=10, name="killed", report=report
    ).stem
