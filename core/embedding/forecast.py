"""What an embedding will take, before it is made: room in the store, and time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from core.store import ModelEntry
from core.store.editing import seconds_of

BLOCK = 256 << 10  # bytes: DuckDB keeps the vectors of a layer in whole blocks
SIMILAR = 4.0  # times as many parameters, or as few


@dataclass(frozen=True)
class Measured:
    """An embedding that was timed. rate: seconds per stimulus and parameter."""

    modality: str
    device: str
    parameters: int
    rate: float


def measured(entries: Iterable[ModelEntry], stimuli: int) -> list[Measured]:
    """Return what the embeddings of a dataset of so many stimuli have taken, where it is known."""
    timed = []
    for entry in entries:
        card, seconds = entry.card, seconds_of(entry)
        if seconds and card.parameters and stimuli:
            rate = seconds / (stimuli * card.parameters)
            timed.append(Measured(card.modality, entry.device, card.parameters, rate))
    return timed


def seconds_for(
    parameters: int | None, stimuli: int, like: Sequence[Measured], *, modality: str, device: str
) -> float | None:
    """Return how long an embedding will take: the median rate of similar models, which are of this
    modality and device and have up to four times as many parameters or as few; None without one.

    device: that the embedding will run on; of several CUDA devices each counts for all.
    """
    if not parameters:
        return None
    rates = [
        one.rate
        for one in like
        if (one.modality, _kind(one.device)) == (modality, _kind(device))
        and abs(math.log(one.parameters / parameters)) <= math.log(SIMILAR)
    ]
    return median(rates) * parameters * stimuli if rates else None


def room_for(widths: Sequence[int], stimuli: int) -> int | None:
    """Return about how many bytes an embedding will take in the store, in float32; None where the
    widths of the layers are unknown.
    """
    if not widths:
        return None
    return sum(BLOCK * math.ceil(4 * width * stimuli / BLOCK) for width in widths)


def _kind(device: str) -> str:
    return device.partition(":")[0]
