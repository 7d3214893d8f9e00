"""Where a hub data set comes from: its repository, revision, split and columns; and what is said
where it cannot be opened.

The files of a hub data set, as `datasets` reads them. It has no limits of its own: it reads in a
process that may take no more memory than one file may.

The rows of a hub data set's split, each checked: images as the bytes that it holds, and texts,
one or a list of them.

A dataset from the Hugging Face hub by id, or from a local folder of data files in the same form.

Data files only are read: `datasets` runs no code of a repository, an image that is only an address
is not fetched, and one that is a file is read where it is the data set's own.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import pandas as pd
from PIL import Image

from core.errors import PlatoscopeError, StimuliError, quoted
from core.files.userfile import IMAGE, room, shown
from core.hub.repository import Repository
from core.machine.confined import confine
from core.machine.memory import is_out_of_memory, size_text
from core.stimuli.captions import Captioned, Problem, Row, gather, gather_images, refuse
from core.stimuli.dataset import DatasetCard, check_images, check_name
from core.stimuli.images import check_image, load_image, read_image
from core.stimuli.table import is_saved, missing_column, role_of

if TYPE_CHECKING:
    import datasets


# Ids that stand for a repository and the choices that go with it. wit_1024: the 1,024 pairs of
# Wikipedia images and texts that Huh et al. (2024) measured on; its texts are lists, whose first
# one, level 0, is theirs. flickr30k: 31,783 photographs with five captions each, levels 0 to 4;
# `--split test[:5000]` takes the first 5,000.
PRESETS: Mapping[str, Mapping[str, str]] = {
    "wit_1024": {"hub_id": "minhuh/prh", "revision": "wit_1024"},
    "flickr30k": {"hub_id": "lmms-lab/flickr30k", "split": "test", "text_column": "caption"},
}
NO_TEXT = ""  # in place of a column of texts: images alone
NO_IMAGE = ""  # in place of a column of images: texts alone
DEFAULTS: Mapping[str, str] = {"split": "train", "image_column": "image", "text_column": "text"}
_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*", re.ASCII)


def check_id(hub_id: str) -> None:
    """Raise StimuliError for what is neither a preset nor `owner/name` on the hub: a local folder,
    or one word, by which `datasets` may mean the files where a command runs.
    """
    if os.path.isdir(hub_id) or not (hub_id in PRESETS or _ID.fullmatch(hub_id)):
        raise StimuliError(
            f"expected a data set of the hub, as owner/name or {' or '.join(PRESETS)}, got"
            f" {quoted(hub_id)}; for a local folder of data files, type the command in a terminal"
        )


def source_of(hub_id: str, values: Mapping[str, str | None], skip_broken: bool) -> dict[str, Any]:
    """Return every choice that opens the data set again: those given, else the preset's. What is
    None then is found in the data set: see `completed`.
    """
    local = Path(hub_id).is_dir()
    if local and values["revision"] is not None:
        raise StimuliError(
            f"{hub_id} is a local folder and has no revision {values['revision']!r}; leave the"
            " revision out"
        )
    preset = {} if local else PRESETS.get(hub_id, {})
    place = str(Path(hub_id).resolve()) if local else preset.get("hub_id", hub_id)
    chosen = {name: preset.get(name) if value is None else value for name, value in values.items()}
    return {"kind": "hub", "hub_id": place, **chosen, "skip_broken": skip_broken}


def completed(source: dict[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """Return a source with the columns of a data set that hold its images and its texts: those of
    DEFAULTS, else those of another usual name; raises StimuliError where there is none.
    """
    chosen = dict(source)
    for role, name in (("image", "image_column"), ("caption", "text_column")):
        wanted = DEFAULTS[name] if source[name] is None else source[name]
        if not wanted:  # NO_IMAGE, NO_TEXT
            continue
        found = wanted if wanted in columns else None
        if found is None and source[name] is None:
            found = role_of(columns, role)
        if found is None:
            raise missing_column("the data set", wanted, columns, role)
        chosen[name] = found
    return chosen


def pinned(source: dict[str, Any]) -> dict[str, Any]:
    """Return a source at the commit that it stands for now, so that it is the same whenever it is
    opened again; as it is where nobody can tell.
    """
    from core.hub.fetch import commit_of  # half a second, only for those who use the hub

    wanted = repository(source)
    if wanted is None or re.fullmatch("[0-9a-f]{40}", str(wanted.revision)):
        return source
    return {**source, "revision": commit_of(wanted) or wanted.revision}


def repository(source: Mapping[str, Any]) -> Repository | None:
    """Return the hub's repository of a source, None for a local folder."""
    import datasets

    hub_id, revision = source["hub_id"], source["revision"]
    if Path(hub_id).is_dir():
        return None
    cache = datasets.config.HF_DATASETS_CACHE
    instead = f"HF_DATASETS_CACHE to name a cache that has it (now {cache})"
    return Repository(hub_id, hub_id, instead, "dataset", revision)


def own_folders(source: Mapping[str, Any]) -> tuple[Path, ...]:
    """Return the folders, links followed, whose files belong to a data set: the local one, or what
    the hub's cache holds of the repository; and where `datasets` keeps what it downloads.
    """
    import datasets

    wanted = repository(source)
    folder = wanted.cache if wanted else Path(source["hub_id"])
    folders = [folder, datasets.config.DOWNLOADED_DATASETS_PATH]
    if folder.parent.name == "snapshots":  # of the hub's cache, whose files are links to its blobs
        folders.append(folder.parent.parent / "blobs")
    return tuple(Path(os.path.realpath(each)) for each in folders)


@contextmanager
def explained(source: Mapping[str, Any]) -> Iterator[None]:
    """Turn what the library raises into a sentence: ValueError, FileNotFoundError, its own,
    pyarrow's …
    """
    from core.hub.fetch import asking  # as above

    wanted = repository(source)
    if wanted is None:
        with _opened(source):
            yield
        return
    with _opened(source), asking(wanted):
        yield


@contextmanager
def _opened(source: Mapping[str, Any]) -> Iterator[None]:
    try:
        yield
    except PlatoscopeError:
        raise
    except Exception as error:
        if is_out_of_memory(error):
            raise
        reason = " ".join(str(error).split())[:300]
        raise StimuliError(
            f"cannot open {source['hub_id']} as a hub data set: {reason}; check the id, the"
            " revision (--revision) and the split (--split)"
        ) from error


STARTING = 15.0  # seconds that a process may take to import its libraries
Source = dict[str, Any]
R = TypeVar("R")


def load_split(source: Source) -> tuple[datasets.Dataset, Source]:
    """Return a split, and its source at the commit that it was read at; raises as
    `HubDataset.open` does.
    """
    return _confined(_read_split, source)


def load_first(source: Source, most: int, seconds: float) -> datasets.Dataset:
    """Return the first rows of a split without those behind them; raises as `HubDataset.open` does,
    StimuliError for a split that does not begin at its first row, or if they were not read within
    so many seconds.
    """
    import datasets  # a second, only for those who use the hub

    name, _, part = (source["split"] or "").partition("[")
    if part and not part.startswith(":"):
        raise StimuliError(
            f"split {source['split']} begins in the middle, where it cannot be looked into; add it"
            " as it is"
        )
    rows = _confined(
        _read_first, {**source, "split": name or None}, most, within=STARTING + seconds
    )
    return datasets.Dataset.from_list(rows)


def _confined(
    work: Callable[..., R], source: Source, *given: object, within: float | None = None
) -> R:
    """Let another process read: a line of JSON or a member of an archive is read whole, however
    long it is. within: seconds.
    """
    most, hub_id = room(), source["hub_id"]
    try:
        return confine(work, source, *given, memory=most, seconds=within)
    except MemoryError as error:
        raise StimuliError(
            f"{hub_id} takes more than the {size_text(most)} of memory that may be used, half of"
            " what is free, or is damaged; free some, or choose another data set"
        ) from error
    except TimeoutError as error:
        raise StimuliError(
            f"the first rows of {hub_id} were not read within {within:g} s; add it as it is, or"
            " choose another data set"
        ) from error


def _read_split(source: Source) -> tuple[datasets.Dataset, Source]:
    """Fetch the files and write their rows into the cache, where the split that is returned finds
    them.
    """
    import datasets  # a second, only for those who use the hub

    with explained(source):
        if is_saved(Path(source["hub_id"])):
            table, split = _saved(source)
            return table, {**source, "split": split}
        source = pinned(source)
        builder = datasets.load_dataset_builder(source["hub_id"], revision=source["revision"])
        builder.download_and_prepare()
        source["split"] = source["split"] or _usual_split(builder.info.splits or ())
        return builder.as_dataset(split=source["split"]), source


def _read_first(source: Source, most: int) -> list[dict[str, Any]]:
    import datasets  # a second, only for those who use the hub

    with explained(source):
        if is_saved(Path(source["hub_id"])):
            table, _ = _saved(source)
            first = table.select(range(min(most, len(table))))
            return first.to_iterable_dataset().decode(False).take(most).to_list()
        stream = datasets.load_dataset(
            source["hub_id"], revision=source["revision"], split=source["split"], streaming=True
        )
        if not source["split"]:
            stream = stream[_usual_split(stream)]
        wanted = repository(source)
        return [_fetched(row, wanted) for row in stream.decode(False).take(most)]


def _saved(source: Source) -> tuple[datasets.Dataset, str]:
    """Return a split of what `save_to_disk` wrote, and its name."""
    import datasets  # a second, only for those who use the hub

    held = datasets.load_from_disk(source["hub_id"])
    if isinstance(held, datasets.Dataset):
        return held, source["split"] or DEFAULTS["split"]
    split = source["split"] or _usual_split(held)
    return held[split], split


def _usual_split(splits: Collection[str]) -> str:
    """Return the only split, else the usual one."""
    return next(iter(splits)) if len(splits) == 1 else DEFAULTS["split"]


def _fetched(row: Mapping[str, Any], wanted: Repository | None) -> dict[str, Any]:
    """Return a row with the bytes of images that are files of the repository."""
    return {
        name: _fetch(value, wanted) if isinstance(value, dict) else value
        for name, value in row.items()
    }


def _fetch(value: Mapping[str, Any], wanted: Repository | None) -> Mapping[str, Any]:
    path = value.get("path")
    if value.get("bytes") is not None or not (wanted and _is_of(path, wanted)):
        return value
    from huggingface_hub import HfFileSystem

    with HfFileSystem().open(path) as file:
        if file.size > IMAGE:
            raise StimuliError(
                f"{path} has {size_text(file.size)}; expected an image, of {size_text(IMAGE)} at"
                " most: save it smaller"
            )
        return {**value, "bytes": file.read()}


def _is_of(path: Any, wanted: Repository) -> bool:
    """Return whether a path names a file of a repository of data sets, which may be of any commit:
    `..` would lead to those of others.
    """
    own = f"hf://datasets/{wanted.id}@"
    return isinstance(path, str) and path.startswith(own) and ".." not in path.split("/")


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a split, checked: the images, None of texts alone; the stimuli that are whole,
    the digest of each good image by row, and what is wrong with the others. folders: those that
    images may be files of.
    """

    images: datasets.Dataset | None
    whole: Captioned
    digests: Mapping[str, str]
    problems: Sequence[Problem]
    folders: Sequence[Path]

    def image(self, name: str) -> bytes | None:
        """Return the image of a stimulus that is whole, None of texts alone."""
        if not self.images:
            return None
        return image_bytes(self.images[int(name)]["image"], name, self.folders)


def read_rows(table: datasets.Dataset, source: Mapping[str, Any]) -> Rows:
    """Check every row of a split; source: as `completed` returns it."""
    alone = source["text_column"] == NO_TEXT
    images = None
    if source["image_column"] != NO_IMAGE:
        images = _undecoded(table, source["image_column"])
    rows = _nameless(table.num_rows) if alone else _texts(table, source)
    folders = own_folders(source)
    digests, unusable = _check_images(images, folders) if images else ({}, {})
    whole, wrong = (gather_images if alone else gather)(rows, broken=unusable.keys())
    problems = sorted([*unusable.values(), *wrong], key=lambda problem: problem.row)
    return Rows(images, whole, digests, problems, folders)


def _undecoded(table: datasets.Dataset, column: str) -> datasets.Dataset:
    """Return the images alone, as bytes or path, in a column named image."""
    import datasets

    only = table.select_columns([column])
    only = only if column == "image" else only.rename_column(column, "image")
    try:
        return only.cast_column("image", datasets.Image(decode=False))
    except (TypeError, ValueError, NotImplementedError) as error:
        raise StimuliError(
            f"column {column!r} holds no images ({error}); name the column that does"
            " (--image-column)"
        ) from error


def _texts(table: datasets.Dataset, source: Mapping[str, Any]) -> list[Row]:
    cells = enumerate(table[source["text_column"]])
    return [row for number, cell in cells for row in _captions(number, cell)]


def _nameless(count: int) -> list[Row]:
    return [Row(number + 1, str(number), "", None) for number in range(count)]


def _captions(number: int, cell: Any) -> Iterator[Row]:
    texts: Sequence[Any] = cell if isinstance(cell, list) and cell else [cell or None]
    for level, text in enumerate(texts):
        if level == 0 or text:
            yield Row(number + 1, str(number), str(level), text)


def _check_images(
    images: datasets.Dataset, folders: Sequence[Path]
) -> tuple[dict[str, str], dict[str, Problem]]:
    digests: dict[str, str] = {}
    bad: dict[str, Problem] = {}
    for number, value in enumerate(images["image"]):
        try:
            data = image_bytes(value, str(number), folders)
            check_image(data, name=str(number))
            digests[str(number)] = hashlib.sha256(data).hexdigest()
        except StimuliError as error:
            bad[str(number)] = Problem(number + 1, str(error))
    return digests, bad


def image_bytes(value: Mapping[str, Any] | None, name: str, folders: Sequence[Path]) -> bytes:
    """Return an image that the data set holds, as bytes or as a file below one of its folders;
    raises StimuliError for any other.
    """
    if value and value["bytes"] is not None:
        data: bytes = value["bytes"]
        return data
    path = value["path"] if value else None
    file = _own_file(path, folders) if path else None
    if file is None:
        raise StimuliError(
            f"image {name} is not in the data set{f' but at {shown(path)}' if path else ''}; only"
            " images that the data set itself holds are read: put it in its folder, or skip what is"
            " broken"
        )
    return read_image(file)


def _own_file(path: str, folders: Sequence[Path]) -> Path | None:
    """Return what a path leads to, links followed, where that is below one of the folders."""
    try:
        file = Path(os.path.realpath(path, strict=True))
    except (OSError, ValueError):  # not there, too long; ValueError: a NUL in the name
        return None
    return file if any(map(file.is_relative_to, folders)) else None


@dataclass(frozen=True, eq=False)
class HubDataset:
    """Stimuli of one split in its order; ids are the row numbers from 0.

    skipped: what was left out and why (only with skip_broken). notes: what is odd but allowed.
    """

    reality: ClassVar[None] = None  # nobody knows all factors
    card: DatasetCard
    stimuli: pd.DataFrame
    captions: pd.DataFrame
    skipped: tuple[str, ...]
    notes: tuple[str, ...]
    _table: datasets.Dataset | None = field(repr=False)  # the images, not decoded, in one column
    _folders: Sequence[Path] = field(repr=False)  # those that images may be files of

    @classmethod
    def open(
        cls,
        hub_id: str,
        *,
        name: str,
        revision: str | None = None,
        split: str | None = None,
        image_column: str | None = None,
        text_column: str | None = None,
        skip_broken: bool = False,
    ) -> HubDataset:
        """Open one split, from the cache where it is there.

        hub_id: `owner/name`, one of PRESETS, or a local folder. split, columns: the preset's, else
        those of DEFAULTS, else the only split and columns of a usual name, where None.
        image_column: NO_IMAGE for texts alone. text_column: a text, or a list of texts, whose
        places are the caption levels, or NO_TEXT for images alone; empty ones after the first are
        captions that a stimulus does not have. Raises OfflineError where the hub is needed and
        cannot be reached, StimuliError for all else.
        """
        check_name(name)
        columns = {"image_column": image_column, "text_column": text_column}
        source = source_of(hub_id, {"revision": revision, "split": split, **columns}, skip_broken)
        table, source = load_split(source)
        source = completed(source, table.column_names)
        rows = read_rows(table, source)
        whole, problems = rows.whole, rows.problems
        if problems and not skip_broken:
            raise refuse(source["hub_id"], problems)
        if whole.stimuli.empty:
            raise _nothing_left(source, problems)
        kept = whole.stimuli["stimulus"].tolist()
        has_images = rows.images is not None
        revision = whole.revision([rows.digests[each] for each in kept] if has_images else [])
        title = _title(source["hub_id"])
        card = DatasetCard(name, title, revision, source, whole.levels, len(kept), has_images)
        chosen = rows.images and rows.images.select([int(each) for each in kept])
        broken = tuple(map(str, problems))
        parts = (whole.stimuli, whole.captions, broken, whole.notes, chosen, rows.folders)
        return cls(card, *parts)

    def image(self, index: int) -> Image.Image:
        """Return a stimulus's image; raises StimuliError where there is no such stimulus, and where
        there are only texts.
        """
        check_images(self.card)
        if self._table is None or not 0 <= index < self.card.size:
            raise StimuliError(
                f"no stimulus {index} in {self.card.name}; there are 0 … {self.card.size - 1}"
            )
        name = f"{self.card.title} {self.stimuli['stimulus'].iloc[index]}"
        data = image_bytes(self._table[index]["image"], name, self._folders)
        return load_image(data, name=name)


def _nothing_left(source: Mapping[str, Any], problems: Sequence[Problem]) -> StimuliError:
    first = f"; {problems[0]}" if problems else ""
    return StimuliError(
        f"split {source['split']} of {source['hub_id']} has no usable stimulus{first}; try another"
    )


def _title(hub_id: str) -> str:
    return Path(hub_id).resolve().name if Path(hub_id).is_dir() else hub_id
