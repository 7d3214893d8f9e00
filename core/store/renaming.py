"""Giving titles to what is in a store."""

from __future__ import annotations

from pathlib import Path

from core.store.notes.titles import check_title, editing_titles
from core.store.reader import Store


def rename_dataset(root: Path, dataset: str, title: str) -> None:
    """Give a dataset a title; "" gives its own back. Raises UnknownNameError, InputError for a
    title that is not one short line, StoreError.
    """
    Store(root).dataset(dataset)
    with editing_titles(root) as titles:
        _put(titles.datasets, dataset, title)


def rename_model(root: Path, dataset: str, model: str, title: str) -> None:
    """Give a model of a dataset a title; see `rename_dataset`."""
    Store(root).model(dataset, model)
    with editing_titles(root) as titles:
        _put(titles.models.setdefault(dataset, {}), model, title)


def _put(titles: dict[str, str], name: str, title: str) -> None:
    if title:
        titles[name] = check_title(title)
    else:
        titles.pop(name, None)
