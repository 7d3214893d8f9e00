"""`platoscope dataset`: add stimuli to the store, list what it has."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.cli.shared import add_command, add_json, group, print_table, report_problems
from core.errors import InputError

if TYPE_CHECKING:
    from core.stimuli.folder import FolderDataset
    from core.stimuli.hub import HubDataset

HUB_OPTIONS = {
    "revision": "of the hub's dataset: a commit, tag or branch",
    "split": "of the hub's dataset",
    "image-column": "column that holds the images",
    "text-column": "column that holds the captions",
}


def add(commands: Any) -> None:
    """Add `dataset add` and `dataset list`."""
    kinds = group(commands, "dataset")
    add = add_command(
        kinds,
        "add",
        run_dataset_add,
        "add image-caption stimuli from a folder or the hub",
        job=True,
    )
    add.add_argument("name", metavar="NAME", help="what the store calls the dataset")
    source = add.add_mutually_exclusive_group(required=True)
    source.add_argument("--folder", type=Path, metavar="DIR", help="images and a caption table")
    source.add_argument(
        "--hub", metavar="ID", help="a Hugging Face data set, or a preset: wit_1024, flickr30k"
    )
    add.add_argument(
        "--table",
        type=Path,
        metavar="FILE",
        help="the caption table, where the folder holds several",
    )
    add.add_argument(
        "--skip-broken",
        action="store_true",
        help="leave out stimuli that cannot be read, and say which",
    )
    for option, text in HUB_OPTIONS.items():
        add.add_argument(f"--{option}", metavar=option[0].upper(), help=text)
    listing = add_command(kinds, "list", run_dataset_list, "list the store's datasets")
    add_json(listing)


def run_dataset_add(arguments: argparse.Namespace) -> None:
    """Add a dataset's stimuli, captions, factors and thumbnails to the store."""
    from core.progress import ConsoleProgress
    from core.store import Store, add_dataset

    dataset = _open_folder(arguments) if arguments.folder else _open_hub(arguments)
    for remark in (*(f"skipped {reason}" for reason in dataset.skipped), *dataset.notes):
        print(remark, file=sys.stderr)
    before = {card.name: card for card in Store(arguments.store).datasets()}.get(dataset.card.name)
    idle = len(Store(arguments.store).models(before.name)) if before else 0
    add_dataset(arguments.store, dataset, report=ConsoleProgress())
    if before and before.revision != dataset.card.revision:
        print(
            f"took the place of another revision of {before.name!r} with {before.size} stimuli; its"
            f" {idle} models are left out until they are embedded again, or until the former one is"
            " added again",
            file=sys.stderr,
        )
    print(
        f"{dataset.card.name}: {dataset.card.size} stimuli, caption levels"
        f" {', '.join(dataset.card.levels)}"
    )


def _open_folder(arguments: argparse.Namespace) -> FolderDataset:
    from core.stimuli.folder import FolderDataset

    foreign = [
        name
        for name in ("revision", "split", "image_column", "text_column")
        if getattr(arguments, name)
    ]
    if foreign:
        raise InputError(
            f"--{foreign[0].replace('_', '-')} belongs to --hub; a folder's table names its columns"
            " image and caption"
        )
    return FolderDataset.open(
        arguments.folder,
        name=arguments.name,
        table=arguments.table,
        skip_broken=arguments.skip_broken,
    )


def _open_hub(arguments: argparse.Namespace) -> HubDataset:
    from core.stimuli.hub import HubDataset

    if arguments.table:
        raise InputError(
            "--table belongs to --folder; a hub data set has its columns: see --image-column and"
            " --text-column"
        )
    chosen = {
        name: getattr(arguments, name)
        for name in ("revision", "split", "image_column", "text_column")
    }
    chosen["skip_broken"] = arguments.skip_broken
    return HubDataset.open(
        arguments.hub,
        name=arguments.name,
        **{name: value for name, value in chosen.items() if value},
    )


def run_dataset_list(arguments: argparse.Namespace) -> None:
    """Print one row per dataset; its levels are its own, then those that `platoscope summarize`
    wrote.
    """
    import pandas as pd  # a third of a second, which `platoscope app` must not pay

    from core.store import Store

    store = Store(arguments.store)
    rows = [
        {
            "name": card.name,
            "title": card.title,
            "stimuli": card.size,
            "levels": " ".join([*card.levels, *store.summaries(card.name)]),
            "models": len(store.models(card.name)),
            "revision": card.revision[:16],
        }
        for card in store.datasets()
    ]
    report_problems(store)
    print_table(pd.DataFrame(rows), as_json=arguments.json)
