"""A dataset to add: the options of `platoscope dataset add` and of its form on the Library page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from core.errors import InputError
from core.options.declaring import argument, option, options_of, value_of

if TYPE_CHECKING:
    from core.stimuli.folder import FolderDataset
    from core.stimuli.hub import HubDataset

OF_HUB = ("revision", "split", "image_column", "text_column")


@dataclass(frozen=True)
class Addition:
    """Add stimuli from a folder or the hub: images with captions, or either alone."""

    command: ClassVar[str] = "dataset add"

    name: str = argument(help="what the store calls the dataset", label="Name", metavar="NAME")
    folder: str = option("", help="images and a caption table", metavar="DIR")
    hub: str = option(
        "",
        help="a Hugging Face data set, or a preset: wit_1024, flickr30k",
        label="Hub id",
        metavar="ID",
    )
    table: str = option(
        "",
        help="the caption table, where the folder holds several",
        label="Caption table",
        metavar="FILE",
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
        "", help="what people call the dataset (the folder's name, or the hub id)", metavar="TITLE"
    )


def check_addition(addition: Addition) -> None:
    """Raise InputError for what cannot be added: a name that is none, no source or two, or options
    of the other source.
    """
    from core.stimuli.dataset import check_name  # pandas, for which no parser should wait

    check_name(addition.name)
    if bool(addition.folder) == bool(addition.hub):
        raise InputError(
            "a dataset comes from a folder (--folder DIR) or from the hub (--hub ID); name one of"
            " the two"
        )
    _check_alone(addition)
    foreign = OF_HUB if addition.folder else ("table",)
    options = [one for one in options_of(Addition) if one.name in foreign]
    flags = [one.flag for one in options if value_of(addition, one)]
    if flags and addition.folder:
        raise InputError(
            f"{flags[0]} belongs to --hub; a folder's table names its columns image and caption"
        )
    if flags:
        raise InputError(
            f"{flags[0]} belongs to --folder; a hub data set has its columns: see --image-column"
            " and --text-column"
        )


def _check_alone(addition: Addition) -> None:
    """Raise InputError where one half is to be left out, and something is said of it."""
    if addition.images_only and (addition.table or addition.text_column):
        named = "--table" if addition.table else "--text-column"
        raise InputError(f"--images-only takes no captions; leave {named} out, or --images-only")
    if addition.texts_only and (addition.images_only or addition.image_column):
        named = "--images-only" if addition.images_only else "--image-column"
        raise InputError(f"--texts-only takes no images; leave {named} out, or --texts-only")


def open_addition(addition: Addition) -> FolderDataset | HubDataset:
    """Open what is to be added, reading all of it; raises InputError, OfflineError."""
    check_addition(addition)
    if addition.hub:
        # each source brings libraries of its own
        from core.stimuli.hub import HubDataset
        from core.stimuli.hub_source import NO_IMAGE, NO_TEXT

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

    return FolderDataset.open(
        Path(addition.folder),
        name=addition.name,
        table=Path(addition.table) if addition.table else None,
        skip_broken=addition.skip_broken,
        images_only=addition.images_only,
        texts_only=addition.texts_only,
    )
