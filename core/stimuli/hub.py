"""A dataset from the Hugging Face hub by id, or from a local folder of data files in the same form.

Data files only are read: `datasets` runs no code of a repository, and an image that is only an
address is not fetched.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from PIL import Image

from core.errors import PlatoscopeError, StimuliError
from core.hub.repository import Repository
from core.stimuli.captions import Captioned, Problem, Row, gather, gather_images, refuse
from core.stimuli.dataset import DatasetCard, check_images, check_name
from core.stimuli.images import check_image, load_image
from core.stimuli.table import missing_column

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


@dataclass(frozen=True, eq=False)
class HubDataset:
    """Stimuli of one split in its order; ids are the row numbers from 0.

    skipped: what was left out and why (only with skip_broken). notes: what is odd but allowed.
    """

    card: DatasetCard
    stimuli: pd.DataFrame
    captions: pd.DataFrame
    skipped: tuple[str, ...]
    notes: tuple[str, ...]
    _table: datasets.Dataset | None = field(repr=False)  # the images, not decoded, in one column

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
        those of DEFAULTS, where None. image_column: NO_IMAGE for texts alone. text_column: a text,
        or a list of texts, whose places are the caption levels, or NO_TEXT for images alone; empty
        ones after the first are captions that a stimulus does not have. Raises OfflineError where
        the hub is needed and cannot be reached, StimuliError for all else.
        """
        check_name(name)
        columns = {"image_column": image_column, "text_column": text_column}
        source = source_of(hub_id, {"revision": revision, "split": split, **columns}, skip_broken)
        table, source = _load(source)
        hub_id, split = source["hub_id"], source["split"]
        rows = read_rows(table, source)
        whole, problems = rows.whole, rows.problems
        if problems and not skip_broken:
            raise refuse(hub_id, problems)
        if whole.stimuli.empty:
            first = f"; {problems[0]}" if problems else ""
            raise StimuliError(
                f"split {split} of {hub_id} has no usable stimulus{first}; try another"
            )
        kept = whole.stimuli["stimulus"].tolist()
        has_images = rows.images is not None
        revision = whole.revision([rows.digests[each] for each in kept] if has_images else [])
        title = _title(hub_id)
        card = DatasetCard(name, title, revision, source, whole.levels, len(kept), has_images)
        chosen = rows.images and rows.images.select([int(each) for each in kept])
        broken = tuple(map(str, problems))
        return cls(card, whole.stimuli, whole.captions, broken, whole.notes, chosen)

    @property
    def world(self) -> None:
        """A data set of the hub does not know reality."""
        return None

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
        return load_image(image_bytes(self._table[index]["image"], name), name=name)


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a split, checked: the images, None of texts alone; the stimuli that are whole,
    the digest of each good image by row, and what is wrong with the others.
    """

    images: datasets.Dataset | None
    whole: Captioned
    digests: Mapping[str, str]
    problems: Sequence[Problem]

    def image(self, name: str) -> bytes | None:
        """Return the image of a stimulus that is whole, None of texts alone."""
        return image_bytes(self.images[int(name)]["image"], name) if self.images else None


def read_rows(table: datasets.Dataset, source: Mapping[str, Any]) -> Rows:
    """Check every row of a split; raises StimuliError where a column is not there."""
    alone = source["text_column"] == NO_TEXT
    images = None
    if source["image_column"] != NO_IMAGE:
        images = _undecoded(table, source["image_column"])
    rows = _nameless(table.num_rows) if alone else _texts(table, source)
    digests, unusable = _check_images(images) if images else ({}, {})
    whole, wrong = (gather_images if alone else gather)(rows, broken=unusable.keys())
    problems = sorted([*unusable.values(), *wrong], key=lambda problem: problem.row)
    return Rows(images, whole, digests, problems)


def load_first(source: Mapping[str, Any], most: int) -> datasets.Dataset:
    """Return the first rows of a split without those behind them; raises as `HubDataset.open` does,
    and StimuliError for a split that does not begin at its first row.
    """
    import datasets

    name, _, part = source["split"].partition("[")
    if part and not part.startswith(":"):
        raise StimuliError(
            f"split {source['split']} begins in the middle, where it cannot be looked into; add it"
            " as it is"
        )
    with _explained(source):
        stream = datasets.load_dataset(
            source["hub_id"], revision=source["revision"], split=name, streaming=True
        )
        rows = [_fetched(row) for row in stream.decode(False).take(most)]
    return datasets.Dataset.from_list(rows)


def _fetched(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with the bytes of images that are files of the repository."""
    return {
        name: _fetch(value) if isinstance(value, dict) else value for name, value in row.items()
    }


def _fetch(value: Mapping[str, Any]) -> Mapping[str, Any]:
    from huggingface_hub import HfFileSystem

    path = value.get("path")
    if value.get("bytes") is None and isinstance(path, str) and path.startswith("hf://"):
        return {**value, "bytes": HfFileSystem().read_bytes(path)}
    return value


def _title(hub_id: str) -> str:
    return Path(hub_id).resolve().name if Path(hub_id).is_dir() else hub_id


def source_of(hub_id: str, values: Mapping[str, str | None], skip_broken: bool) -> dict[str, Any]:
    """Return every choice that opens the data set again: those given, else the preset's, else the
    defaults.
    """
    local = Path(hub_id).is_dir()
    if local and values["revision"] is not None:
        raise StimuliError(
            f"{hub_id} is a local folder and has no revision {values['revision']!r}; leave the"
            " revision out"
        )
    preset = {} if local else PRESETS.get(hub_id, {})
    place = str(Path(hub_id).resolve()) if local else preset.get("hub_id", hub_id)
    chosen = {
        name: preset.get(name) or DEFAULTS.get(name) if value is None else value
        for name, value in values.items()
    }
    return {"kind": "hub", "hub_id": place, **chosen, "skip_broken": skip_broken}


def _pinned(source: dict[str, Any]) -> dict[str, Any]:
    """Return a source at the commit that it stands for now, so that it is the same whenever it is
    opened again; as it is where nobody can tell.
    """
    from core.hub.fetch import commit_of  # half a second, only for those who use the hub

    wanted = _repository(source)
    if wanted is None or re.fullmatch("[0-9a-f]{40}", str(wanted.revision)):
        return source
    return {**source, "revision": commit_of(wanted) or wanted.revision}


def _repository(source: Mapping[str, Any]) -> Repository | None:
    """Return the hub's repository of a source, None for a local folder."""
    import datasets

    hub_id, revision = source["hub_id"], source["revision"]
    if Path(hub_id).is_dir():
        return None
    cache = datasets.config.HF_DATASETS_CACHE
    instead = f"HF_DATASETS_CACHE to name a cache that has it (now {cache})"
    return Repository(hub_id, hub_id, instead, "dataset", revision)


def _load(source: dict[str, Any]) -> tuple[datasets.Dataset, dict[str, Any]]:
    """Return a split, and its source at the commit that it was read at."""
    import datasets  # a second, only for those who use the hub

    with _explained(source):
        pinned = _pinned(source)
        table = datasets.load_dataset(
            pinned["hub_id"], revision=pinned["revision"], split=pinned["split"]
        )
        return table, pinned


@contextmanager
def _explained(source: Mapping[str, Any]) -> Iterator[None]:
    """Turn what the library raises into a sentence: ValueError, FileNotFoundError, its own,
    pyarrow's …
    """
    from core.hub.fetch import asking, mending  # as above

    wanted = _repository(source)
    if wanted is None:
        with _opened(source):
            yield
        return
    with mending(wanted), _opened(source), asking(wanted):
        yield


@contextmanager
def _opened(source: Mapping[str, Any]) -> Iterator[None]:
    try:
        yield
    except PlatoscopeError:
        raise
    except Exception as error:
        raise StimuliError(
            f"cannot open {source['hub_id']} as a hub data set: {error}; check the id, the revision"
            " and the split"
        ) from error


def _column(table: datasets.Dataset, name: str) -> datasets.Dataset:
    if name not in table.column_names:
        raise missing_column("the data set", name, table.column_names)
    return table.select_columns([name])


def _undecoded(table: datasets.Dataset, column: str) -> datasets.Dataset:
    """Return the images alone, as bytes or path, in a column named image."""
    import datasets

    only = _column(table, column)
    only = only if column == "image" else only.rename_column(column, "image")
    try:
        return only.cast_column("image", datasets.Image(decode=False))
    except (TypeError, ValueError, NotImplementedError) as error:
        raise StimuliError(
            f"column {column!r} holds no images ({error}); name the column that does"
        ) from error


def _texts(table: datasets.Dataset, source: Mapping[str, Any]) -> list[Row]:
    name = source["text_column"]
    cells = enumerate(_column(table, name)[name])
    return [row for number, cell in cells for row in _captions(number, cell)]


def _nameless(count: int) -> list[Row]:
    return [Row(number + 1, str(number), "", None) for number in range(count)]


def _captions(number: int, cell: Any) -> Iterator[Row]:
    texts: Sequence[Any] = cell if isinstance(cell, list) and cell else [cell or None]
    for level, text in enumerate(texts):
        if level == 0 or text:
            yield Row(number + 1, str(number), str(level), text)


def _check_images(images: datasets.Dataset) -> tuple[dict[str, str], dict[str, Problem]]:
    digests: dict[str, str] = {}
    bad: dict[str, Problem] = {}
    for number, value in enumerate(images["image"]):
        try:
            data = image_bytes(value, str(number))
            check_image(data, name=str(number))
            digests[str(number)] = hashlib.sha256(data).hexdigest()
        except StimuliError as error:
            bad[str(number)] = Problem(number + 1, str(error))
    return digests, bad


def image_bytes(value: Mapping[str, Any] | None, name: str) -> bytes:
    """Return an image that the data set holds; raises StimuliError for any other."""
    if value and value["bytes"] is not None:
        data: bytes = value["bytes"]
        return data
    path = Path(value["path"]) if value and value["path"] else None
    if path is None or not path.is_file():
        raise StimuliError(
            f"image {name} is not in the data set{f' but at {path}' if path else ''}; only images"
            " that are are read"
        )
    return path.read_bytes()
