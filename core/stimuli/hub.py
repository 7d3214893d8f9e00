"""A dataset from the Hugging Face hub by id, or from a local folder of data files in the same form.

Data files only are read: `datasets` runs no code of a repository, an image that is only an address
is not fetched, and one that is a file is read where it is the data set's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from PIL import Image

from core.errors import StimuliError
from core.stimuli.captions import Problem, refuse
from core.stimuli.dataset import DatasetCard, check_images, check_name
from core.stimuli.hub_rows import image_bytes, read_rows
from core.stimuli.hub_source import completed, source_of
from core.stimuli.images import load_image

if TYPE_CHECKING:
    import datasets


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
        from core.stimuli import hub_files  # a second, only for those who use the hub

        check_name(name)
        columns = {"image_column": image_column, "text_column": text_column}
        source = source_of(hub_id, {"revision": revision, "split": split, **columns}, skip_broken)
        table, source = hub_files.load_split(source)
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
        data = image_bytes(self._table[index]["image"], name, self._folders)
        return load_image(data, name=name)


def _nothing_left(source: Mapping[str, Any], problems: Sequence[Problem]) -> StimuliError:
    first = f"; {problems[0]}" if problems else ""
    return StimuliError(
        f"split {source['split']} of {source['hub_id']} has no usable stimulus{first}; try another"
    )


def _title(hub_id: str) -> str:
    return Path(hub_id).resolve().name if Path(hub_id).is_dir() else hub_id
