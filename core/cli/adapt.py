"""`platoscope adapt --save`: the adapters of its first training, as a file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from core.cli.questions import run_question
from core.errors import InputError
from core.questions.adapters.question import Adaptation
from core.questions.words import read_question


def add(commands: Any) -> None:
    """Add --save to `adapt`, whose other options are those of its question."""
    adapt = commands.choices["adapt"]
    adapt.add_argument(
        "--save", type=Path, metavar="FILE", help="write the first seed's adapters as safetensors"
    )
    adapt.set_defaults(run=run_adapt)


def run_adapt(arguments: argparse.Namespace) -> None:
    """Save adapters where a file is named, then answer the question."""
    if arguments.save:
        save(read_question(Adaptation, arguments), arguments)
    run_question(Adaptation, arguments)


def save(question: Adaptation, arguments: argparse.Namespace) -> None:
    """Write the adapters of the first seed; raises InputError for several sets of encoders."""
    from core.questions.adapters.answer import train_adapters  # pandas and duckdb
    from core.questions.adapters.maps.files import dump
    from core.store import Store
    from core.store.publishing import write_file

    if len(question.x) > 1:
        raise InputError(
            f"--save writes the adapters of one --x and one --y; got {len(question.x)} of each:"
            " save them one by one"
        )
    study = question.scope.open(Store(arguments.store), device=arguments.device)
    data = dump(*train_adapters(question, study))
    try:
        write_file(arguments.save, data)
    except OSError as error:
        raise InputError(
            f"{arguments.save} cannot be written ({error.strerror}); name another file with --save"
        ) from error
