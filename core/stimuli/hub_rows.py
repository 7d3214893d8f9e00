"""The rows of a hub data set's split, each checked: images as the bytes that it holds, and texts,
one or a list of them.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import StimuliError
from core.files.userfile import shown
from core.stimuli.captions import Captioned, Problem, Row, gather, gather_images
from core.stimuli.hub_source import NO_IMAGE, NO_TEXT, own_folders
from core.stimuli.images import check_image, read_image

if TYPE_CHECKING:
    import datasets


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
