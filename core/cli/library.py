"""What a store holds: `dataset`, `model`, `competence import` and `metrics list`.

A command that deletes prints what it would delete, and deletes it with `--yes`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from core.cli.command import Command, Printing, dataset_option, print_table, report_problems
from core.competence.scores import import_scores, set_model_facts
from core.encoders.requests import FactsRequest
from core.errors import MISTAKE, InputError
from core.files.userfile import SHEET, UserFile
from core.machine.memory import size_text
from core.metrics.catalog import metrics_table
from core.options import argument, option
from core.progress import ConsoleProgress, heard_by
from core.stimuli.addition import Addition, open_addition
from core.store import (
    Deletion,
    Store,
    add_dataset,
    carry_out,
    plan_dataset_deletion,
    plan_model_deletion,
    rename_dataset,
    rename_model,
)
from core.store.editing import device_of, embedding_size, seconds_of, widths_of
from core.store.listing import check_title

TITLE = "the displayed name"


@dataclass(frozen=True)
class Deleting(Command):
    """A command that deletes."""

    yes: bool = option(False, help="delete; without this, print what would be deleted")

    def carry_out(self, store: Path, plan: Deletion) -> int:
        """Print what a deletion takes along, and delete it if --yes was given."""
        print(*plan.sentences, f"{len(plan.files)} files, {size_text(plan.size)}", sep="\n")
        if not self.yes:
            print("platoscope: nothing was deleted; add --yes to delete", file=sys.stderr)
            return MISTAKE
        carry_out(store, plan)
        print("deleted", file=sys.stderr)
        return 0


@dataclass(frozen=True)
class AddDataset(Addition, Command):
    """Add stimuli from a folder or the hub: images with captions, or either alone, or ids."""

    is_job = True

    def run(self, store: Path) -> None:
        if self.title:
            check_title(self.title)
        report = ConsoleProgress()
        with heard_by(report):
            dataset = open_addition(self)
        for remark in (*(f"skipped {reason}" for reason in dataset.skipped), *dataset.notes):
            print(remark, file=sys.stderr)
        cards = {card.name: card for card in Store(store).datasets()}
        before = cards.get(dataset.card.name)
        idle = len(Store(store).models(before.name)) if before else 0
        add_dataset(store, dataset, report=report)
        if self.title:
            rename_dataset(store, self.name, self.title)
        if before and before.revision != dataset.card.revision:
            print(
                f"replaced another revision of {before.name!r} with {before.size} stimuli; its"
                f" {idle} models are left out until they are embedded again, or until the"
                " former revision is added again",
                file=sys.stderr,
            )
        levels = ", ".join(dataset.card.levels) or "none"
        print(f"{dataset.card.name}: {dataset.card.size} stimuli, caption levels {levels}")


@dataclass(frozen=True)
class ListDatasets(Printing):
    """List the store's datasets."""

    command = "dataset list"

    def run(self, store: Path) -> None:
        reader = Store(store)
        rows = [
            {
                "name": card.name,
                "title": card.title,
                "stimuli": card.size,
                "levels": " ".join([*card.levels, *reader.summaries(card.name)]),
                "models": len(reader.models(card.name)),
                "revision": card.revision[:16],
            }
            for card in reader.datasets()
        ]
        report_problems(reader)
        print_table(pd.DataFrame(rows), as_json=self.json)


@dataclass(frozen=True)
class RenameDataset(Command):
    """Give a dataset another title."""

    command = "dataset rename"

    name: str = argument(metavar="NAME", help="the dataset")
    title: str = argument(metavar="TITLE", help=TITLE)

    def run(self, store: Path) -> None:
        rename_dataset(store, self.name, self.title)
        print(f"{self.name}: {Store(store).dataset(self.name).title}")


@dataclass(frozen=True)
class DeleteDataset(Deleting):
    """Delete a dataset and all that was made over it."""

    command = "dataset delete"

    name: str = argument(metavar="NAME", help="the dataset")

    def run(self, store: Path) -> int:
        return self.carry_out(store, plan_dataset_deletion(store, self.name))


@dataclass(frozen=True)
class ListModels(Printing):
    """List the models embedded in the store."""

    command = "model list"

    only: str | None = option(None, name="dataset", metavar="D", help="of this dataset only")

    def run(self, store: Path) -> None:
        reader = Store(store)
        rows = [
            {
                "dataset": dataset,
                "model": entry.card.name,
                "title": entry.card.title,
                "modality": entry.card.modality,
                "family": entry.card.family,
                "objective": entry.card.objective,
                "parameters": entry.card.parameters,
                "layers": len(entry.card.layers),
                "dims": widths_of(entry),
                "level": entry.level,
                "bytes": embedding_size(reader.root, dataset, entry.card.name),
                "device": device_of(entry),
                "seconds": seconds_of(entry),
            }
            for dataset in ([self.only] if self.only else [one.name for one in reader.datasets()])
            for entry in reader.embeddings(dataset)
        ]
        report_problems(reader)
        table = pd.DataFrame(rows).astype({"parameters": "Int64"} if rows else {})
        print_table(table, as_json=self.json)


@dataclass(frozen=True)
class RenameModel(Command):
    """Give a model another title."""

    command = "model rename"

    name: str = argument(metavar="NAME", help="the model")
    title: str = argument(metavar="TITLE", help=TITLE)
    dataset: str = dataset_option()

    def run(self, store: Path) -> None:
        rename_model(store, self.dataset, self.name, self.title)
        print(f"{self.name}: {Store(store).model(self.dataset, self.name).card.title}")


@dataclass(frozen=True)
class SetFacts(FactsRequest, Command):
    """Set facts about a model of the store; those not named stay as they are."""

    def run(self, store: Path) -> None:
        set_model_facts(store, self.dataset, self.name, self.facts, level=self.level)
        entry = Store(store).model(self.dataset, self.name)
        said = {
            "family": entry.card.family,
            "objective": entry.card.objective,
            "parameters": entry.card.parameters,
            "seed": entry.card.training.get("seed"),
            "level": entry.level,
        }
        facts = ", ".join(f"{name} {value}" for name, value in said.items() if value is not None)
        print(f"{self.name}: {facts}")


@dataclass(frozen=True)
class DeleteModel(Deleting):
    """Delete a model of a dataset and what depends on it."""

    command = "model delete"

    name: str = argument(metavar="NAME", help="the model")
    dataset: str = dataset_option()

    def run(self, store: Path) -> int:
        return self.carry_out(store, plan_model_deletion(store, self.dataset, self.name))


@dataclass(frozen=True)
class ImportScores(Command):
    """Import scores: a CSV table with the columns model, task, value, unit."""

    command = "competence import"
    is_job = True

    file: str = argument(
        metavar="FILE", help="UTF-8; also group, low, high, chance, n, split, source"
    )
    dataset: str = dataset_option()

    def run(self, store: Path) -> None:
        file = Path(self.file)
        data = UserFile(file, "a CSV table of scores", InputError, most=SHEET).read()
        done = import_scores(store, self.dataset, data, name=file.name)
        for note in done.notes:
            print(note, file=sys.stderr)
        print(
            f"scores: {len(done.table)}; models: {done.table['model'].nunique()}; in place of"
            f" earlier scores: {done.replaced}"
        )


@dataclass(frozen=True)
class ListMetrics(Printing):
    """List the metrics: what each sees, its range and parameters; as JSON also formula, source, and
    the properties as the paper prints them.
    """

    command = "metrics list"
    over_store = False

    def run(self, _: Path) -> None:
        table, long = metrics_table(), ["formula", "misses", "reference", "printed"]
        print_table(table if self.json else table.drop(columns=long), as_json=self.json)
