"""Labeled images for probes: drawn by a seed, divided into parts, read from their files on demand.
They lie in a folder of one's own, or are a task of VTAB, from the hub or its cache.

    DIR/CLASS/….jpg                 a class is a folder of images; folders inside it count to it
    DIR/train/CLASS/… DIR/test/…    the same, divided; `val` in place of `test`
    DIR/labels.csv                  columns image, label and, if it is divided, split (train, test);
                                    JSONL and Parquet too
    DIR/train/0.tar … nshards.txt   tars of KEY.webp and KEY.cls, and how many there are; DIR/test

Source of VTAB: X. Zhai et al., A large-scale study of representation learning with the visual task
adaptation benchmark (2019).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int64
from PIL import Image

from core.competence.probes import Split, split
from core.competence.scores import vtab_tasks
from core.errors import InputError, StimuliError, UnknownNameError
from core.files.userfile import NOTE, UserFile
from core.hub.repository import Repository
from core.progress import Progress
from core.stimuli.folder import Images
from core.stimuli.images import SUFFIXES, Stored, list_members, load_image
from core.stimuli.table import list_tables, read_table

Limit = int | tuple[int, int]  # samples at most: of all parts, or to learn from and to be tested on
LIMIT = 10_000  # samples of a task at most
LEAST = 6  # samples: three to train, one to validate, two to test
SEED = 0  # of the draw
_TEST = 1 / 3  # of the samples, as in `split`
_VALIDATION = 1 / 4  # of what is not test, as there
COUNT = "nshards.txt"
IMAGES = (".webp", ".jpg", ".jpeg", ".png")
LABEL = ".cls"
_LONGEST = 18  # digits of a label
GROUP = "own"
TESTS = ("test", "val")  # what the part is called that a probe is measured on
FORMS = (
    "DIR/CLASS/*.jpg, DIR/train/CLASS/*.jpg with DIR/test, a table with the columns image and"
    " label, or DIR/train/0.tar"
)
ALL = "vtab"  # stands for all of them
PARTS = [f"{part}/{form}" for part in ("train", "test") for form in (COUNT, "*.tar")]
# What the hub's labels count where the benchmark joins neighbors: positions and orientations of the
# drawn figure.
RAW_CLASSES: Mapping[str, int] = {"dSprites-Location": 32, "dSprites-Orientation": 40}


class Sample(NamedTuple):
    """An image, and its class from 0."""

    image: Stored
    label: int


@dataclass(frozen=True)
class Samples:
    """All samples of a source: those to learn from and those to be tested on, or `train` alone if
    it does not divide them.
    """

    train: Sequence[Sample]
    test: Sequence[Sample] = ()


@dataclass(frozen=True, eq=False)
class Question:
    """One thing to recognize in every image of a set: classes from 0, and which images train,
    validate and test. split: what the images to be tested on are called.
    """

    task: str
    group: str
    labels: Int64[np.ndarray, "n"]
    parts: Split
    split: str = "test"


@dataclass(frozen=True)
class ImageSet:
    """Images, the questions about them, and in `source` all that both depend on, as plain data.
    name: for people. images: gives those of start … stop − 1.
    """

    name: str
    source: Mapping[str, Any]
    size: int
    images: Callable[[int, int], list[Image.Image]]
    questions: tuple[Question, ...]


def draw(samples: Samples, *, limit: Limit = LIMIT, seed: int = SEED) -> tuple[list[Sample], Split]:
    """Draw at most `limit` samples and divide them: half to train, a sixth to validate, a third to
    test.

    If the source has a test part, the test samples are drawn from it and all others from its
    training part; of two limits, the first is of those to learn from, a quarter of which validates,
    the second of those to be tested on. Raises InputError for a limit, and StimuliError for a
    source, that leaves a part empty or a single class.
    """
    if isinstance(limit, int):
        limit = limit - round(limit * _TEST), round(limit * _TEST)
    if sum(limit) < LEAST:
        raise InputError(
            f"a probe takes at least {LEAST} samples to train, validate and test, not {sum(limit)};"
            " raise --limit"
        )
    dice, (most_learned, most_tested) = np.random.default_rng(seed), limit
    if not samples.test:
        kept = _some(samples.train, most_learned + most_tested, dice)
        parts = split(len(kept))
    else:
        test = _some(samples.test, most_tested, dice)
        learned = _some(samples.train, most_learned, dice)
        kept = [*learned, *test]
        first = len(learned) - round(len(learned) * _VALIDATION)
        ends = (0, first), (first, len(learned)), (len(learned), len(kept))
        parts = Split(*(np.arange(*each, dtype=np.int64) for each in ends))
    if len(kept) < LEAST or not all(len(part) for part in vars(parts).values()):
        raise StimuliError(
            f"{len(kept)} labeled images are too few to train, validate and test a probe; give at"
            f" least {LEAST}"
        )
    if len({sample.label for sample in kept}) < 2:
        raise StimuliError(
            "all labeled images are of one class, so there is nothing to predict; give at least two"
            " classes"
        )
    return kept, parts


def as_set(
    name: str, group: str, samples: Sequence[Sample], parts: Split, *, source: Mapping[str, Any]
) -> ImageSet:
    """Return drawn samples as a set with one question, which has the set's name; classes are those
    that were drawn, numbered from 0 in their order.
    """
    _, labels = np.unique([sample.label for sample in samples], return_inverse=True)

    def images(start: int, stop: int) -> list[Image.Image]:
        return [load_image(each.read(), name=str(each)) for each, _ in samples[start:stop]]

    return ImageSet(name, source, len(samples), images, (Question(name, group, labels, parts),))


def digest(samples: Sequence[Sample]) -> str:
    total = hashlib.sha256()
    for sample in samples:
        total.update(f"{sample.label} {hashlib.sha256(sample.image.read()).hexdigest()}\n".encode())
    return total.hexdigest()


def _some(samples: Sequence[Sample], limit: int, dice: np.random.Generator) -> list[Sample]:
    return [samples[place] for place in dice.permutation(len(samples))[:limit]]


def read_shards(folder: Path, *, report: Progress | None = None) -> Samples:
    """List the samples of both parts, or of one if there is only one; raises StimuliError for what
    is not in this form.
    """
    parts = [part for part in ("train", "test") if (folder / part / COUNT).is_file()]
    if not parts:
        raise StimuliError(
            f"{folder} has neither train/{COUNT} nor test/{COUNT}; expected tar files with images"
            " and labels"
        )
    return Samples(*(_read_part(folder / part, report) for part in parts))


def _read_part(part: Path, report: Progress | None) -> list[Sample]:
    written = UserFile(part / COUNT, "the number of tar files", StimuliError, most=NOTE).read()
    text = written.decode("utf-8", errors="replace").strip()
    if not text.isdecimal() or not 0 < int(text) < 100_000:
        raise StimuliError(
            f"{part / COUNT} says {text[:20]!r}; expected the number of tar files next to it"
        )
    samples = []
    for number in range(int(text)):
        path = part / f"{number}.tar"
        members = list_members(path, read=(LABEL,), listed=IMAGES)
        images = {one.key: one.place for one in members if one.suffix in IMAGES}
        labels = {one.key: one.data for one in members if one.suffix == LABEL}
        if odd := sorted(images.keys() ^ labels.keys()):
            raise StimuliError(
                f"{odd[0]!r} in {path} lacks its image or its label; expected KEY.webp (or jpg,"
                f" png) and KEY{LABEL}"
            )
        for key, place in images.items():
            label = labels[key][: 2 * _LONGEST].strip()
            if not label.isdigit() or len(label) > _LONGEST:
                raise StimuliError(
                    f"the label {key}{LABEL} in {path} is {label!r}; expected a class number, 1 to"
                    f" {_LONGEST} digits"
                )
            samples.append(Sample(place, int(label)))
        if report:
            report(number + 1, int(text), f"lists of {part.parent.name}/{part.name}")
    return samples


def open_folder(folder: Path, *, limit: Limit = LIMIT, report: Progress | None = None) -> ImageSet:
    """Open a folder of labeled images as the task `folder NAME`, at most `limit` of them. Raises
    StimuliError for a folder in none of the forms above, and as `draw`.
    """
    samples, parts = draw(_find(folder, report), limit=limit)
    source = {"images": digest(samples), "parts": [len(part) for part in vars(parts).values()]}
    return as_set(f"folder {folder.resolve().name}", GROUP, samples, parts, source=source)


def _find(folder: Path, report: Progress | None) -> Samples:
    if not folder.is_dir():
        raise StimuliError(f"{folder} is not a folder; expected {FORMS}")
    if any((folder / part / COUNT).is_file() for part in ("train", "test")):
        return read_shards(folder, report=report)
    train, test = folder / "train", next(filter(_class_folders, map(folder.joinpath, TESTS)), None)
    if test is None or not _class_folders(train):
        train, test = folder, None
    training, testing = _class_folders(train), _class_folders(test) if test else {}
    if unknown := sorted(testing.keys() - training.keys()):
        raise StimuliError(
            f"{(test or folder) / unknown[0]} is a class that {train} does not have; expected the"
            " same folders in both"
        )
    numbers = _numbered(training)
    parts = [
        [Sample(Stored(path), numbers[name]) for name, paths in classes.items() for path in paths]
        for classes in (training, testing)
    ]
    return Samples(*parts) if training else _from_table(folder)


def _class_folders(folder: Path) -> dict[str, list[Path]]:
    """Return the images of each subfolder that has any, in the order of their paths."""
    classes = {}
    for inside in sorted(folder.glob("*")):
        if inside.is_dir() and not inside.name.startswith("."):
            found = (path for path in inside.rglob("*") if path.suffix.lower() in SUFFIXES)
            if images := sorted(path for path in found if path.is_file()):
                classes[inside.name] = images
    return classes


def _numbered(names: Iterable[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(sorted(set(names)))}


def _from_table(folder: Path) -> Samples:
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
        parts[part].append(Sample(Stored(images.find(str(image))), numbers[str(label)]))
    return Samples(**parts)


def task_names() -> list[str]:
    return vtab_tasks()["task"].tolist()


def open_vtab(name: str, *, limit: Limit = LIMIT, report: Progress | None = None) -> ImageSet:
    """Open a task by its name; its data set is fetched whole on the first time, and at most `limit`
    samples are drawn.

    Raises UnknownNameError, OfflineError if the data set is not in the cache and the hub cannot be
    reached, StimuliError if the hub does not have it, or if it is not as the benchmark describes
    it.
    """
    from core.hub.fetch import fetch_snapshot  # half a second, only for the hub's users

    tasks = {task["task"]: task for task in vtab_tasks().to_dict("records")}
    if name not in tasks:
        raise UnknownNameError("task of VTAB", name, tasks)
    task = tasks[name]
    wanted = task_repository(name)
    folder = fetch_snapshot(wanted, PARTS)
    listed = read_shards(folder, report=report)
    samples, parts = draw(_in_benchmark_classes(listed, name, task["classes"]), limit=limit)
    source = {"hub": task["hub"], "revision": folder.name, "classes": task["classes"]}
    source |= {"limit": limit, "seed": SEED}
    return as_set(name, task["group"], samples, parts, source=source)


def _in_benchmark_classes(samples: Samples, name: str, classes: int) -> Samples:
    """Return ⌊label · classes / raw⌋ for each label if labels count finer than the benchmark, and
    else the labels. Raises StimuliError for labels beyond either count.
    """
    highest = max((sample.label for sample in (*samples.train, *samples.test)), default=0)
    if highest < classes:
        return samples
    raw = RAW_CLASSES.get(name, classes)
    if highest >= raw:
        raise StimuliError(
            f"the labels of {name} go up to {highest}, and {raw} classes from 0 were expected;"
            " fetch it again"
        )

    def joined(part: Sequence[Sample]) -> list[Sample]:
        return [sample._replace(label=sample.label * classes // raw) for sample in part]

    return Samples(joined(samples.train), joined(samples.test))


def task_repository(name: str) -> Repository:
    hub_id = vtab_tasks().set_index("task").loc[name, "hub"]
    instead = "--task DIR with a copy of its train and test folders"
    return Repository(hub_id, f"{name} ({hub_id})", instead, kind="dataset")
