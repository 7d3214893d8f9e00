"""Which files of a folder can be used, which models are still to be embedded, and titles.

`embeddings/DATASET/expected.json` holds the meta of each embedding that is to come,
`expected-texts.parquet` the bits and bytes of its texts, so that the demo's shipped answers count
before anything is embedded. A model with a file is no longer expected.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path

import pandas as pd

from core.errors import InputError, StoreDamagedError, StoreError, StoreVersionError
from core.files.userfile import NOTES, UserFile, said
from core.stimuli.dataset import DatasetCard
from core.store.files import Stamp, examine, read_frame, stamp
from core.store.publishing import locked, publish_json
from core.store.publishing import replace as publish
from core.store.schema import (
    SUFFIX,
    VERSIONS,
    Kind,
    Meta,
    ModelEntry,
    dump_meta,
    is_present,
    load_meta,
    published_files,
)

FILE = "expected.json"
TEXTS = "expected-texts.parquet"
PATIENCE = 60.0  # seconds to wait for another process that writes the list or titles
LONGEST = 80  # characters of a title
Rows = Mapping[str, str]  # what `dump_meta` returns
Stamped = tuple[tuple[Path, Stamp], ...]


def all_usable(
    folder: Path,
    kind: Kind,
    revision: str | None,
    refused: list[str],
    *,
    but: tuple[str, ...] = (),
) -> list[Meta]:
    """Return the metas of a folder's files in order, with embeddings that are to come; add to
    `refused` why others cannot be used. but: beginnings of names to leave out.
    """
    files: Stamped = ()
    for path in published_files(folder, but=but):
        with suppress(FileNotFoundError):  # removed between the listing and now
            files = (*files, (path, stamp(path)))
    metas, reasons = _usable_once(files, kind, revision, tuple(VERSIONS.items()))
    if reasons:
        _usable_once.cache_clear()  # a reason may pass though the file stays the same
        refused += reasons
    if kind != "embedding":
        return list(metas)
    coming = expected(folder, {path.stem for path, _ in files})
    all_ = [*metas, *(meta for meta in coming if meta.revision == revision)]
    return sorted(all_, key=lambda meta: f"{meta.name}{SUFFIX}")  # as the files are


@lru_cache(maxsize=64)  # folders: a page asks for the same one a hundred times
def _usable_once(
    files: Stamped, kind: Kind, revision: str | None, _: tuple[tuple[str, int], ...]
) -> tuple[list[Meta], list[str]]:
    refused: list[str] = []
    metas = [usable(path, kind, revision, refused=refused) for path, _ in files]
    return [meta for meta in metas if meta], refused


def usable(path: Path, kind: Kind, revision: str | None, *, refused: list[str]) -> Meta | None:
    """Return a file's meta; None if it is gone or cannot be used, with why in `refused`."""
    dataset = path.stem if kind == "dataset" else path.parent.name
    try:
        meta = examine(path)
        if (meta.kind, meta.name, meta.dataset) != (kind, path.stem, dataset):
            raise StoreDamagedError(
                f"{path} holds the {meta.kind} {meta.name!r} of dataset {meta.dataset!r}; move it"
                " to where that belongs, or delete it"
            )
        if revision is not None and meta.revision != revision:
            raise StoreVersionError(
                f"{path} was made over revision {meta.revision} of {dataset!r}, which is at"
                f" {revision} now; make it again, or add that revision again"
            )
    except FileNotFoundError:  # removed between the listing and now
        return None
    except StoreError as error:
        refused.append(str(error))
        return None
    return meta


def expect(folder: Path, rows: Sequence[Rows], costs: Path | None = None) -> None:
    """List the models of a folder that are to be embedded; none removes the list. costs: a file
    with the bits and bytes of their texts, None for the present one.
    """
    with locked(folder / FILE, patience=PATIENCE):
        if costs is not None:  # before the list, which makes them readable
            publish(folder / TEXTS, partial(shutil.copyfile, costs))
        if rows:
            publish_json(folder / FILE, list(rows))
        else:
            remove(folder)


def remove(folder: Path) -> None:
    for name in (FILE, TEXTS):
        (folder / name).unlink(missing_ok=True)


def forget(folder: Path, names: Collection[str]) -> None:
    if (folder / FILE).exists():
        metas = _expected_once(folder / FILE, stamp(folder / FILE))
        expect(folder, [dump_meta(meta) for meta in metas if meta.name not in names])


def expected(folder: Path, published: Collection[str]) -> list[Meta]:
    try:
        metas = _expected_once(folder / FILE, stamp(folder / FILE))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [meta for meta in metas if meta.name not in published and is_present(meta.recipe)]


@lru_cache(maxsize=8)
def _expected_once(path: Path, _: Stamp) -> list[Meta]:
    try:
        return [load_meta(rows) for rows in json.loads(path.read_text("utf-8"))]
    except (AttributeError, KeyError, TypeError, ValueError):  # an edited file lists nothing
        return []


def text_costs(folder: Path, model: str) -> pd.DataFrame | None:
    """Return index, bits and bytes per text of an expected model, None if it codes none."""
    if not (folder / TEXTS).exists():
        return None
    costs = read_frame(folder / TEXTS)
    own = costs[costs["model"] == model]
    return None if own.empty else own.drop(columns="model").reset_index(drop=True)


@dataclass(frozen=True)
class Titles:
    """Titles by dataset, and by dataset and model, where they differ from those of the cards."""

    datasets: dict[str, str] = field(default_factory=dict)
    models: dict[str, dict[str, str]] = field(default_factory=dict)

    def dataset(self, card: DatasetCard) -> DatasetCard:
        title = self.datasets.get(card.name)
        return replace(card, title=title) if title else card

    def model(self, dataset: str, entry: ModelEntry) -> ModelEntry:
        titles, name = self.models.get(dataset, {}), entry.card.name
        title = titles.get(name) or titles.get(name.partition("~")[0])
        return replace(entry, card=replace(entry.card, title=title)) if title else entry

    def of(self, dataset: str) -> tuple[str, Mapping[str, str]]:
        return self.datasets.get(dataset, ""), self.models.get(dataset, {})


def _titles_file(root: Path) -> Path:
    return Path(root).absolute() / "titles.json"


def read_titles(root: Path) -> Titles:
    """Return the titles of a store; raise StoreError."""
    path = _titles_file(root)
    if not os.path.lexists(path):
        return Titles()
    try:
        now = stamp(path)
    except OSError:  # it cannot be read, which reading explains
        now = (0, 0, 0)
    return _titles_once(path, now)


@lru_cache(maxsize=64)
def _titles_once(path: Path, _: Stamp) -> Titles:
    data = UserFile(path, "titles, in JSON", StoreError, most=NOTES).read()
    try:
        entries = json.loads(data.decode())
        datasets, models = entries["datasets"], entries["models"]
        for titles in (datasets, *models.values()):
            if wrong := [title for title in titles.values() if not isinstance(title, str)]:
                raise TypeError(f"{wrong[0]!r} is no title")
        return Titles(datasets, models)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, InputError) as error:
        raise StoreDamagedError(
            f"{path} does not hold titles; mend it in an editor, or move it away to go back to the"
            f" models' own titles ({said(error)})"
        ) from error


@contextmanager
def editing_titles(root: Path) -> Iterator[Titles]:
    """Give the titles to one writer at a time, and publish its changes."""
    path = _titles_file(root)
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
    """Return the title; raise InputError if it is not one short line."""
    if not title or len(title) > LONGEST or title != tidy(title):
        raise InputError(f"{kind} has 1 to {LONGEST} characters on one line, not {title[:99]!r}")
    return title
