"""`platoscope probe` and `bits-per-byte`: how good the models are at their jobs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from core.cli.shared import add_command, add_dataset, add_json, add_number, add_on, print_table
from core.errors import InputError
from core.options import SAMPLES, TOKENS, Range

if TYPE_CHECKING:
    import pandas as pd

    from core.competence.units import Bench, Sets
    from core.crew.units import Crew, Unit


WINDOW = Range(1, 1_000_000)


def add(commands: Any) -> None:
    """Add `probe` and `bits-per-byte`."""
    _add_probe(commands)
    _add_bits_per_byte(commands)


def _add_probe(commands: Any) -> None:
    probe = add_command(
        commands,
        "probe",
        run_probe,
        "measure models in the Cave: linear probes, exams, bits per byte; one row per task",
        job=True,
    )
    _add_choices(probe, "models (all that can be opened again)")
    probe.add_argument(
        "--task",
        nargs="+",
        action="extend",
        metavar="NAME|DIR",
        help=(
            "in place of the Cave: tasks of VTAB, vtab for all of them, or folders of labeled"
            " images"
        ),
    )
    probe.add_argument(
        "--layers",
        choices=("last", "all"),
        default="last",
        help="which layers of vision models to probe",
    )
    add_number(probe, "--limit", SAMPLES, "samples of a task at most (10,000)", metavar="N")


def _add_bits_per_byte(commands: Any) -> None:
    code = add_command(
        commands,
        "bits-per-byte",
        run_bits_per_byte,
        "let language models code texts: total bits over total bytes",
        job=True,
    )
    _add_choices(code, "language models (all that can be opened again)")
    code.add_argument(
        "--text",
        default="owt",
        metavar="FILE|DATASET|owt|cave",
        help=".txt, or a column text or caption of .csv .tsv .json .jsonl .parquet; captions of a"
        " dataset of the store; owt: OpenWebText; cave: its held-out captions",
    )
    text = "of the texts, for each model"
    add_number(code, "--tokens", TOKENS, text, default=4_000_000, metavar="N")
    text = "tokens of a window (1,024, or as many as the model reads)"
    add_number(code, "--context", WINDOW, text, metavar="N")


def run_probe(arguments: argparse.Namespace) -> None:
    """Measure the models that have not been measured yet and print the competence of all that were
    named.
    """
    from core.competence.records import COLUMNS
    from core.competence.units import Bench

    if arguments.limit is not None and not arguments.task:
        raise InputError(
            "--limit belongs to --task; the Cave's tasks have numbers of samples of their own"
        )
    bench = Bench(arguments.store, arguments.dataset, arguments.device)
    if arguments.task or arguments.layers == "all":
        _run(
            arguments,
            lambda _: bench.probing(arguments.model or [], _sets(arguments), arguments.layers),
            [*COLUMNS, "layer"],
        )
    else:
        _run(
            arguments,
            lambda crew: bench.suite(arguments.model or _measurable(bench), alone=crew.alone),
            COLUMNS,
        )


def run_bits_per_byte(arguments: argparse.Namespace) -> None:
    """Let the models that have not coded these texts code them, and print two rows for each model
    that was named.
    """
    from core.competence.bits_per_byte import Extent
    from core.competence.records import COLUMNS
    from core.competence.texts import open_texts
    from core.competence.units import Bench
    from core.crew.units import Once

    def units(_: Crew) -> list[Unit[pd.DataFrame]]:
        texts()  # one sentence where they cannot be had, not one for each model
        return bench.coding(arguments.model or [], texts, extent)

    bench = Bench(arguments.store, arguments.dataset, arguments.device)
    extent = Extent(arguments.tokens, arguments.context)
    texts = Once(partial(open_texts, arguments.text, arguments.store))
    _run(arguments, units, COLUMNS)


def _run(
    arguments: argparse.Namespace,
    units: Callable[[Crew], list[Unit[pd.DataFrame]]],
    columns: Sequence[str],
) -> None:
    """Do the units of a crew and print what they return as one table.

    They are made once the crew is there, since opening images and texts may take minutes.
    """
    from core.competence.units import joined
    from core.crew import open_crew
    from core.crew.units import results
    from core.progress import ConsoleProgress

    with open_crew(arguments.on, device=arguments.device) as crew:
        tables = list(results(crew, units(crew), report=ConsoleProgress()))
    print_table(joined(tables, columns), as_json=arguments.json)


def _sets(arguments: argparse.Namespace) -> Sets:
    """Return what opens the labeled images in each process; in this one they are open."""
    from core.competence.images import LIMIT
    from core.competence.suite import world_tasks
    from core.competence.transfer import open_tasks
    from core.crew.units import Once
    from core.progress import ConsoleProgress
    from core.store import Store

    if arguments.task:
        limit = LIMIT if arguments.limit is None else arguments.limit
        sets = Once(partial(open_tasks, tuple(arguments.task), limit=limit))
    else:
        sets = Once(partial(world_tasks, Store(arguments.store).dataset(arguments.dataset)))
    sets(report=ConsoleProgress())
    return sets


def _measurable(bench: Bench) -> list[str]:
    """Return the models that can be measured."""
    from core.competence.records import can_measure
    from core.store import Store

    entries = Store(bench.store).models(bench.dataset)
    return [entry.card.name for entry in entries if can_measure(entry)]


def _add_choices(command: argparse.ArgumentParser, models: str) -> None:
    add_dataset(command)
    command.add_argument("--model", nargs="+", action="extend", metavar="M", help=models)
    command.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 or mps")
    add_on(command)
    add_json(command)
