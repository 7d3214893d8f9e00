"""A dataset to add: the options of `platoscope dataset add` and of its form on the Library page."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from core.errors import InputError
from core.files.texts import Json
from core.options import argument, option, options_of, value_of

if TYPE_CHECKING:
    from core.stimuli.dataset import OpenedDataset

OF_HUB = ("revision", "split", "image_column", "text_column")
FOREIGN = {  # options that a source does not take
    "folder": ("revision", "split"),
    "hub": ("table", "link"),
    "ids": (*OF_HUB, "table", "link", "images_only", "texts_only"),
}


@dataclass(frozen=True)
class Addition:
    """Add stimuli from a folder or the hub: images with captions, or either alone, or ids."""

    command: ClassVar[str] = "dataset add"

    name: str = argument(help="the dataset's name in the store", label="Name", metavar="NAME")
    folder: str = option(
        "",
        help="images and a table of their captions, or either alone",
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
        help="ids alone, for features without stimuli: a table with a column id, or a .txt with one"
        " in each line",
        label="File of ids",
        metavar="FILE",
    )
    table: str = option(
        "",
        help="the caption table, if the folder holds several",
        label="Caption table",
        metavar="FILE",
    )
    link: bool = option(
        False,
        help="read images in place, also outside the folder, by absolute paths and symbolic links;"
        " nothing is copied",
        label="Images elsewhere",
    )
    skip_broken: bool = option(
        False, help="leave out stimuli that cannot be read, and say which", label="Skip broken"
    )
    revision: str = option("", help="of the hub's dataset: a commit, tag or branch", metavar="R")
    split: str = option("", help="of the hub's dataset", metavar="S")
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
        "", help="the displayed title (the folder's name, or the hub id)", metavar="TITLE"
    )


def check_addition(addition: Addition) -> None:
    """Raise InputError for a name that is none, no source or two, or options of another source."""
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


def open_addition(addition: Addition) -> OpenedDataset:
    """Open what is to be added, reading all of it; raise InputError, OfflineError."""
    check_addition(addition)
    if addition.hub:
        # each source brings libraries of its own
        from core.stimuli.hub import NO_IMAGE, NO_TEXT, open_hub

        return open_hub(
            addition.hub,
            name=addition.name,
            revision=addition.revision or None,
            split=addition.split or None,
            image_column=NO_IMAGE if addition.texts_only else addition.image_column or None,
            text_column=NO_TEXT if addition.images_only else addition.text_column or None,
            skip_broken=addition.skip_broken,
        )
    from core.stimuli.folder import open_folder

    folder, choices = choices_of(addition)
    return open_folder(folder, name=addition.name, skip_broken=addition.skip_broken, **choices)


def choices_of(addition: Addition) -> tuple[Path, Json]:
    """Return the folder that is read, and the choices of `core.stimuli.folder.Choices`."""
    from core.stimuli.folder import Choices

    if addition.ids:
        path = Path(addition.ids)
        return path.parent, {"table": path.name, "ids_only": True}
    names = [one.name for one in fields(Choices) if hasattr(addition, one.name)]
    return Path(addition.folder), {name: getattr(addition, name) for name in names}
