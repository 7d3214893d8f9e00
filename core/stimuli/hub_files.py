"""The files of a hub data set, as `datasets` reads them. It has no limits of its own: it reads in a
process that may take no more memory than one file may.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

import datasets
from huggingface_hub import HfFileSystem

from core.errors import StimuliError
from core.files.userfile import IMAGE, room
from core.hub.repository import Repository
from core.machine.confined import confine
from core.machine.memory import size_text
from core.stimuli.hub_source import DEFAULTS, explained, pinned, repository
from core.stimuli.table import is_saved

STARTING = 15.0  # seconds that a process may take to import its libraries
Source = dict[str, Any]
R = TypeVar("R")


def load_split(source: Source) -> tuple[datasets.Dataset, Source]:
    """Return a split, and its source at the commit that it was read at; raises as
    `HubDataset.open` does.
    """
    return _confined(_read_split, source)


def load_first(source: Source, most: int, seconds: float) -> datasets.Dataset:
    """Return the first rows of a split without those behind them; raises as `HubDataset.open` does,
    StimuliError for a split that does not begin at its first row, or if they were not read within
    so many seconds.
    """
    name, _, part = (source["split"] or "").partition("[")
    if part and not part.startswith(":"):
        raise StimuliError(
            f"split {source['split']} begins in the middle, where it cannot be looked into; add it"
            " as it is"
        )
    rows = _confined(
        _read_first, {**source, "split": name or None}, most, within=STARTING + seconds
    )
    return datasets.Dataset.from_list(rows)


def _confined(
    work: Callable[..., R], source: Source, *given: object, within: float | None = None
) -> R:
    """Let another process read: a line of JSON or a member of an archive is read whole, however
    long it is. within: seconds.
    """
    most, hub_id = room(), source["hub_id"]
    try:
        return confine(work, source, *given, memory=most, seconds=within)
    except MemoryError as error:
        raise StimuliError(
            f"{hub_id} takes more than the {size_text(most)} of memory that may be used, half of"
            " what is free, or is damaged; free some, or choose another data set"
        ) from error
    except TimeoutError as error:
        raise StimuliError(
            f"the first rows of {hub_id} were not read within {within:g} s; add it as it is, or"
            " choose another data set"
        ) from error


def _read_split(source: Source) -> tuple[datasets.Dataset, Source]:
    """Fetch the files and write their rows into the cache, where the split that is returned finds
    them.
    """
    with explained(source):
        if is_saved(Path(source["hub_id"])):
            table, split = _saved(source)
            return table, {**source, "split": split}
        source = pinned(source)
        builder = datasets.load_dataset_builder(source["hub_id"], revision=source["revision"])
        builder.download_and_prepare()
        source["split"] = source["split"] or _usual_split(builder.info.splits or ())
        return builder.as_dataset(split=source["split"]), source


def _read_first(source: Source, most: int) -> list[dict[str, Any]]:
    with explained(source):
        if is_saved(Path(source["hub_id"])):
            table, _ = _saved(source)
            first = table.select(range(min(most, len(table))))
            return first.to_iterable_dataset().decode(False).take(most).to_list()
        stream = datasets.load_dataset(
            source["hub_id"], revision=source["revision"], split=source["split"], streaming=True
        )
        if not source["split"]:
            stream = stream[_usual_split(stream)]
        wanted = repository(source)
        return [_fetched(row, wanted) for row in stream.decode(False).take(most)]


def _saved(source: Source) -> tuple[datasets.Dataset, str]:
    """Return a split of what `save_to_disk` wrote, and its name."""
    held = datasets.load_from_disk(source["hub_id"])
    if isinstance(held, datasets.Dataset):
        return held, source["split"] or DEFAULTS["split"]
    split = source["split"] or _usual_split(held)
    return held[split], split


def _usual_split(splits: Collection[str]) -> str:
    """Return the only split, else the usual one."""
    return next(iter(splits)) if len(splits) == 1 else DEFAULTS["split"]


def _fetched(row: Mapping[str, Any], wanted: Repository | None) -> dict[str, Any]:
    """Return a row with the bytes of images that are files of the repository."""
    return {
        name: _fetch(value, wanted) if isinstance(value, dict) else value
        for name, value in row.items()
    }


def _fetch(value: Mapping[str, Any], wanted: Repository | None) -> Mapping[str, Any]:
    path = value.get("path")
    if value.get("bytes") is not None or not (wanted and _is_of(path, wanted)):
        return value
    with HfFileSystem().open(path) as file:
        if file.size > IMAGE:
            raise StimuliError(
                f"{path} has {size_text(file.size)}; expected an image, of {size_text(IMAGE)} at"
                " most: save it smaller"
            )
        return {**value, "bytes": file.read()}


def _is_of(path: Any, wanted: Repository) -> bool:
    """Return whether a path names a file of a repository of data sets, which may be of any commit:
    `..` would lead to those of others.
    """
    own = f"hf://datasets/{wanted.id}@"
    return isinstance(path, str) and path.startswith(own) and ".." not in path.split("/")
