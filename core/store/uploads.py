"""What people upload in the browser: kept in the store, each upload in a folder of its own.

    ROOT/uploads/DIGEST/…
    ROOT/uploads/DIGEST.sum    a digest of what lies there, so that damage is found

The digest is that of the content, so that an upload that comes twice is kept once. Its folder
appears whole or not at all. One that no dataset and no job needs is removed a day after it was last
shown, when the next upload comes. A dataset is one zip, or a caption table with image files. Names
that lead elsewhere and links are refused, and what has no room, before anything is written.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import time
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath, PureWindowsPath

from core.errors import InputError, PlatoscopeError, StimuliError, StoreBusyError, StoreWriteError
from core.machine.memory import size_text
from core.stimuli.table import TABLES
from core.store.editing import total_size
from core.store.publishing import locked, writing
from core.store.reader import Store
from core.store.schema import published_files

__all__ = ["find_upload", "keep_dataset", "keep_file", "uploads_folder"]


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


LONGEST_PART = 200  # bytes of a file's or folder's name
LONGEST_PATH = 1000  # bytes of a name with its folders, which systems bound as well
_ENCRYPTED = 0x1
_ENTRY = b"PK\x01\x02"  # how each entry begins in a zip's list
_LITTER = 4  # entries for each file, at most: folders, and what systems add

File = tuple[str, bytes | memoryview]  # its name and what it holds


@dataclass(frozen=True)
class Limits:
    """How many files an upload may have, and how many bytes they may take together."""

    files: int = 200_000
    size: int = 8 * GB


LIMITS = Limits()


def keep_dataset(
    root: Path, files: Sequence[File], *, needed: Collection[str] = (), limits: Limits = LIMITS
) -> Path:
    """Keep an uploaded dataset and return its folder, which is named after the zip or the table.

    files: one zip alone, or a table and image files. needed: see `keep_file`. Raises StimuliError
    for an archive that is unsafe, damaged or too large, StoreWriteError where there is no room.
    """
    if not files:
        raise StimuliError("nothing was uploaded; choose a zip, or a caption table with its images")
    zipped = [name for name, _ in files if name.lower().endswith(".zip")]
    if zipped and len(files) > 1:
        raise StimuliError(
            f"{zipped[0]} was uploaded beside {len(files) - 1} other files; upload one zip with"
            " everything in it, or the table and the images without a zip"
        )
    title = safe_name(Path(_title_file(files)).stem)
    fill = _unpack if zipped else _write_all
    folder = keep(
        root,
        digest_of(files),
        lambda new: fill(files, new / title, limits),
        needed=needed,
    )
    return _innermost(folder)


def _title_file(files: Sequence[File]) -> str:
    """Return the name of the file after which the dataset is called: the zip, or the table."""
    tables = (name for name, _ in files if name.lower().endswith(TABLES))
    return next(tables, files[0][0])


def _innermost(folder: Path) -> Path:
    """Return the folder that holds more than one folder: archives often wrap what they hold."""
    inside = list(folder.iterdir())
    return _innermost(inside[0]) if len(inside) == 1 and inside[0].is_dir() else folder


def _write_all(files: Sequence[File], folder: Path, limits: Limits) -> None:
    """Write files beside each other."""
    names = [str(_safe_path(name, "the upload")) for name, _ in files]
    _check_names(names, "the upload")
    size = sum(len(data) for _, data in files)
    _check_size(len(files), size, "the upload", limits)
    check_room(folder.parents[1], size, "the upload")
    for name, (_, data) in zip(names, files, strict=True):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def _unpack(files: Sequence[File], folder: Path, limits: Limits) -> None:
    """Unpack one zip; nothing is written before all its entries are checked."""
    ((archive, data),) = files
    folder.mkdir()
    packed = bytes(data)
    if packed.count(_ENTRY) > _LITTER * limits.files:  # the list alone would take gigabytes
        _check_size(packed.count(_ENTRY), 0, archive, limits)
    with _damage(archive), zipfile.ZipFile(BytesIO(packed)) as pack:
        entries = [entry for entry in pack.infolist() if not _is_litter(entry)]
        paths = [_check_entry(entry, archive) for entry in entries]
        _check_names([str(path) for path in paths], archive)
        size = sum(entry.file_size for entry in entries)
        _check_size(len(entries), size, archive, limits)
        check_room(folder.parents[1], size, archive)
        for entry, path in zip(entries, paths, strict=True):
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with pack.open(entry) as source, target.open("xb") as copy:
                shutil.copyfileobj(source, copy)  # no more than the entry says of itself


@contextmanager
def _damage(archive: str) -> Iterator[None]:
    """Turn what a damaged zip raises into a sentence."""
    try:
        yield
    except (PlatoscopeError, OSError):
        raise
    except Exception as error:  # it raises anything on broken bytes
        raise StimuliError(
            f"{archive} is no zip, or a damaged one ({error}); make it anew and upload it again"
        ) from error


def _is_litter(entry: zipfile.ZipInfo) -> bool:
    """Return whether an entry is a folder, or one of the hidden files that systems leave."""
    parts = _path(entry.filename).parts
    hidden = bool(parts) and parts[-1].startswith(".") and parts[-1] != ".."
    return entry.is_dir() or "__MACOSX" in parts or hidden


def _check_entry(entry: zipfile.ZipInfo, archive: str) -> PurePosixPath:
    """Return where an entry goes; raises StimuliError for what is no plain file within."""
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise StimuliError(
            f"{entry.filename[:LONGEST_PART]!a} in {archive} is a link or a device; put the file"
            " itself into the zip"
        )
    if entry.flag_bits & _ENCRYPTED:
        raise StimuliError(f"{archive} has a password; make it anew without one")
    return _safe_path(entry.filename, archive)


def _safe_path(name: str, where: str) -> PurePosixPath:
    """Return a relative path within a folder; raises StimuliError for any other."""
    path = _path(name)
    if path.is_absolute() or PureWindowsPath(name).drive or ".." in path.parts or not path.parts:
        raise StimuliError(
            f"{name[:LONGEST_PART]!a} in {where} leads out of its folder; use names relative to it"
            " and without '..'"
        )
    if not name.isprintable():
        raise StimuliError(f"{name[:LONGEST_PART]!a} in {where} cannot be shown; rename that file")
    sizes = [len(part.encode(errors="replace")) for part in (name, *path.parts)]
    if sizes[0] > LONGEST_PATH or max(sizes[1:]) > LONGEST_PART:
        raise StimuliError(
            f"{name[:LONGEST_PART]!a} … in {where} is too long a name; use {LONGEST_PART} bytes at"
            f" most, and {LONGEST_PATH:,} with its folders"
        )
    return path


def _path(name: str) -> PurePosixPath:
    return PurePosixPath(name.replace("\\", "/"))  # as archives made on Windows may have it


def _check_names(names: Sequence[str], where: str) -> None:
    """Raise StimuliError where two files have one name."""
    taken: set[str] = set()
    for name in names:
        if name in taken:
            raise StimuliError(f"{where} has {name!a} twice; rename one of the two")
        taken.add(name)


def _check_size(count: int, size: int, where: str, limits: Limits) -> None:
    if count > limits.files:
        raise StimuliError(
            f"{where} has {count:,} files, {limits.files:,} at most are taken; put them into a"
            " folder on the server"
        )
    if size > limits.size:
        raise StimuliError(
            f"{where} takes {size_text(size)} unpacked, and {size_text(limits.size)} at most is"
            " taken; put it into a folder on the server"
        )
