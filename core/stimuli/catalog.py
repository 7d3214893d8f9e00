"""Open a dataset again from its card, and be sure that it is the same one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from core.errors import StimuliError, UnknownNameError
from core.stimuli.dataset import Dataset, DatasetCard
from core.stimuli.subset import SUBSET, SubsetDataset


def open_dataset(card: DatasetCard) -> Dataset:
    """Open the dataset that a card describes.

    Raises UnknownNameError for a kind of source that does not exist, and StimuliError where the
    captions, factors or images are no longer those of the card's revision.
    """
    if chosen := card.source.get(SUBSET):
        rest = {key: value for key, value in card.source.items() if key != SUBSET}
        of = replace(card, name=chosen["of"], source=rest, revision=chosen["revision"])
        return SubsetDataset(card, open_dataset(of))
    kind = str(card.source.get("kind"))
    if kind not in _OPENERS:
        raise UnknownNameError("kind of dataset", kind, _OPENERS)
    dataset = _OPENERS[kind](card.name, card.source)
    if dataset.card.revision != card.revision:
        raise StimuliError(
            f"dataset {card.name!r} has changed: its revision was {card.revision[:12]} and is now"
            f" {dataset.card.revision[:12]}; put the old captions and images back, or add what"
            " there is now under a new name"
        )
    return dataset


def _open_cave(_name: str, source: Mapping[str, Any]) -> Dataset:
    # worlds lie above this package; another seed gives another revision, which open_dataset refuses
    dataset: Dataset = import_module("core.cave.world").CaveDataset(size=source["size"])
    return dataset


def _open_folder(name: str, source: Mapping[str, Any]) -> Dataset:
    from core.stimuli.folder import FolderDataset

    # of an older store: without a table there were images alone
    choices = {"images_only": not source["table"], **_choices(source)}
    return FolderDataset.open(Path(choices.pop("folder")), name=name, **choices)


def _open_hub(name: str, source: Mapping[str, Any]) -> Dataset:
    from core.stimuli.hub import HubDataset

    return HubDataset.open(name=name, **_choices(source))


def _choices(source: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in source.items() if key != "kind"}


_OPENERS: Mapping[str, Callable[[str, Mapping[str, Any]], Dataset]] = {
    "cave": _open_cave,
    "folder": _open_folder,
    "hub": _open_hub,
}
