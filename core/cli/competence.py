"""`platoscope competence list` and `import`: every value of the models, measured, published or the
user's own.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from core.cli.shared import add_command, add_json, print_table
from core.errors import InputError

SHOWN = [
    "model",
    "task",
    "value",
    "low",
    "high",
    "unit",
    "origin",
    "embedded",
    "source",
]  # columns that a terminal has room for


def add(commands: Any) -> None:
    """Add `competence list` and `competence import`."""
    kinds = commands.add_parser("competence", help="list or import competence").add_subparsers(
        required=True, metavar="list|import"
    )
    listing = add_command(
        kinds, "list", run_list, "list every value: measured here, published, or the user's own"
    )
    listing.add_argument("--dataset", required=True, metavar="D", help="the dataset")
    listing.add_argument("--origin", metavar="O", help="measured, published or user only")
    listing.add_argument("--task", metavar="T", help="of this task only")
    add_json(listing)

    scores = add_command(
        kinds,
        "import",
        run_import,
        "import scores: a CSV table with the columns model, task, value, unit",
    )
    scores.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="UTF-8; also group, low, high, chance, n, split, source",
    )
    scores.add_argument("--dataset", required=True, metavar="D", help="the dataset")


def run_list(given: argparse.Namespace) -> None:
    """Print one row per model and task."""
    from core.questions.competence.registry import registry, select
    from core.store import Store
    from core.study.study import Study

    table = select(
        registry(Study(Store(given.store), given.dataset)), task=given.task, origin=given.origin
    )
    print_table(table if given.json else table[SHOWN], as_json=given.json)


def run_import(given: argparse.Namespace) -> None:
    """Import a table of scores, and say which of its models are not embedded."""
    from core.competence.imported import import_scores

    try:
        data = given.file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {given.file}: {error.strerror}; give a CSV file") from error
    done = import_scores(given.store, given.dataset, data, name=given.file.name)
    for note in done.notes:
        print(note, file=sys.stderr)
    print(
        f"scores: {len(done.table)}; models: {done.table['model'].nunique()}; in place of earlier"
        f" scores: {done.replaced}"
    )
