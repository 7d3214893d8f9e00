"""`platoscope competence import`: the user's own scores."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from core.cli.shared import add_command, add_dataset, group
from core.errors import InputError
from core.files.userfile import SHEET, UserFile


def add(commands: Any) -> None:
    """Add `competence import`."""
    scores = add_command(
        group(commands, "competence"),
        "import",
        run_import,
        "import scores: a CSV table with the columns model, task, value, unit",
        job=True,
    )
    scores.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="UTF-8; also group, low, high, chance, n, split, source",
    )
    add_dataset(scores)


def run_import(arguments: argparse.Namespace) -> None:
    """Import a table of scores, and say which of its models are not embedded."""
    from core.competence.scores import import_scores

    file = arguments.file
    data = UserFile(file, "a CSV table of scores", InputError, most=SHEET).read()
    done = import_scores(arguments.store, arguments.dataset, data, name=file.name)
    for note in done.notes:
        print(note, file=sys.stderr)
    print(
        f"scores: {len(done.table)}; models: {done.table['model'].nunique()}; in place of earlier"
        f" scores: {done.replaced}"
    )
