"""What people upload in the browser: each upload in a folder `ROOT/uploads/DIGEST` of the store.

An upload that no dataset and no job needs is removed a day after it was last shown, when the next
one comes. What is too large is refused before writing.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
import zipfile
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath

from core.errors import InputError, StimuliError, StoreBusyError, StoreWriteError
from core.machine.memory import size_text
from core.stimuli.table import TABLES
from core.store.publishing import locked, sync, writing
from core.store.reader import Store
from core.store.schema import published_files

ABANDONED = 24 * 3600.0  # seconds after which an unused upload is removed
PATIENCE = 300.0  # seconds to wait for the same upload of another visitor: 8 GB at 30 MB/s
LONGEST = 100  # bytes of a name before its extension, and of the extension
GB = 10**9
LITTER = re.compile(r"(^|/)(__MACOSX/|\.[^/]*$)")  # what systems add, hidden files
_UNSAFE = re.compile(r"[^\w.-]+")

File = tuple[str, bytes | memoryview]  # its name and what it holds


@dataclass(frozen=True)
class Limits:
    """Of an upload: files, and bytes of all of them."""

    files: int = 200_000
    size: int = 8 * GB


LIMITS = Limits()


def uploads_folder(root: Path) -> Path:
    return Path(root).absolute() / "uploads"


def find_upload(root: Path, place: str) -> Path | None:
    """Return an upload by its path below the uploads, else None; mark it as shown."""
    if not place.isprintable():
        return None
    uploads = uploads_folder(root).resolve()
    path = (uploads / place).resolve()
    if path == uploads or not path.is_relative_to(uploads) or not os.path.exists(path):
        return None
    folder = uploads / path.relative_to(uploads).parts[0]
    with suppress(StoreWriteError), writing(folder):  # else nothing is removed either
        os.utime(folder)
    return path


def keep_file(root: Path, name: str, data: bytes, *, needed: Collection[str] = ()) -> Path:
    """Keep one uploaded file under a safe name and return its path. needed: texts, such as commands
    of jobs, with paths of uploads that are still needed. Raise InputError for an empty file.
    """
    if not data:
        raise InputError(f"{name!r} is empty (0 bytes); choose a file that holds something")
    safe = safe_name(name)
    folder = _keep(root, [(safe, data)], lambda new: (new / safe).write_bytes(data), needed)
    return folder / safe


def keep_dataset(
    root: Path, files: Sequence[File], *, needed: Collection[str] = (), limits: Limits = LIMITS
) -> Path:
    """Keep an uploaded dataset, a zip or a table with image files, and return its folder. needed:
    see `keep_file`. Raise StimuliError for an archive that is damaged or too large.
    """
    if not files:
        raise StimuliError("nothing was uploaded; choose a zip, or a caption table with its images")
    zipped = [name for name, _ in files if name.lower().endswith(".zip")]
    if zipped and len(files) > 1:
        raise StimuliError(
            f"{zipped[0]} was uploaded next to {len(files) - 1} other files; upload one zip with"
            " everything in it, or the table and the images without a zip"
        )
    tables = (name for name, _ in files if name.lower().endswith(TABLES))
    title = safe_name(Path(next(tables, files[0][0])).stem)
    fill = _unpack if zipped else _write_all
    folder = _keep(root, files, lambda new: fill(files, new / title, limits), needed)
    while len(inside := list(folder.iterdir())) == 1 and inside[0].is_dir():
        folder = inside[0]  # archives often wrap what they hold
    return folder


def safe_name(name: str) -> str:
    """Return a file's name without folders and special characters."""
    base = PurePosixPath(name.replace("\\", "/")).name
    stem, dot, suffix = _UNSAFE.sub("-", base).strip(".-").rpartition(".")
    stem, suffix = (part.encode()[:LONGEST].decode(errors="ignore") for part in (stem, suffix))
    return f"{stem}{dot}{suffix}" or "upload"


def _keep(
    root: Path, files: Sequence[File], fill: Callable[[Path], object], needed: Collection[str]
) -> Path:
    """Return the folder of an upload; `fill` writes a new one, after abandoned ones are removed.
    Raise StoreBusyError if another visitor takes long to upload the same.
    """
    parts = (f"{name}\0{hashlib.sha256(data).hexdigest()}\0" for name, data in files)
    digest = hashlib.sha256("".join(parts).encode(errors="replace")).hexdigest()[:32]
    target = uploads_folder(root) / digest
    with locked(target, patience=PATIENCE), writing(target):
        if target.is_dir():
            os.utime(target)  # its day begins again
            return target
        _remove_abandoned(root, needed)
        new = target.with_name(f"{digest}.new")
        shutil.rmtree(new, ignore_errors=True)  # a killed server left it
        try:
            new.mkdir(parents=True)
            fill(new)
            for path in new.rglob("*"):
                sync(path)
            new.replace(target)
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise
    return target


def _remove_abandoned(root: Path, needed: Collection[str]) -> None:
    store, uploads = Store(root), uploads_folder(root)
    datasets = store.datasets()
    if len(datasets) < len(published_files(store.root / "datasets")):
        return  # one that cannot be read may need any of them
    texts = [*needed, *(str(card.source.get("folder", "")) for card in datasets)]

    def is_old(folder: Path) -> bool:
        try:
            return time.time() - folder.stat().st_mtime > ABANDONED
        except FileNotFoundError:  # another visitor has removed it
            return False

    for folder in uploads.iterdir() if uploads.is_dir() else ():
        if not folder.is_dir() or not is_old(folder) or any(folder.name in text for text in texts):
            continue
        with suppress(StoreBusyError), locked(folder):  # else it is just being uploaded again
            if is_old(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _write_all(files: Sequence[File], folder: Path, limits: Limits) -> None:
    _check_all([len(data) for _, data in files], "the upload", limits)
    for name, data in files:
        parts = PurePosixPath(name.replace("\\", "/")).parts
        path = folder.joinpath(*(part for part in parts if part not in ("/", "..")))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _unpack(files: Sequence[File], folder: Path, limits: Limits) -> None:
    ((archive, data),) = files
    try:
        with zipfile.ZipFile(BytesIO(data)) as pack:
            wanted = [
                entry
                for entry in pack.infolist()
                if not (entry.is_dir() or LITTER.search(entry.filename))
            ]
            _check_all([entry.file_size for entry in wanted], archive, limits)
            for entry in wanted:
                pack.extract(entry, folder)  # within the folder, whatever its name; links as files
    except (StimuliError, OSError):
        raise
    except Exception as error:  # it raises anything on broken bytes
        raise StimuliError(
            f"{archive} is no zip, a damaged one or one with a password ({error}); make it again"
            " and upload it"
        ) from error


def _check_all(sizes: Sequence[int], where: str, limits: Limits) -> None:
    if sum(sizes) > limits.size or len(sizes) > limits.files:
        raise StimuliError(
            f"{where} takes {size_text(sum(sizes))} in {len(sizes):,} files unpacked, and"
            f" {size_text(limits.size)} in {limits.files:,} at most is taken; put it into a folder"
            " on the server"
        )
