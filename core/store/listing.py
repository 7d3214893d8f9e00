"""Which files of a folder can be used, and why the others are left out."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from core.errors import StoreDamagedError, StoreError, StoreVersionError
from core.store.examine import Stamp, examine, stamp
from core.store.expected import expected
from core.store.schema import SUFFIX, Kind, Meta, published_files
from core.store.versions import VERSIONS


def all_usable(
    folder: Path,
    kind: Kind,
    revision: str | None,
    refused: list[str],
    *,
    but: tuple[str, ...] = (),
) -> list[Meta]:
    """Return the metas of a folder's files, in order; the reason of each that cannot be used is
    added to `refused`. Embeddings that are to come are among them.

    but: beginnings of names that are left out.
    """
    files, versions = stamped(published_files(folder, but=but)), tuple(VERSIONS.items())
    metas, reasons = _usable_once(files, kind, revision, versions)
    if reasons:
        _usable_once.cache_clear()  # a reason may pass though the file stays the same
        refused += reasons
    if kind != "embedding":
        return list(metas)
    coming = expected(folder, {path.stem for path, _ in files})
    all_ = [*metas, *(meta for meta in coming if meta.revision == revision)]
    return sorted(all_, key=lambda meta: f"{meta.name}{SUFFIX}")  # as the files are


def stamped(paths: Iterable[Path]) -> tuple[tuple[Path, Stamp], ...]:
    stamped = []
    for path in paths:
        with suppress(FileNotFoundError):  # removed between the listing and now
            stamped.append((path, stamp(path)))
    return tuple(stamped)


@lru_cache(maxsize=64)  # folders: a page asks for the same one a hundred times
def _usable_once(
    files: tuple[tuple[Path, Stamp], ...],
    kind: Kind,
    revision: str | None,
    _: tuple[tuple[str, int], ...],
) -> tuple[list[Meta], list[str]]:
    refused: list[str] = []
    metas = [
        usable(path, kind, _dataset_of(path, kind), revision, refused=refused) for path, _ in files
    ]
    return [meta for meta in metas if meta], refused


def _dataset_of(path: Path, kind: Kind) -> str:
    return path.stem if kind == "dataset" else path.parent.name


def usable(
    path: Path, kind: Kind, dataset: str, revision: str | None, *, refused: list[str]
) -> Meta | None:
    """Return a file's meta, None where it is not there or, with the reason added to `refused`,
    where it cannot be used.
    """
    try:
        meta = examine(path)
        _check_place(path, meta, kind, dataset, revision)
    except FileNotFoundError:  # removed between the listing and now
        return None
    except StoreError as error:
        refused.append(str(error))
        return None
    return meta


def _check_place(path: Path, meta: Meta, kind: Kind, dataset: str, revision: str | None) -> None:
    """Raise StoreError for a file that was moved or renamed, or that was made over another revision
    of its dataset.
    """
    if (meta.kind, meta.name, meta.dataset) != (kind, path.stem, dataset):
        raise StoreDamagedError(
            f"{path} holds the {meta.kind} {meta.name!r} of dataset {meta.dataset!r}; move it to"
            " where that belongs, or delete it"
        )
    if revision is not None and meta.revision != revision:
        raise StoreVersionError(
            f"{path} was made over revision {meta.revision} of {dataset!r}, which is at {revision}"
            " now; make it again, or add that revision again"
        )
