"""How good the models are at their tasks: `probe` and `bits-per-byte`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import pandas as pd

from core.cli.command import Printing, dataset_option, device_option, on_option, print_table
from core.competence.bits_per_byte import Extent
from core.competence.images import LIMIT
from core.competence.records import COLUMNS, can_measure, joined
from core.competence.suite import world_tasks
from core.competence.texts import open_texts
from core.competence.transfer import open_tasks
from core.competence.units import Bench, Sets
from core.crew import open_crew
from core.crew.units import Crew, Once, Unit, results
from core.errors import InputError
from core.options import SAMPLES, TOKENS, option
from core.progress import ConsoleProgress
from core.store import Store


@dataclass(frozen=True)
class Measuring(Printing):
    """A command that measures models."""

    is_job = True

    dataset: str = dataset_option()
    model: tuple[str, ...] = option(
        (), metavar="M", help="models (all that can be run and measured)"
    )
    device: str = device_option()
    on: str = on_option()

    def measure(
        self, units: Callable[[Crew], list[Unit[pd.DataFrame]]], columns: Sequence[str]
    ) -> None:
        """Do units of work and print what they return as one table. They are made once the crew is
        there, since opening images and texts may take minutes.
        """
        with open_crew(self.on, device=self.device) as crew:
            tables = list(results(crew, units(crew), report=ConsoleProgress()))
        print_table(joined(tables, columns), as_json=self.json)


@dataclass(frozen=True)
class Probe(Measuring):
    """Measure models in the Cave: linear probes, exams, bits per byte; one row per task."""

    command = "probe"

    task: tuple[str, ...] = option(
        (),
        metavar="NAME|DIR",
        help="instead of the Cave: tasks of VTAB, vtab for all of them, or folders of labeled"
        " images",
    )
    layers: Literal["last", "all"] = option("last", help="which layers of vision models to probe")
    limit: int | None = option(
        None,
        metavar="N",
        least=SAMPLES.least,
        most=SAMPLES.most,
        help="samples of a task at most (10,000)",
    )

    def run(self, store: Path) -> None:
        if self.limit is not None and not self.task:
            raise InputError(
                "--limit belongs to --task; the Cave's tasks have numbers of samples of their own"
            )
        bench = Bench(store, self.dataset, self.device)
        if self.task or self.layers == "all":
            sets: Sets
            if self.task:
                sets = Once(partial(open_tasks, self.task, limit=self.limit or LIMIT))
            else:
                sets = Once(partial(world_tasks, Store(store).dataset(self.dataset)))

            def units(_: Crew) -> list[Unit[pd.DataFrame]]:
                sets(report=ConsoleProgress())  # open in this process; others open them again
                return bench.probing([*self.model], sets, self.layers)

            self.measure(units, [*COLUMNS, "layer"])
            return
        entries = Store(store).models(self.dataset)
        models = [*self.model] or [one.card.name for one in entries if can_measure(one)]
        self.measure(lambda crew: bench.suite(models, alone=crew.alone), COLUMNS)


@dataclass(frozen=True)
class BitsPerByte(Measuring):
    """Measure language models in bits per byte: total bits over total bytes."""

    command = "bits-per-byte"

    text: str = option(
        "owt",
        metavar="FILE|DATASET|owt|cave",
        help=".txt, or a column text or caption of .csv .json .jsonl .parquet; captions of a"
        " dataset of the store; owt: OpenWebText; cave: its held-out captions",
    )
    tokens: int = option(
        4_000_000,
        metavar="N",
        least=TOKENS.least,
        most=TOKENS.most,
        help="of the texts, for each model",
    )
    context: int | None = option(
        None,
        metavar="N",
        least=1,
        most=1_000_000,
        help="tokens of a window (1,024, or as many as the model reads)",
    )

    def run(self, store: Path) -> None:
        def units(_: Crew) -> list[Unit[pd.DataFrame]]:
            texts()  # one sentence if they cannot be read, not one for each model
            return bench.coding([*self.model], texts, Extent(self.tokens, self.context))

        bench = Bench(store, self.dataset, self.device)
        texts = Once(partial(open_texts, self.text, store))
        self.measure(units, COLUMNS)
