"""Labeled images in a folder: one folder per class, a table beside the images, or tar files.

DIR/CLASS/….jpg                 a class is a folder of images; folders inside it count to it
DIR/train/CLASS/… DIR/test/…    the same, divided; `val` in place of `test` DIR/labels.csv
columns image, label and, where it is divided, split (train, test); JSONL and Parquet too
DIR/train/0.tar …               see core/competence/shards.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from core.competence.images.labeled import (
    LIMIT,
    ImageSet,
    Limit,
    Sample,
    Samples,
    as_set,
    digest,
    draw,
)
from core.competence.images.shards import has_shards, read_shards
from core.errors import StimuliError
from core.progress import Progress
from core.stimuli.images import SUFFIXES, Stored
from core.stimuli.places import Images
from core.stimuli.table import list_tables, read_table

GROUP = "own"
TESTS = ("test", "val")  # what the part is called that a probe is measured on
FORMS = (
    "DIR/CLASS/*.jpg, DIR/train/CLASS/*.jpg with DIR/test, a table with the columns image and"
    " label, or DIR/train/0.tar"
)


def open_folder(folder: Path, *, limit: Limit = LIMIT, report: Progress | None = None) -> ImageSet:
    """Open a folder of labeled images as the task `folder NAME`, at most `limit` of them.

    Raises StimuliError for a folder in none of the forms above, and what `draw` raises.
    """
    samples, parts = draw(_find(folder, report), limit=limit)
    source = {"images": digest(samples), "parts": [len(part) for part in vars(parts).values()]}
    return as_set(f"folder {folder.resolve().name}", GROUP, samples, parts, source=source)


def _find(folder: Path, report: Progress | None) -> Samples:
    if not folder.is_dir():
        raise StimuliError(f"{folder} is not a folder; expected {FORMS}")
    if has_shards(folder):
        return read_shards(folder, report=report)
    test = next((folder / name for name in TESTS if _class_folders(folder / name)), None)
    if test and _class_folders(folder / "train"):
        return _divided(folder / "train", test)
    if classes := _class_folders(folder):
        return Samples(_in_classes(classes, _numbered(classes)))
    return _from_table(folder)


def _divided(train: Path, test: Path) -> Samples:
    training, testing = _class_folders(train), _class_folders(test)
    if unknown := sorted(testing.keys() - training.keys()):
        raise StimuliError(
            f"{test / unknown[0]} is a class that {train} does not have; expected the same folders"
            " in both"
        )
    numbers = _numbered(training)
    return Samples(_in_classes(training, numbers), _in_classes(testing, numbers))


def _class_folders(folder: Path) -> dict[str, list[Path]]:
    """Return the images of each subfolder that has any, in the order of their paths."""
    classes = {}
    for inside in sorted(
        path for path in folder.glob("*") if path.is_dir() and not path.name.startswith(".")
    ):
        images = sorted(
            path for path in inside.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file()
        )
        if images:
            classes[inside.name] = images
    return classes


def _in_classes(classes: Mapping[str, list[Path]], numbers: Mapping[str, int]) -> list[Sample]:
    return [
        Sample(Stored(path), numbers[name]) for name, paths in classes.items() for path in paths
    ]


def _numbered(names: Iterable[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(sorted(set(names)))}


def _from_table(folder: Path) -> Samples:
    """Read the folder's only table."""
    tables = list_tables(folder)
    if len(tables) != 1:
        raise StimuliError(
            f"{folder} has no folders of images and {len(tables)} tables; expected {FORMS}"
        )
    table, images = read_table(tables[0], wanted=("image", "label")), Images(folder)
    numbers = _numbered(str(row["label"]) for row in table.rows)
    parts: dict[str, list[Sample]] = {"train": [], "test": []}
    for number, row in enumerate(table.rows, start=1):
        image, label, part = row["image"], row["label"], str(row.get("split") or "train")
        if not image or label in (None, "") or part not in parts:
            raise StimuliError(
                f"row {number} of {table.path.name} has image {image!r}, label {label!r} and split"
                f" {part!r}; expected an image, its label and, where there is a split, train or"
                " test"
            )
        parts[part].append(Sample(images.find(str(image)), numbers[str(label)]))
    return Samples(**parts)
