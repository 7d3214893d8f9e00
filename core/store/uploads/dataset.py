"""An uploaded dataset: one zip, or a caption table with image files.

Names that lead elsewhere and links are refused, and what has no room, before anything is written.
"""

from __future__ import annotations

import shutil
import stat
import zipfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath, PureWindowsPath

from core.errors import PlatoscopeError, StimuliError
from core.machine.memory import size_text
from core.stimuli.table import TABLES
from core.store.uploads.place import GB, check_room, digest_of, keep, safe_name

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
