"""What the commands share: their options, and how results are printed."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import InputError
from core.options import Range, explain
from core.questions.topics import TOPICS
from core.study.parts import CAVE
from core.visible import visible_json

if TYPE_CHECKING:
    import pandas as pd


GROUPS = {  # what commands of two words that ask no question begin with
    "dataset": "add, list, rename or delete datasets",
    "jobs": "long work: one command after the other, by a worker of its own",
    "model": "list, rename or delete models",
    "result": "list or delete what is kept over a dataset",
    "study": "a whole study from one file: a published one, or your own",
}


def add_command(
    commands: Any,
    name: str,
    run: Callable[[argparse.Namespace], int | None],
    text: str,
    *,
    store: bool = True,
    job: bool = False,
) -> argparse.ArgumentParser:
    """Add a command to a group of them and return its parser; store: whether it takes --store; job:
    whether it may be queued as one of `core.jobs`: work that takes long, and goes on where it was
    stopped.
    """
    command: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    command.set_defaults(run=run, store=None, job=job)
    if store:
        command.add_argument(
            "--store", metavar="DIR", help="the store's folder (PLATOSCOPE_STORE, else ./store)"
        )
    return command


def group(commands: Any, name: str) -> Any:
    """Return the commands that begin with a word; the first use of the word adds it."""
    if name not in commands.choices:
        text = TOPICS[name].about if name in TOPICS else GROUPS[name]
        parser = commands.add_parser(name, help=text, description=text)
        parser.set_defaults(commands=parser.add_subparsers(required=True, metavar="COMMAND"))
    return commands.choices[name].get_default("commands")


def add_dataset(command: argparse.ArgumentParser) -> None:
    """Add the choice of a dataset; see `default_dataset`."""
    text = "the dataset (the store's only one)"
    command.add_argument("--dataset", default="", metavar="D", help=text)


def default_dataset(store: Path) -> str:
    """Return the dataset that is meant where none is named: the only one, else the Cave. Raises
    InputError where there are several others.
    """
    from core.store import Store

    names = [card.name for card in Store(store).datasets()]
    if CAVE in names or not names:
        return CAVE
    if len(names) > 1:
        raise InputError(
            f"the store has {len(names)} datasets; name one: --dataset {' | '.join(names)}"
        )
    return names[0]


def add_on(command: argparse.ArgumentParser) -> None:
    """Add the choice of who does the work."""
    command.add_argument(
        "--on",
        default="here",
        metavar="WHERE",
        help="here, ray: Ray's workers on this machine, or ray://HEAD:10001: a cluster's (here)",
    )


def add_json(command: argparse.ArgumentParser) -> None:
    """Add the option that prints JSON."""
    command.add_argument("--json", action="store_true", help="print JSON, numbers in full")


def add_number(
    command: argparse.ArgumentParser,
    name: str,
    numbers: Range,
    text: str,
    *,
    default: float | None = None,
    **more: Any,
) -> None:
    """Add an option that takes a number; its help says default and range. text: as of `explain`;
    more: as of `add_argument`.
    """
    shown = "" if default is None else f"{default:.10g}"
    more |= {} if default is None else {"default": default}
    command.add_argument(name, type=numbers, help=explain(text, shown, numbers), **more)


def print_table(table: pd.DataFrame, *, as_json: bool) -> None:
    """Print a table for people, or as a JSON list of rows with numbers in full."""
    if as_json:
        _print_json(_rows(table))
    elif len(table):
        print(
            table.to_string(
                index=False, float_format=lambda value: f"{value:.4g}", na_rep="-", justify="left"
            )
        )
    else:
        print("nothing yet", file=sys.stderr)


def print_object(facts: Mapping[str, object], table: pd.DataFrame) -> None:
    """Print facts and a table's rows as one JSON object, numbers in full."""
    defined = {name: value if value == value else None for name, value in facts.items()}  # no NaN
    _print_json({**defined, "rows": _rows(table)})


def _rows(table: pd.DataFrame) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = json.loads(table.to_json(orient="records", double_precision=15))
    return rows


def _print_json(value: object) -> None:
    # what stdout writes in place of a character that it lacks is no JSON
    narrow = "utf" not in f"{getattr(sys.stdout, 'encoding', None)}".lower()
    print(visible_json(json.dumps(value, indent=1, ensure_ascii=narrow)))


def report_problems(store: Any) -> None:
    """Say which files of a store are left out."""
    for problem in store.problems():
        print(f"left out: {problem}", file=sys.stderr)
