"""A look at a dataset before it is added: its first stimuli, and what is wrong, row by row.

It looks at the first rows and decodes the first images, so that a large dataset takes no longer
than a small one. `FolderDataset.open` and `HubDataset.open` look at everything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from PIL import Image

from core.stimuli.addition import OF_HUB, Addition
from core.stimuli.captions import Captioned, Problem, Row, gather
from core.stimuli.folder import check_file, read_images, read_rows
from core.stimuli.images import load_image
from core.stimuli.table import find_table, read_table

SIDE = 224  # pixels of a sample's longer side


@dataclass(frozen=True)
class Sample:
    """A stimulus as it would be added: its id, a small image, and its captions by level."""

    stimulus: str
    image: Image.Image
    captions: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Limits:
    """How much a preview looks at: rows of the table, images that are decoded, samples."""

    rows: int = 5_000
    images: int = 40
    samples: int = 8


@dataclass(frozen=True)
class Preview:
    """What was seen of a source.

    rows, images, unopened: how many rows were read, how many images they name, and how many of
    those were found and not decoded. is_whole: whether the table has no further rows. levels,
    factors: their names.
    """

    samples: tuple[Sample, ...]
    problems: tuple[Problem, ...]
    rows: int
    images: int
    unopened: int
    is_whole: bool
    levels: tuple[str, ...]
    factors: tuple[str, ...]


LIMITS = Limits()
FIRST_OF_HUB = Limits(rows=32)


def preview_folder(folder: Path, *, table: Path | None = None, limits: Limits = LIMITS) -> Preview:
    """Look at a folder of images with a caption table; see `FolderDataset.open`.

    Raises StimuliError where there is no table that can be read.
    """
    every = read_table(folder / table if table else find_table(folder), most=limits.rows + 1)
    seen = replace(every, rows=every.rows[: limits.rows])
    is_whole = seen.rows == every.rows
    rows, nameless = read_rows(seen)
    rows = rows if is_whole else _settled(rows)
    files, unusable = read_images(folder, rows, _check_first(limits.images))
    whole, wrong = gather(rows, broken=unusable.keys())
    problems = sorted([*nameless, *unusable.values(), *wrong], key=lambda problem: problem.row)
    decoded = {name: path for name, (path, digest) in files.items() if digest}
    names = [name for name in whole.stimuli["stimulus"] if name in decoded][: limits.samples]
    return Preview(
        samples=tuple(_sample(whole, name, decoded[name].read_bytes()) for name in names),
        problems=tuple(problems),
        rows=len(seen.rows),
        images=len(files) + len(unusable),
        unopened=len(files) - len(decoded),
        is_whole=is_whole,
        levels=whole.levels,
        factors=seen.factor_columns,
    )


def preview_hub(addition: Addition, *, limits: Limits = FIRST_OF_HUB) -> Preview:
    """Look at the first rows of a data set of the hub; see `HubDataset.open`.

    Raises OfflineError where the hub cannot be reached, StimuliError for all else.
    """
    from core.stimuli import hub  # a second, only for those who use the hub

    values = {name: getattr(addition, name) or None for name in OF_HUB}
    source = hub.source_of(addition.hub, values, addition.skip_broken)
    table = hub.load_first(source, limits.rows + 1)
    is_whole = len(table) <= limits.rows and "[" not in source["split"]
    rows = hub.read_rows(table.take(min(len(table), limits.rows)), source)
    names = rows.whole.stimuli["stimulus"][: limits.samples]
    images = [rows.images[int(name)]["image"] for name in names]
    return Preview(
        samples=tuple(
            _sample(rows.whole, name, hub.image_bytes(image, name))
            for name, image in zip(names, images, strict=True)
        ),
        problems=tuple(rows.problems),
        rows=len(rows.images),
        images=len(rows.images),
        unopened=0,
        is_whole=is_whole,
        levels=rows.whole.levels,
        factors=(),
    )


def _check_first(most: int) -> Callable[[Path, str], str]:
    """Return a check that decodes the first images and takes the others as they are."""
    turn = count()

    def check(path: Path, name: str) -> str:
        return check_file(path, name) if next(turn) < most else ""

    return check


def _settled(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of stimuli whose default caption was read: that of others may come later."""
    default = rows[0].level if rows else ""
    ready = {row.stimulus for row in rows if row.level == default}
    return [row for row in rows if row.stimulus in ready]


def _sample(whole: Captioned, name: str, data: bytes) -> Sample:
    """Make a sample of a stimulus that is whole."""
    (index,) = whole.stimuli.index[whole.stimuli["stimulus"] == name]
    levels = whole.captions[whole.captions["index"] == index]
    image = load_image(data, name=name, side=SIDE)
    image.thumbnail((SIDE, SIDE))
    return Sample(name, image, tuple(zip(levels["level"], levels["text"], strict=True)))
