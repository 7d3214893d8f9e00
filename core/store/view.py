"""A store as it is at one moment, which notes everything that is read of it.

    view = View(root)
    view.space("cave", "gpt2-s", 3)
    view.reads      {"embedding:cave:gpt2-s": "5b0c…"}

An answer is fresh while a new view has the same digest for each of its reads (`View.is_fresh`). A
digest is that of a recipe (weights, data, versions), not of bytes: a model that another processor
embedded is the same.

| key | digest of |
|---|---|
| dataset:D | the dataset's recipe and revision |
| datasets | the names and recipes of all datasets |
| embedding:D:M | how the embedding was made, and its card |
| models:D | all embeddings of a dataset |
| result:D:NAME | the recipe of a result, such as measured or imported scores |
| results:D:BEGINNING | the names and recipes of all results whose names begin so |
| shipped:PATH | the bytes of a file that comes with the project |
| path:PATH | names, sizes and times of a person's own files |
| failure | none: what failed may succeed now |
"""

from __future__ import annotations

import copy
import hashlib
import os
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TypeVar, cast

import duckdb
import pandas as pd

from core.encoders.encoder import modality_of
from core.errors import (
    MetricError,
    NotApplicableError,
    PlatoscopeError,
    StoreChangedError,
    TrainingError,
    UnknownNameError,
)
from core.recipe import Recipe
from core.settings import ROOT
from core.store.files import Stamp, examine_if_usable, stamp
from core.store.reader import Store
from core.store.schema import DERIVED, Kind, Meta, ModelEntry, dataset_file, result_file

ABSENT = ""
LASTING = (MetricError, NotApplicableError, TrainingError)  # of the data; all else may pass
Reads = Mapping[str, str]
T = TypeVar("T")
Listing = dict[str, Meta]

_RESOLVERS: dict[str, Callable[[str], str]] = {}


def resolve(kind: str, digest: Callable[[str], str]) -> None:
    """Register what gives the present digest, or ABSENT, of further keys `KIND:NAME`."""
    _RESOLVERS[kind] = digest


class View(Store):
    """A store as it was when it was first read; notes in `reads` the digest of all that is read.

    Derived results that are added meanwhile are found. Reading a file that was replaced or removed
    since raises StoreChangedError. Safe to share between threads.
    """

    def __init__(self, root: str | Path) -> None:
        super().__init__(root)
        self.reads: dict[str, str] = {}
        self.only: frozenset[str] | None = None
        self._held: dict[Hashable, object] = {}  # what was listed, shared by views of one moment

    def noting(self) -> View:
        """Return a view of the same moment with no reads."""
        view = copy.copy(self)
        view.reads = {}
        return view

    def keeping(self, names: Collection[str]) -> View:
        """Return a view of the same moment with these models and known reality alone."""
        view = self.noting()
        view.only = frozenset(name.partition("~")[0] for name in names)
        return view

    def note(self, reads: Reads) -> None:
        self.reads.update(reads)

    def note_keys(self, *keys: str) -> None:
        for key in keys:
            if key not in self.reads:
                self.reads[key] = self.current(key)

    def note_files(self, *paths: Path) -> None:
        for path in paths:
            if path.is_relative_to(ROOT) and not path.is_dir():
                self.note_keys(f"shipped:{path.relative_to(ROOT).as_posix()}")
            else:
                self.note_keys(f"path:{path}")

    def note_failure(self, error: PlatoscopeError) -> None:
        """Note that an answer lacks what failed, which may succeed another time."""
        if not isinstance(error, LASTING):
            self.reads["failure"] = str(error)

    def is_fresh(self, reads: Reads) -> bool:
        return all(self.current(key) == one for key, one in reads.items())

    def current(self, key: str) -> str:
        """Return the present digest of a key, ABSENT if there is no such thing."""
        kind, _, name = key.partition(":")
        if kind in _RESOLVERS:
            return _RESOLVERS[kind](name)
        return self._once(("digest", key), lambda: self._digest(kind, *name.split(":")))

    def embeddings(self, dataset: str) -> list[ModelEntry]:
        self.note_keys(f"models:{dataset}")
        return [
            entry
            for entry in super().embeddings(dataset)
            if self.only is None
            or entry.card.name.partition("~")[0] in self.only
            or modality_of(entry.card).is_reality
        ]

    def model(self, dataset: str, name: str) -> ModelEntry:
        self.note_keys(f"embedding:{dataset}:{name}")
        metas = self._by_name("embedding", dataset)
        if name not in metas:
            self.dataset(dataset)
            raise UnknownNameError("model", name, metas)
        return metas[name].entry

    def freeze(self, dataset: str) -> None:
        """List all that is over a dataset, which then stays as it is now."""
        self._unusable(dataset)
        self._listed("result", dataset)

    def result(self, dataset: str, name: str) -> tuple[pd.DataFrame, Recipe] | None:
        if name.startswith(DERIVED):
            return super().result(dataset, name)
        self.note_keys(f"result:{dataset}:{name}")
        held = self._by_name("result", dataset).get(name)
        if held is None:
            return None
        found = super().result(dataset, name)
        if found is None or examine_if_usable(result_file(self.root, dataset, name)) != held:
            raise _changed(name)
        return found

    def answer(self, dataset: str, name: str) -> Meta | None:
        """Return the meta of a kept answer, None if there is none that can be used."""
        meta = examine_if_usable(result_file(self.root, dataset, name))
        known = self._known().get(dataset)
        if meta is None or known is None or meta.revision != known.revision or meta.name != name:
            return None
        return meta

    @contextmanager
    def opened(self, path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
        try:
            with super().opened(path) as connection:
                yield connection
        finally:
            self._check(path)

    def _frame(self, dataset: str, table: str) -> pd.DataFrame:
        frame = super()._frame(dataset, table)
        self._check(dataset_file(self.root, dataset))
        return frame

    def _check(self, path: Path) -> None:
        now = examine_if_usable(path)
        if path.parent == self.root / "datasets":
            held = self._known().get(path.stem)
        else:
            held = self._by_name("embedding", path.parent.name).get(path.stem)
        if now is None or held is None or now.recipe != held.recipe:
            raise _changed(path.stem)

    def _digest(self, kind: str, dataset: str, *name: str) -> str:
        known = self._known()
        if kind == "datasets":
            return _hash(sorted((name, meta.recipe.digest) for name, meta in known.items()))
        if dataset not in known:
            return ABSENT
        if kind == "dataset":
            return known[dataset].recipe.digest
        if kind in ("models", "embedding"):
            made = self._digests("embedding", dataset)
            if kind == "embedding":
                return made.get(":".join(name), ABSENT)
            unusable = sorted(self._unusable(dataset))
            return _hash(sorted(made.items()), [], unusable)  # []: as kept answers have it
        if kind in ("result", "results"):
            kept = self._digests("result", dataset)
            if kind == "result":
                return kept.get(":".join(name), ABSENT)
            return _hash(sorted(one for one in kept.items() if one[0].startswith(":".join(name))))
        return ABSENT  # a kind of another version

    def _digests(self, kind: Kind, dataset: str) -> dict[str, str]:
        """Return the digest of each embedding, or of each result that is not derived."""
        return self._once(
            ("digests", kind, dataset),
            lambda: {
                meta.name: meta.digest_as_read if kind == "embedding" else meta.recipe.digest
                for meta in self._listed(kind, dataset)
            },
        )

    def _known(self) -> Listing:
        return {meta.name: meta for meta in self._datasets()}

    def _by_name(self, kind: Kind, dataset: str) -> Listing:
        return self._once(
            ("by name", kind, dataset),
            lambda: {meta.name: meta for meta in self._listed(kind, dataset)},
        )

    def _once(self, key: Hashable, look: Callable[[], T]) -> T:
        if key not in self._held:
            self._held.setdefault(key, look())
        return cast(T, self._held[key])


def _hash(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def digest_of_file(path: Path) -> str:
    return _bytes_of(path, stamp(path)) if path.is_file() else ABSENT


@lru_cache(maxsize=64)
def _bytes_of(path: Path, _: Stamp) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _path(name: str) -> str:
    path = Path(name)
    if not os.path.exists(path):  # a very long path is no error
        return ABSENT
    inside = (file for file in path.rglob("*") if file.is_file())
    files = sorted(inside) if path.is_dir() else [path]
    return _hash([(str(file), *stamp(file)[:2]) for file in files])


resolve("shipped", lambda name: digest_of_file(ROOT / name))
resolve("path", _path)


def _changed(name: str) -> StoreChangedError:
    return StoreChangedError(f"{name} changed in the store while it was read; ask again")
