"""Where uploads lie, and how long.

    ROOT/uploads/DIGEST/…
    ROOT/uploads/DIGEST.sum    a digest of what lies there, so that damage is found

The digest is that of the content, so that an upload that comes twice is kept once. Its folder
appears whole or not at all. One that no dataset and no job needs is removed a day after it was last
shown, when the next upload comes.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from core.errors import InputError, StoreBusyError, StoreWriteError
from core.machine.memory import size_text
from core.store.inventory import total_size
from core.store.publishing import locked, writing
from core.store.reader import Store
from core.store.schema import published_files

ABANDONED = 24 * 3600.0  # seconds after which an upload that nobody needs is removed
PATIENCE = 300.0  # seconds to wait for the upload of another visitor: 8 GB at 30 MB/s
LONGEST = 100  # bytes of a name before its extension, and of the extension
GB = 10**9
TOTAL = 100 * GB  # bytes of all uploads together
SPARE = GB  # bytes that stay free on the disk of the store
_UNSAFE = re.compile(r"[^\w.-]+")


def uploads_folder(root: Path) -> Path:
    """Return where the uploads of a store lie."""
    return Path(root).absolute() / "uploads"


def keep_file(root: Path, name: str, data: bytes, *, needed: Collection[str] = ()) -> Path:
    """Keep one uploaded file and return its path; its name is made safe.

    needed: texts, such as the commands of jobs, in which the path of an upload that is still needed
    stands. Raises InputError for an empty file, StoreWriteError where there is no room for it.
    """
    if not data:
        raise InputError(f"{name!r} is empty (0 bytes); choose a file that holds something")
    safe = safe_name(name)

    def fill(new: Path) -> None:
        check_room(uploads_folder(root), len(data), name)
        (new / safe).write_bytes(data)

    return keep(root, digest_of([(safe, data)]), fill, needed=needed) / safe


def find_upload(root: Path, place: str) -> Path | None:
    """Return what was uploaded by its path below the folder of uploads, None where it is not there
    or leads elsewhere; its day begins anew.
    """
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


def keep(
    root: Path, digest: str, fill: Callable[[Path], None], *, needed: Collection[str] = ()
) -> Path:
    """Return the folder of an upload, filled by `fill` where it is not there yet, or not as it was
    when it came; see `keep_file`.

    Before one is filled, abandoned ones are removed. Uploads are written one after the other, so
    that none takes the room that another has found free; one that is there waits for no other.
    Raises StoreBusyError where the others take long.
    """
    target = uploads_folder(root) / digest
    with _turn(target), writing(target):
        if _is_whole(target):
            os.utime(target)  # its day begins anew
            return target
    with _turn(uploads_folder(root)), writing(target):
        _remove_abandoned(root, needed)
        if not _is_whole(target):  # it may have come twice at once
            _fill(target, fill)
    return target


@contextmanager
def _turn(target: Path) -> Iterator[None]:
    """Wait until no other visitor holds the lock of `target`, and hold it."""
    try:
        with locked(target, patience=PATIENCE):
            yield
    except StoreBusyError as error:
        raise StoreBusyError(
            "another visitor is uploading to this store; try again in some minutes"
        ) from error


def _remove_abandoned(root: Path, needed: Collection[str]) -> None:
    """Remove uploads of more than a day ago whose folder stands in no text of `needed` and in no
    dataset's source.
    """
    store = Store(root)
    datasets = store.datasets()
    if len(datasets) < len(published_files(store.root / "datasets")):
        return  # one that cannot be read may need any of them
    texts = [*needed, *(str(card.source.get("folder", "")) for card in datasets)]
    for folder in _folders(uploads_folder(root)):
        if not _is_old(folder) or any(folder.name in text for text in texts):
            continue
        with suppress(StoreBusyError), locked(folder):  # else it is just being uploaded again
            if _is_old(folder):
                shutil.rmtree(folder, ignore_errors=True)
                with suppress(OSError):
                    _sum_file(folder).unlink(missing_ok=True)


def check_room(uploads: Path, size: int, what: str) -> None:
    """Raise StoreWriteError where the disk or the folder of uploads has no room for an upload.

    size: its bytes.
    """
    free, taken = shutil.disk_usage(uploads).free, _size_of(uploads)
    remedy = "put it into a folder on the server, or free some"
    if size > free - SPARE:
        raise StoreWriteError(
            f"{what} takes {size_text(size)}, but only {size_text(free)} is free on the disk of the"
            f" store, and {size_text(SPARE)} of it must stay free; {remedy}"
        )
    if size + taken > TOTAL:
        raise StoreWriteError(
            f"{what} takes {size_text(size)}, and all uploads {size_text(taken)} of"
            f" {size_text(TOTAL)} that they may take together; {remedy} by deleting datasets that"
            " were uploaded"
        )


def safe_name(name: str) -> str:
    """Return a file's name without its folders and without what a shell or file system may mind."""
    base = PurePosixPath(name.replace("\\", "/")).name
    stem, dot, suffix = _UNSAFE.sub("-", base).strip(".-").rpartition(".")
    return f"{_cut(stem)}{dot}{_cut(suffix)}" or "upload"


def digest_of(files: Iterable[tuple[str, bytes | memoryview]]) -> str:
    """Return a digest of the names and contents of files."""
    parts = (f"{name}\0{hashlib.sha256(data).hexdigest()}\0" for name, data in files)
    return hashlib.sha256("".join(parts).encode(errors="replace")).hexdigest()[:32]


def _fill(target: Path, fill: Callable[[Path], None]) -> None:
    new = target.with_name(f"{target.name}.new")
    shutil.rmtree(new, ignore_errors=True)  # of a server that was killed
    try:
        new.mkdir(parents=True)
        fill(new)
        _sum_file(target).write_text(_sum(new), encoding="utf-8")
        shutil.rmtree(target, ignore_errors=True)  # one that is damaged
        new.replace(target)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise


def _is_whole(folder: Path) -> bool:
    """Return whether an upload is there, every byte as it came."""
    try:
        return folder.is_dir() and _sum_file(folder).read_text(encoding="utf-8") == _sum(folder)
    except (OSError, ValueError):
        return False


def _sum_file(folder: Path) -> Path:
    """Return where the digest of what an upload unpacks to lies, beside its folder."""
    return folder.with_name(f"{folder.name}.sum")


def _sum(folder: Path) -> str:
    """Return a digest of all files below a folder."""
    total = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        total.update(f"{path.relative_to(folder)}\0{content}\0".encode(errors="replace"))
    return total.hexdigest()


def _size_of(folder: Path) -> int:
    """Return how many bytes the files below a folder take."""
    places = ((here, name) for here, _, names in os.walk(folder) for name in names)
    return total_size(Path(here, name) for here, name in places)


def _cut(text: str) -> str:
    """Return as many characters of a text as fit."""
    return text.encode()[:LONGEST].decode(errors="ignore")


def _folders(uploads: Path) -> list[Path]:
    return [path for path in uploads.iterdir() if path.is_dir()] if uploads.is_dir() else []


def _is_old(folder: Path) -> bool:
    try:
        return time.time() - folder.stat().st_mtime > ABANDONED
    except FileNotFoundError:  # another visitor has removed it
        return False
