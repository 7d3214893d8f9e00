"""Labeled images for probes: drawn by a seed, divided into parts, read from their files on demand.

A folder of one's own, or a task of VTAB from the hub or its cache (Zhai et al. 2019):

    DIR/CLASS/….jpg                 a class is a folder of images, with the folders inside it
    DIR/train/CLASS/… DIR/test/…    the same, divided; `val` in place of `test`
    DIR/train/0.tar … nshards.txt   tars of KEY.webp and KEY.cls, and how many there are; DIR/test
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Int64
from PIL import Image

from core.competence.probes import Split, split
from core.competence.scores import vtab_tasks
from core.errors import InputError, StimuliError, UnknownNameError
from core.files.userfile import NOTE, UserFile
from core.hub.repository import Repository
from core.progress import Progress
from core.recipe import Plain
from core.stimuli.images import SUFFIXES, Stored, list_members, load_image

Limit = int | tuple[int, int]  # samples at most: of all parts, or to learn from and to be tested on
LIMIT = 10_000  # samples of a task at most
LEAST = 6  # samples: three to train, one to validate, two to test
SEED = 0  # of the draw
COUNT = "nshards.txt"
IMAGES = (".webp", ".jpg", ".jpeg", ".png")
LABEL = ".cls"
_LONGEST = 18  # digits of a label
FORMS = "DIR/CLASS/*.jpg, DIR/train/CLASS/*.jpg with DIR/test, or DIR/train/0.tar"
ALL = "vtab"  # all of them
PARTS = [f"{part}/{form}" for part in ("train", "test") for form in (COUNT, "*.tar")]
# where the hub's labels are finer than the benchmark's: positions and orientations of dSprites
RAW_CLASSES: Mapping[str, int] = {"dSprites-Location": 32, "dSprites-Orientation": 40}


class Sample(NamedTuple):
    """An image, and its class from 0."""

    image: Stored
    label: int


@dataclass(frozen=True)
class Samples:
    """All samples of a source; `train` alone if it does not divide them."""

    train: Sequence[Sample]
    test: Sequence[Sample] = ()


@dataclass(frozen=True, eq=False)
class Question:
    """What to recognize in every image of a set: classes from 0, and which images train, validate
    and test. split: what the images to be tested on are called.
    """

    task: str
    group: str
    labels: Int64[np.ndarray, "n"]
    parts: Split
    split: str = "test"


@dataclass(frozen=True)
class ImageSet:
    """Images (or melodies), the questions about them, and in `source` all that both depend on, as
    plain data. images: gives those of start … stop − 1.
    """

    name: str
    source: Plain
    size: int
    images: Callable[[int, int], Sequence[Image.Image] | Sequence[str]]
    questions: tuple[Question, ...]


def draw(samples: Samples, *, limit: Limit = LIMIT, seed: int = SEED) -> tuple[list[Sample], Split]:
    """Draw at most `limit` samples and divide them: half to train, a sixth to validate, a third to
    test.

    If the source has a test part, the test samples are drawn from it and all others from its
    training part. Raise InputError for a limit, and StimuliError for a source, that leaves a part
    empty or a single class.
    """
    if isinstance(limit, int):
        limit = limit - round(limit / 3), round(limit / 3)
    if sum(limit) < LEAST:
        raise InputError(
            f"a probe takes at least {LEAST} samples to train, validate and test, not {sum(limit)};"
            " raise --limit"
        )
    dice = np.random.default_rng(seed)

    def some(part: Sequence[Sample], most: int) -> list[Sample]:
        return [part[place] for place in dice.permutation(len(part))[:most]]

    if not samples.test:
        kept = some(samples.train, sum(limit))
        parts = split(len(kept))
    else:
        test = some(samples.test, limit[1])
        learned = some(samples.train, limit[0])
        kept, first = [*learned, *test], len(learned) - round(len(learned) / 4)
        parts = Split(*np.split(np.arange(len(kept)), [first, len(learned)]))
    if len(kept) < LEAST or not all(len(part) for part in vars(parts).values()):
        raise StimuliError(
            f"{len(kept)} labeled images are too few to train, validate and test a probe; give at"
            f" least {LEAST}"
        )
    if len({sample.label for sample in kept}) < 2:
        raise StimuliError("all labeled images are of one class; give at least two classes")
    return kept, parts


def _as_set(
    name: str, group: str, samples: Sequence[Sample], parts: Split, source: Plain
) -> ImageSet:
    """Return drawn samples with one question; classes are those drawn, numbered from 0."""
    _, labels = np.unique([sample.label for sample in samples], return_inverse=True)

    def images(start: int, stop: int) -> list[Image.Image]:
        return [load_image(each.read(), name=str(each)) for each, _ in samples[start:stop]]

    return ImageSet(name, source, len(samples), images, (Question(name, group, labels, parts),))


def read_shards(folder: Path, *, report: Progress | None = None) -> Samples:
    """List the samples of the parts that there are; raise StimuliError for any other form."""
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
    """Open a folder of labeled images as the task `folder NAME`, at most `limit` of them. Raise
    StimuliError for a folder in none of the forms above, and as `draw`.
    """
    if any((folder / part / COUNT).is_file() for part in ("train", "test")):
        found = read_shards(folder, report=report)
    else:
        tests = [_classes(folder / part) for part in ("test", "val")]
        training, testing = _classes(folder / "train"), tests[0] or tests[1]
        if not (training and testing):
            training, testing = _classes(folder), {}
        if not training:
            raise StimuliError(f"{folder} has no folders of images; expected {FORMS}")
        if unknown := sorted(testing.keys() - training.keys()):
            raise StimuliError(
                f"the class {unknown[0]!r} of {folder} has test images but no training images;"
                " expected the same folders in both parts"
            )
        numbers = {name: number for number, name in enumerate(sorted(training))}
        found = Samples(
            *(
                [Sample(Stored(path), numbers[name]) for name in part for path in part[name]]
                for part in (training, testing)
            )
        )
    samples, parts = draw(found, limit=limit)
    total = hashlib.sha256()
    for image, label in samples:
        total.update(f"{label} {hashlib.sha256(image.read()).hexdigest()}\n".encode())
    source = {"images": total.hexdigest(), "parts": [len(part) for part in vars(parts).values()]}
    return _as_set(f"folder {folder.resolve().name}", "own", samples, parts, source)


def _classes(folder: Path) -> dict[str, list[Path]]:
    classes = {}
    for inside in sorted(path for path in folder.glob("[!.]*") if path.is_dir()):
        found = (path for path in inside.rglob("*") if path.suffix.lower() in SUFFIXES)
        if images := sorted(path for path in found if path.is_file()):
            classes[inside.name] = images
    return classes


def task_names() -> list[str]:
    return vtab_tasks()["task"].tolist()


def open_vtab(name: str, *, limit: Limit = LIMIT, report: Progress | None = None) -> ImageSet:
    """Open a task by its name, at most `limit` samples of it; the first time its data set is
    fetched whole.

    Raise UnknownNameError, OfflineError if the data set is not in the cache and the hub cannot be
    reached, StimuliError if the hub does not have it or its labels are not the benchmark's.
    """
    from core.hub.fetch import fetch_snapshot  # half a second, only for the hub's users

    tasks = {task["task"]: task for task in vtab_tasks().to_dict("records")}
    if name not in tasks:
        raise UnknownNameError("task of VTAB", name, tasks)
    task = tasks[name]
    folder = fetch_snapshot(task_repository(name), PARTS)
    listed = read_shards(folder, report=report)
    samples, parts = draw(_in_benchmark_classes(listed, name, task["classes"]), limit=limit)
    source = {"hub": task["hub"], "revision": folder.name, "classes": task["classes"]}
    source |= {"limit": limit, "seed": SEED}
    return _as_set(name, task["group"], samples, parts, source)


def _in_benchmark_classes(samples: Samples, name: str, classes: int) -> Samples:
    """Return ⌊label · classes / raw⌋ for labels that are finer than the benchmark's, others as they
    are. Raise StimuliError for labels beyond either count.
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
