"""`platoscope dataset`: add stimuli to the store, list what it has."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from core.cli.shared import add_command, add_json, group, print_table, report_problems
from core.questions.words import add_options, read_question
from core.stimuli.addition import Addition, open_addition


def add(commands: Any) -> None:
    """Add `dataset add` and `dataset list`."""
    kinds = group(commands, "dataset")
    add = add_command(
        kinds,
        "add",
        run_dataset_add,
        "add stimuli from a folder or the hub: images with captions, or either alone",
        job=True,
    )
    add_options(add, Addition)
    listing = add_command(kinds, "list", run_dataset_list, "list the store's datasets")
    add_json(listing)


def run_dataset_add(arguments: argparse.Namespace) -> None:
    """Add a dataset's stimuli, captions, factors and thumbnails to the store."""
    from core.progress import ConsoleProgress, heard_by
    from core.store import Store, add_dataset, rename_dataset
    from core.store.listing import check_title

    addition = read_question(Addition, arguments)
    if addition.title:
        check_title(addition.title)
    report = ConsoleProgress()
    with heard_by(report):
        dataset = open_addition(addition)
    for remark in (*(f"skipped {reason}" for reason in dataset.skipped), *dataset.notes):
        print(remark, file=sys.stderr)
    before = {card.name: card for card in Store(arguments.store).datasets()}.get(dataset.card.name)
    idle = len(Store(arguments.store).models(before.name)) if before else 0
    add_dataset(arguments.store, dataset, report=report)
    if addition.title:
        rename_dataset(arguments.store, addition.name, addition.title)
    if before and before.revision != dataset.card.revision:
        print(
            f"took the place of another revision of {before.name!r} with {before.size} stimuli; its"
            f" {idle} models are left out until they are embedded again, or until the former one is"
            " added again",
            file=sys.stderr,
        )
    print(
        f"{dataset.card.name}: {dataset.card.size} stimuli, caption levels"
        f" {', '.join(dataset.card.levels) or 'none'}"
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
