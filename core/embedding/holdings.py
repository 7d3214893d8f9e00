"""What the store holds already: the dataset, and an embedding by its recipe."""

from __future__ import annotations

from pathlib import Path

from core.errors import StoreError, StoreVersionError
from core.progress import Progress
from core.recipe import Recipe
from core.stimuli.dataset import Dataset, DatasetCard
from core.store import add_dataset
from core.store.files import examine_if_usable
from core.store.schema import dataset_file


def name_data(dataset: DatasetCard) -> dict[str, str]:
    """Return how a recipe names a dataset."""
    return {"name": dataset.name, "revision": dataset.revision}


def hold_dataset(store: Path, dataset: Dataset, report: Progress | None) -> None:
    """Add a dataset that the store does not have; raises StoreVersionError where it has another
    revision.
    """
    card = dataset.card
    held = examine_if_usable(dataset_file(store, card.name))
    if held is None:
        add_dataset(store, dataset, report=report)
    elif held.revision != card.revision:
        raise StoreVersionError(
            f"the store has revision {held.revision} of {card.name!r}, this is {card.revision}; add"
            " the dataset again, after which its models are embedded again, or give this one"
            " another name"
        )


def is_published(target: Path, recipe: Recipe, *, replace: bool) -> bool:
    """Return whether this recipe is published; raises StoreError where another one has its name and
    may not be replaced.
    """
    held = examine_if_usable(target)
    if held is None:
        return False
    if held.recipe == recipe:
        return True
    was, wanted = held.recipe.choices, recipe.choices
    if replace or was.get("dataset") != wanted["dataset"]:  # another revision is of no use
        return False
    pairs = {**was, **was.get("encoder", {})}, {**wanted, **wanted.get("encoder", {})}
    changed = [
        key
        for key in sorted({*pairs[0], *pairs[1]} - {"encoder"})
        if pairs[0].get(key) != pairs[1].get(key)
    ]
    raise StoreError(
        f"choose another name with --name: {target.stem!r} is in the store, with other"
        f" {', '.join(changed)}; or delete that one: platoscope model delete --dataset"
        f" {target.parent.name} {target.stem} --yes"
    )
