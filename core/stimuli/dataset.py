"""What a dataset is: an ordered, immutable list of stimuli with an id and a revision."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from jaxtyping import Float32
from PIL import Image

from core.errors import NotApplicableError, StimuliError
from core.recipe import Plain
from core.stimuli.captions import Captioned, Problem, refuse
from core.stimuli.images import load_image
from core.stimuli.worlds import World, find_world

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")  # safe as a file name and as a flag's value
_TAKEN = (".new", ".parts", ".lock")  # what the store appends while it writes
_EMBEDDED = "cave"  # the demo would put its own stimuli in the place of others of this name


@dataclass(frozen=True)
class DatasetCard:
    """What is known of a dataset without its stimuli. revision: digest of ids, captions, factors
    and images. source: the choices that open it again, `{"kind": "cave" | "folder" | "hub", …}`,
    and of a subset `subset`. levels: the caption levels, the default first.
    """

    name: str
    title: str
    revision: str
    source: Plain
    levels: tuple[str, ...]
    size: int
    has_images: bool = True

    @property
    def world(self) -> World | None:
        """Return the world that the stimuli are drawn from, None if there is none."""
        return None if "subset" in self.source else find_world(str(self.source.get("kind")))

    @property
    def holds(self) -> str:
        if self.levels:
            return "image–caption pairs" if self.has_images else "texts"
        return "images" if self.has_images else "ids"

    @property
    def items(self) -> str:
        """Return what a sentence calls several stimuli."""
        return "images" if self.has_images else "items"


@runtime_checkable
class Dataset(Protocol):
    """Image–caption stimuli in a fixed order."""

    @property
    def card(self) -> DatasetCard: ...

    @property
    def stimuli(self) -> pd.DataFrame:
        """One row per stimulus in order: `stimulus` (unique id), then one column per factor (text
        or number, may be missing).
        """

    @property
    def captions(self) -> pd.DataFrame:
        """Rows `index` (0 … n − 1), `level`, `text`, sorted by index, then level; every stimulus
        has the default level.
        """

    @property
    def reality(self) -> Float32[np.ndarray, "n dims"] | None:
        """The factors as vectors, None if they are not all known."""

    def image(self, index: int) -> Image.Image:
        """Return a stimulus's image, RGB, upright, at full size; raise StimuliError for a broken
        file, and without images.
        """


@dataclass(frozen=True, eq=False)
class OpenedDataset:
    """Stimuli of files. skipped: what was left out and why. notes: what is odd but allowed. read:
    from the id of a stimulus to the name and the bytes of its image.
    """

    reality: ClassVar[None] = None  # its factors are not all known
    card: DatasetCard
    stimuli: pd.DataFrame
    captions: pd.DataFrame
    skipped: tuple[str, ...]
    notes: tuple[str, ...]
    read: Callable[[str], tuple[str, bytes]] = field(repr=False)

    def image(self, index: int) -> Image.Image:
        check_images(self.card)
        if not 0 <= index < self.card.size:
            raise StimuliError(
                f"no stimulus {index} in {self.card.name}; there are 0 … {self.card.size - 1}"
            )
        name, data = self.read(self.stimuli["stimulus"].iloc[index])
        return load_image(data, name=name)


def assemble(
    whole: Captioned,
    problems: Iterable[Problem],
    *,
    where: str,
    name: str,
    title: str,
    source: Plain,
    digests: Mapping[str, str] | None,
    read: Callable[[str], tuple[str, bytes]],
) -> OpenedDataset:
    """Return the dataset of whole stimuli; raise StimuliError with all problems together, unless
    the source says `skip_broken`, and if nothing is left. digests: of images, by stimulus.
    """
    found = sorted(problems, key=lambda problem: problem.row)
    if found and not source["skip_broken"]:
        raise refuse(where, found)
    if whole.stimuli.empty:
        raise StimuliError(
            f"nothing is left of {where}: all its stimuli are broken, first {found[0]}"
            if found
            else f"{where} has no rows; expected at least one stimulus"
        )
    ids = whole.stimuli["stimulus"].tolist()
    revision = whole.revision([] if digests is None else [digests[one] for one in ids])
    has_images = digests is not None
    card = DatasetCard(name, title, revision, source, whole.levels, len(ids), has_images)
    skipped = tuple(map(str, found))
    return OpenedDataset(card, whole.stimuli, whole.captions, skipped, whole.notes, read)


def check_captions(card: DatasetCard) -> None:
    """Raise NotApplicableError for a dataset without captions."""
    if not card.levels:
        raise NotApplicableError(
            f"dataset {card.name!r} has {card.holds} and no captions, which this needs; add the"
            " dataset with captions under another name"
        )


def check_images(card: DatasetCard) -> None:
    """Raise NotApplicableError for a dataset without images."""
    if not card.has_images:
        raise NotApplicableError(
            f"dataset {card.name!r} has {card.holds} and no images, which this needs; add the"
            " dataset with images under another name"
        )


def check_melodies(card: DatasetCard) -> World:
    """Return the world whose events are sung; raise StimuliError for a dataset without one."""
    if card.world is None:
        raise StimuliError(
            f"dataset {card.name!r} has no melodies, which this model reads: only the Cave's events"
            " are sung; name the Cave with --dataset cave"
        )
    return card.world


def check_name(name: str) -> str:
    """Return a name that can be that of a dataset, and of a file; raise StimuliError for any other,
    and for names that are taken.
    """
    if not _NAME.fullmatch(name):
        raise StimuliError(
            f"{name!r} cannot name a dataset; use up to 100 letters, digits, '.', '_' and '-', the"
            " first no '.' or '-'"
        )
    if name.endswith(_TAKEN):
        raise StimuliError(
            f"{name!r} cannot name a dataset; names that end in {', '.join(_TAKEN)} are the store's"
            " own; choose another"
        )
    if name == _EMBEDDED:
        raise StimuliError(
            f"{name!r} is the embedded dataset's name, which `platoscope demo` adds; choose another"
        )
    return name
