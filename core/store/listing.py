"""Which files of a folder can be used, and which models are still to be embedded.

`embeddings/DATASET/expected.json` holds the meta of each embedding that is to come,
`expected-texts.parquet` the bits and bytes of its texts, so that the demo's shipped answers count
before anything is embedded. A model with a file is no longer expected.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path

import pandas as pd

from core.errors import InputError, StoreDamagedError, StoreError, StoreVersionError
from core.store.files import Stamp, examine, read_frame, stamp
from core.store.publishing import locked, publish_json
from core.store.publishing import replace as publish
from core.store.schema import (
    SUFFIX,
    VERSIONS,
    Kind,
    Meta,
    dump_meta,
    is_present,
    load_meta,
    published_files,
)

FILE = "expected.json"
TEXTS = "expected-texts.parquet"
PATIENCE = 60.0  # seconds to wait for another process that writes the list
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
    files = []
    for path in published_files(folder, but=but):
        with suppress(FileNotFoundError):  # removed between the listing and now
            files.append((path, stamp(path)))
    metas, reasons = _usable_once(tuple(files), kind, revision, tuple(VERSIONS.items()))
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


def tidy(title: str) -> str:
    """Return a title on one line, without characters that cannot be seen."""
    return " ".join("".join(one if one.isprintable() else " " for one in title).split())


def check_title(title: str, kind: str = "a title") -> str:
    """Return the title; raise InputError if it is not one short line."""
    if not title or len(title) > LONGEST or title != tidy(title):
        raise InputError(f"{kind} has 1 to {LONGEST} characters on one line, not {title[:99]!r}")
    return title
