"""A dataset from the Hugging Face hub by id, or from a local folder of data files in the same form.
`datasets` runs no code of a repository; it reads in a process of limited memory, and images alone
that the data set itself holds.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from core.errors import PlatoscopeError, StimuliError, quoted
from core.files.texts import Json
from core.files.userfile import room, shown
from core.hub.repository import Repository
from core.machine.confined import confine
from core.machine.memory import is_out_of_memory, size_text
from core.recipe import Plain
from core.stimuli.captions import Captioned, Problem, Row, gather, gather_images
from core.stimuli.dataset import OpenedDataset, assemble, check_name
from core.stimuli.images import check_image, read_image
from core.stimuli.table import missing_column, role_of

if TYPE_CHECKING:  # a second, only for those who use the hub
    import datasets

# Ids in place of a repository and its choices. wit_1024: the 1,024 pairs of
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
R = TypeVar("R")


def open_hub(
    hub_id: str,
    *,
    name: str,
    revision: str | None = None,
    split: str | None = None,
    image_column: str | None = None,
    text_column: str | None = None,
    skip_broken: bool = False,
) -> OpenedDataset:
    """Open one split in its order, from the cache if it is there; ids are the row numbers from 0.

    hub_id: `owner/name`, one of PRESETS, or a local folder. split, columns: if None, the preset's,
    else those of DEFAULTS, else the only split and columns of a usual name. image_column: NO_IMAGE
    for texts alone. text_column: texts, or lists of texts, which are the caption levels, or NO_TEXT
    for images alone. Raise OfflineError if the hub is needed and cannot be reached, StimuliError
    for all else.
    """
    check_name(name)
    columns = {"image_column": image_column, "text_column": text_column}
    source = source_of(hub_id, {"revision": revision, "split": split, **columns}, skip_broken)
    table, source = _confined(_read_split, source)
    source = completed(source, table.column_names)
    images, folders, digests, bad = read_images(table, source)
    whole, wrong = gather_rows(table, source["text_column"], bad.keys())
    local = Path(source["hub_id"])
    title = local.resolve().name if local.is_dir() else source["hub_id"]
    return assemble(
        whole,
        [*bad.values(), *wrong],
        where=source["hub_id"],
        name=name,
        title=title,
        source=source,
        digests=digests,
        read=partial(_read_row, images, title, folders),
    )


def _read_row(
    table: datasets.Dataset | None, title: str, folders: Sequence[Path], row: str
) -> tuple[str, bytes]:
    assert table is not None  # as `image` checks
    name = f"{title} {row}"
    return name, image_bytes(table[int(row)]["image"], name, folders)


def check_id(hub_id: str) -> None:
    """Raise StimuliError for what is neither a preset nor `owner/name` on the hub: `datasets` may
    read one word as the name of a local file.
    """
    if os.path.isdir(hub_id) or not (hub_id in PRESETS or _ID.fullmatch(hub_id)):
        raise StimuliError(
            f"expected a data set of the hub, as owner/name or {' or '.join(PRESETS)}, got"
            f" {quoted(hub_id)}; for a local folder of data files, type the command in a terminal"
        )


def source_of(hub_id: str, values: Mapping[str, str | None], skip_broken: bool) -> Json:
    """Return the choices that open the data set again: those given, else the preset's."""
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


def completed(source: Json, columns: Sequence[str]) -> Json:
    """Return a source with the columns of images and texts: those of DEFAULTS, else those of
    another usual name; raise StimuliError if there is none.
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


def repository(source: Plain) -> Repository | None:
    import datasets

    hub_id, revision = source["hub_id"], source["revision"]
    if Path(hub_id).is_dir():
        return None
    cache = datasets.config.HF_DATASETS_CACHE
    instead = f"HF_DATASETS_CACHE to name a cache that has it (now {cache})"
    return Repository(hub_id, hub_id, instead, "dataset", revision)


def _confined(work: Callable[..., R], source: Json) -> R:
    most, hub_id = room(), source["hub_id"]
    try:
        return confine(work, source, memory=most)
    except MemoryError as error:
        raise StimuliError(
            f"{hub_id} takes more than the {size_text(most)} of memory that may be used, half of"
            " what is free, or is damaged; free some, or choose another data set"
        ) from error


def _read_split(source: Json) -> tuple[datasets.Dataset, Json]:
    """Fetch the files and write their rows into the cache; return the split, and the source at the
    commit that was read.
    """
    import datasets

    from core.hub.fetch import commit_of

    with _explained(source):
        wanted = repository(source)
        if wanted and not re.fullmatch("[0-9a-f]{40}", str(wanted.revision)):
            source = {**source, "revision": commit_of(wanted) or wanted.revision}
        builder = datasets.load_dataset_builder(source["hub_id"], revision=source["revision"])
        builder.download_and_prepare()
        only, *others = builder.info.splits or {DEFAULTS["split"]: None}
        source["split"] = source["split"] or (DEFAULTS["split"] if others else only)
        return builder.as_dataset(split=source["split"]), source


@contextmanager
def _explained(source: Json) -> Iterator[None]:
    from core.hub.fetch import asking

    wanted = repository(source)
    try:
        if wanted is None:
            yield
        else:
            with asking(wanted):
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


def read_images(
    table: datasets.Dataset, source: Plain
) -> tuple[datasets.Dataset | None, Sequence[Path], dict[str, str] | None, dict[str, Problem]]:
    """Return the images of a split, the folders that they may be files of, the digest of each good
    one by its row (None without images), and the problems of the others.
    """
    import datasets

    column = source["image_column"]
    if column == NO_IMAGE:
        return None, (), None, {}
    only = table.select_columns([column])
    only = only if column == "image" else only.rename_column(column, "image")
    try:
        images = only.cast_column("image", datasets.Image(decode=False))
    except (TypeError, ValueError, NotImplementedError) as error:
        raise StimuliError(
            f"column {column!r} holds no images ({error}); name the column that does"
            " (--image-column)"
        ) from error
    # the local folder, or what the hub's cache holds of the repository, links followed
    wanted = repository(source)
    folder = wanted.cache if wanted else Path(source["hub_id"])
    folders = [folder, datasets.config.DOWNLOADED_DATASETS_PATH]
    if folder.parent.name == "snapshots":  # of the hub's cache, whose files are links to its blobs
        folders.append(folder.parent.parent / "blobs")
    own = tuple(Path(os.path.realpath(each)) for each in folders)
    digests: dict[str, str] = {}
    bad: dict[str, Problem] = {}
    for number, value in enumerate(images["image"]):
        try:
            data = image_bytes(value, str(number), own)
            check_image(data, name=str(number))
            digests[str(number)] = hashlib.sha256(data).hexdigest()
        except StimuliError as error:
            bad[str(number)] = Problem(number + 1, str(error))
    return images, own, digests, bad


def gather_rows(
    table: datasets.Dataset, column: str, broken: Collection[str]
) -> tuple[Captioned, list[Problem]]:
    if column == NO_TEXT:
        nameless = [Row(number + 1, str(number), "", None) for number in range(table.num_rows)]
        return gather_images(nameless, broken=broken)
    rows = []
    for number, cell in enumerate(table[column]):
        texts = cell if isinstance(cell, list) and cell else [cell or None]
        rows += [
            Row(number + 1, str(number), str(level), text)
            for level, text in enumerate(texts)
            if level == 0 or text
        ]
    return gather(rows, broken=broken)


def image_bytes(value: Plain | None, name: str, folders: Sequence[Path]) -> bytes:
    """Return an image that the data set holds, as bytes or as a file in one of its folders; raise
    StimuliError for any other.
    """
    if value and value["bytes"] is not None:
        data: bytes = value["bytes"]
        return data
    path = value["path"] if value else None
    file = None
    with suppress(OSError, ValueError):  # not there, too long; ValueError: a NUL in the name
        file = Path(os.path.realpath(path, strict=True)) if path else None
    if file is None or not any(map(file.is_relative_to, folders)):
        raise StimuliError(
            f"image {name} is not in the data set{f' but at {shown(path)}' if path else ''}; only"
            " images that the data set itself holds are read: put it in its folder, or skip what is"
            " broken"
        )
    return read_image(file)
