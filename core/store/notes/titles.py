"""Titles that people gave to datasets and models. They are one text file of the store:

    ROOT/titles.json    {"datasets": {"DATASET": "…"}, "models": {"DATASET": {"MODEL": "…"}}}

A title is data and never a name: no recipe takes it in, and no file is found by it. When one
changes, answers that list models are made again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from core.errors import InputError
from core.stimuli.dataset import DatasetCard
from core.store.examine import Stamp, stamp
from core.store.notes.file import PATIENCE, read_file
from core.store.publishing import locked, publish_json
from core.store.schema import ModelEntry

LONGEST = 80  # characters of a title


@dataclass(frozen=True)
class Titles:
    """Titles by dataset, and by dataset and model, where they differ from those of the cards."""

    datasets: dict[str, str] = field(default_factory=dict)
    models: dict[str, dict[str, str]] = field(default_factory=dict)

    def dataset(self, card: DatasetCard) -> DatasetCard:
        """Return a dataset's card under the title that it was given, if any."""
        title = self.datasets.get(card.name)
        return replace(card, title=title) if title else card

    def model(self, dataset: str, entry: ModelEntry) -> ModelEntry:
        """Return a model's entry under the title that it was given, if any; an embedding of its
        captions at another level has the title of the model.
        """
        titles, name = self.models.get(dataset, {}), entry.card.name
        title = titles.get(name) or titles.get(name.partition("~")[0])
        return replace(entry, card=replace(entry.card, title=title)) if title else entry

    def of(self, dataset: str) -> tuple[str, Mapping[str, str]]:
        """Return all titles that concern a dataset."""
        return self.datasets.get(dataset, ""), self.models.get(dataset, {})


def titles_file(root: Path) -> Path:
    """Return where the titles of a store lie."""
    return Path(root).absolute() / "titles.json"


def read_titles(root: Path) -> Titles:
    """Return the titles of a store; raises StoreDamagedError, StoreError."""
    path = titles_file(root)
    try:
        at = stamp(path)
    except OSError:  # there is none, or it cannot be read, which reading explains
        return _read(path)
    return _read_once(path, at)


@contextmanager
def editing_titles(root: Path) -> Iterator[Titles]:
    """Give the titles of a store to one writer at a time, and publish what it makes of them."""
    path = titles_file(root)
    with locked(path, patience=PATIENCE):
        before = read_titles(root)
        titles = Titles(dict(before.datasets), {name: {**of} for name, of in before.models.items()})
        yield titles
        titles = Titles(titles.datasets, {name: of for name, of in titles.models.items() if of})
        if titles != before:
            publish_json(path, {"datasets": titles.datasets, "models": titles.models})


def tidy(title: str) -> str:
    """Return a title on one line, without characters that cannot be seen."""
    return " ".join("".join(one if one.isprintable() else " " for one in title).split())


def check_title(title: str, kind: str = "a title") -> str:
    """Return a title that can be shown on one line; raises InputError for any other."""
    if not title or len(title) > LONGEST or title != tidy(title):
        raise InputError(f"{kind} has 1 to {LONGEST} characters on one line, not {title[:99]!r}")
    return title


@lru_cache(maxsize=64)
def _read_once(path: Path, _: Stamp) -> Titles:
    return _read(path)


def _read(path: Path) -> Titles:
    anew = "go back to the models' own titles"
    return read_file(path, _parse, holds="titles", anew=anew) or Titles()


def _parse(entries: Any) -> Titles:
    datasets, models = entries["datasets"], entries["models"]
    return Titles(_checked(datasets), {name: _checked(of) for name, of in models.items()})


def _checked(titles: Mapping[str, object]) -> dict[str, str]:
    """Return titles by name; raises TypeError where one is no text."""
    if wrong := [title for title in titles.values() if not isinstance(title, str)]:
        raise TypeError(f"{wrong[0]!r} is no title")
    return {str(name): str(title) for name, title in titles.items()}
