"""Commands that ask no question: dataclasses with options as fields, as questions are.

And what all commands share: the default dataset, and how results are printed.
"""

from __future__ import annotations

import argparse
import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from core.errors import InputError
from core.options import option
from core.questions.words import add_options, read_question
from core.study.parts import CAVE
from core.visible import visible_json

if TYPE_CHECKING:
    import pandas as pd

    from core.store import Store


@dataclass(frozen=True)
class Command(ABC):
    """A command. The first paragraph of its docstring is its help.

    command: its words after `platoscope`. is_job: whether it may be queued, as work that takes long
    and continues where it was stopped. over_store: whether it takes --store.
    """

    command: ClassVar[str]
    is_job: ClassVar[bool] = False
    over_store: ClassVar[bool] = True

    @classmethod
    def help(cls) -> str:
        """Return what the command does."""
        return " ".join((cls.__doc__ or "").partition("\n\n")[0].split())

    @classmethod
    def add_options(cls, parser: argparse.ArgumentParser) -> None:
        """Add an option for each field."""
        add_options(parser, cls)

    @abstractmethod
    def run(self, store: Path) -> int | None:
        """Do it and return the exit code; None for 0."""

    @classmethod
    def read_and_run(cls, arguments: argparse.Namespace) -> int | None:
        """Run the command that parsed arguments name."""
        return read_question(cls, arguments).run(arguments.store)


@dataclass(frozen=True)
class Printing(Command):
    """A command that prints a table."""

    json: bool = option(False, help="print JSON, with all digits")


def dataset_option() -> Any:
    """Declare the choice of a dataset; see `default_dataset`."""
    return option("", metavar="D", help="the dataset (the store's only one)")


def device_option() -> Any:
    """Declare where models run."""
    return option("auto", metavar="DEVICE", help="auto, cpu, cuda, cuda:1 or mps")


def on_option() -> Any:
    """Declare who does the work."""
    text = "here; ray, for Ray's workers on this machine; or HEAD:6379, for those of a cluster"
    return option("here", metavar="WHERE", help=text)


def default_dataset(store: Path) -> str:
    """Return the dataset that is meant if none is named: the only one, else the Cave. Raises
    InputError if there are several others.
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


def print_table(table: pd.DataFrame, *, as_json: bool) -> None:
    """Print a table for people, or as a JSON list of rows with numbers in full."""
    if as_json:
        _print_json(_rows(table))
    elif len(table):
        number = "{:.4g}".format
        print(table.to_string(index=False, float_format=number, na_rep="-", justify="left"))
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


def report_problems(store: Store) -> None:
    """Say which files of a store are left out."""
    for problem in store.problems():
        print(f"left out: {problem}", file=sys.stderr)
