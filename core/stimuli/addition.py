"""A dataset to add: the options of `platoscope dataset add` and of its form on the Library page."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from core.errors import InputError, StimuliError
from core.options import argument, option, options_of, value_of

if TYPE_CHECKING:
    import pyarrow as pa

    from core.stimuli.folder import FolderDataset
    from core.stimuli.hub import HubDataset

OF_HUB = ("revision", "split", "image_column", "text_column")
FOREIGN = {  # options that a source does not take
    "folder": ("revision",),
    "hub": ("table", "link"),
    "ids": (*OF_HUB, "table", "link", "images_only", "texts_only"),
}


@dataclass(frozen=True)
class Addition:
    """Add stimuli from a folder or the hub: images with captions, or either alone, or ids."""

    command: ClassVar[str] = "dataset add"

    name: str = argument(help="what the store calls the dataset", label="Name", metavar="NAME")
    folder: str = option(
        "",
        help="images and captions: a table, texts named as the images are, tars or Parquet files",
        metavar="DIR",
    )
    hub: str = option(
        "",
        help="a Hugging Face data set, or a preset: wit_1024, flickr30k",
        label="Hub id",
        metavar="ID",
    )
    ids: str = option(
        "",
        help="ids alone, for features without stimuli: the features' own file (no .pt), a table"
        " with a column id, a text with one in each line",
        label="File of ids",
        metavar="FILE",
    )
    table: str = option(
        "",
        help="the caption table, or a tar, where the folder holds several",
        label="Caption table",
        metavar="FILE",
    )
    link: bool = option(
        False,
        help="read images where they are, outside of the folder too: by absolute paths and symbolic"
        " links; nothing is copied",
        label="Images elsewhere",
    )
    skip_broken: bool = option(
        False, help="leave out stimuli that cannot be read, and say which", label="Skip broken"
    )
    revision: str = option("", help="of the hub's dataset: a commit, tag or branch", metavar="R")
    split: str = option(
        "",
        help="of the hub's dataset, or the rows of a table whose column split says so",
        metavar="S",
    )
    image_column: str = option("", help="column that holds the images", metavar="I")
    text_column: str = option("", help="column that holds the captions", metavar="T")
    images_only: bool = option(
        False,
        help="images without captions: every image of the folder, or of the hub's data set",
        label="Images only",
    )
    texts_only: bool = option(
        False,
        help="texts without images: the caption table alone, or the hub's column of captions",
        label="Texts only",
    )
    title: str = option(
        "", help="what people call the dataset (the folder's name, or the hub id)", metavar="TITLE"
    )


def check_addition(addition: Addition) -> None:
    """Raise InputError for what cannot be added: a name that is none, no source or two, or options
    of the other source.
    """
    from core.stimuli.dataset import check_name  # pandas, for which no parser should wait

    check_name(addition.name)
    sources = [name for name in FOREIGN if getattr(addition, name)]
    if len(sources) != 1:
        raise InputError(
            "a dataset comes from a folder (--folder DIR), from the hub (--hub ID) or is ids alone"
            " (--ids FILE); name one of these"
        )
    if addition.images_only and (addition.table or addition.text_column):
        named = "--table" if addition.table else "--text-column"
        raise InputError(f"--images-only takes no captions; leave {named} out, or --images-only")
    if addition.texts_only and (addition.images_only or addition.image_column):
        named = "--images-only" if addition.images_only else "--image-column"
        raise InputError(f"--texts-only takes no images; leave {named} out, or --texts-only")
    for one in options_of(Addition):
        if one.name in FOREIGN[sources[0]] and value_of(addition, one):
            others = [f"--{name}" for name in FOREIGN if one.name not in FOREIGN[name]]
            raise InputError(f"{one.flag} belongs to {' and '.join(others)}; leave it out")


def settled(addition: Addition) -> Addition:
    """Return what is added as it is read: a folder of Parquet files with the bytes of images, of
    several with texts, or that `datasets` saved, is read as a data set of the hub is. Raises
    StimuliError for what cannot be listed.
    """
    from core.files.parquet import read_parquet
    from core.files.userfile import UserFile
    from core.stimuli.table import holds_images, is_saved, list_tables

    folder = Path(addition.folder)
    if not addition.folder or addition.table or not os.path.isdir(folder):
        return addition
    if is_saved(folder):
        return replace(addition, folder="", hub=addition.folder)
    tables = list_tables(folder)
    if not tables or any(path.suffix.lower() != ".parquet" for path in tables):
        return addition
    held = []

    def look(name: str, kind: pa.DataType) -> None:
        held.append(holds_images(name, kind, addition.image_column))

    next(read_parquet(UserFile(tables[0], "a table", StimuliError), check=look), None)
    if any(held) or (addition.texts_only and len(tables) > 1):
        return replace(addition, folder="", hub=addition.folder)
    return addition


def open_addition(addition: Addition) -> FolderDataset | HubDataset:
    """Open what is to be added, reading all of it; raises InputError, OfflineError."""
    check_addition(addition)
    addition = settled(addition)
    if addition.hub:
        # each source brings libraries of its own
        from core.stimuli.hub import NO_IMAGE, NO_TEXT, HubDataset

        return HubDataset.open(
            addition.hub,
            name=addition.name,
            revision=addition.revision or None,
            split=addition.split or None,
            image_column=NO_IMAGE if addition.texts_only else addition.image_column or None,
            text_column=NO_TEXT if addition.images_only else addition.text_column or None,
            skip_broken=addition.skip_broken,
        )
    from core.stimuli.folder import FolderDataset

    folder, choices = choices_of(addition)
    return FolderDataset.open(
        folder, name=addition.name, skip_broken=addition.skip_broken, **choices
    )


def choices_of(addition: Addition) -> tuple[Path, dict[str, Any]]:
    """Return the folder that is read, and the choices of `core.stimuli.folder.Choices`."""
    from core.stimuli.folder import Choices

    if addition.ids:
        path = Path(addition.ids)
        return path.parent, {"table": path.name, "ids_only": True}
    names = [one.name for one in fields(Choices) if hasattr(addition, one.name)]
    return Path(addition.folder), {name: getattr(addition, name) for name in names}
