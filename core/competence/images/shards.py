"""Labeled images as the hub's image benchmarks keep them: tar files of KEY.webp and KEY.cls, one
folder for each part.

    SET/train/0.tar 1.tar … nshards.txt      nshards.txt says how many there are
    SET/test/0.tar … nshards.txt

Nothing is unpacked: an image is read where it lies in its tar.
"""

from __future__ import annotations

from pathlib import Path

from core.competence.images.labeled import Sample, Samples
from core.errors import StimuliError
from core.files.userfile import NOTE, UserFile
from core.progress import Progress
from core.stimuli.tars import Member, list_members

COUNT = "nshards.txt"
IMAGES = (".webp", ".jpg", ".jpeg", ".png")
LABEL = ".cls"
_LONGEST = 18  # digits of a label


def has_shards(folder: Path) -> bool:
    """Return whether a folder holds at least one part in this form."""
    return any((folder / part / COUNT).is_file() for part in ("train", "test"))


def read_shards(folder: Path, *, report: Progress | None = None) -> Samples:
    """List the samples of both parts, of one where there is only one; raises StimuliError for what
    is not in this form.
    """
    parts = [part for part in ("train", "test") if (folder / part / COUNT).is_file()]
    if not parts:
        raise StimuliError(
            f"{folder} has neither train/{COUNT} nor test/{COUNT}; expected tar files with images"
            " and labels"
        )
    return Samples(*(_read_part(folder / part, report) for part in parts))


def _listed(part: Path) -> list[Path]:
    written = UserFile(part / COUNT, "the number of tar files", StimuliError, most=NOTE).read()
    text = written.decode("utf-8", errors="replace").strip()
    if not text.isdecimal() or not 0 < int(text) < 100_000:
        raise StimuliError(
            f"{part / COUNT} says {text[:20]!r}; expected the number of tar files beside it"
        )
    return [part / f"{number}.tar" for number in range(int(text))]


def _read_part(part: Path, report: Progress | None) -> list[Sample]:
    paths, samples = _listed(part), []
    for done, path in enumerate(paths, start=1):
        samples += _read_shard(path)
        if report:
            report(done, len(paths), f"lists of {part.parent.name}/{part.name}")
    return samples


def _read_shard(path: Path) -> list[Sample]:
    """Return the samples of a tar in the order of their images; each key has one image and one
    label.
    """
    members = list_members(path, read=(LABEL,), listed=IMAGES)
    images = {one.key: one.place for one in members if one.suffix in IMAGES}
    labels = {one.key: _read_label(one) for one in members if one.suffix == LABEL}
    if odd := sorted(images.keys() ^ labels.keys()):
        raise StimuliError(
            f"{odd[0]!r} in {path} lacks its image or its label; expected KEY.webp (or jpg, png)"
            f" and KEY{LABEL}"
        )
    return [Sample(place, labels[key]) for key, place in images.items()]


def _read_label(label: Member) -> int:
    text = label.data[: 2 * _LONGEST].strip()
    if not text.isdigit() or len(text) > _LONGEST:
        raise StimuliError(
            f"the label {label.key}{LABEL} in {label.place.path} is {text!r}; expected a class"
            f" number, 1 to {_LONGEST} digits"
        )
    return int(text)
