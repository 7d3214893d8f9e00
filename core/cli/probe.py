"""`platoscope probe` and `bits-per-byte`: how good the models are at their jobs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from core.cli.shared import add_command, add_json, count, print_table
from core.errors import InputError
from core.settings import choose_device

if TYPE_CHECKING:
    import pandas as pd

    from core.progress import Progress


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
    probe.add_argument("--limit", type=count, metavar="N", help="samples of a task at most (10000)")


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
        metavar="FILE|owt|cave",
        help=".txt, .jsonl or .parquet; owt: OpenWebText; cave: its held-out captions",
    )
    code.add_argument(
        "--tokens",
        type=_positive,
        default=4_000_000,
        metavar="N",
        help="of the texts, for each model",
    )
    code.add_argument(
        "--context",
        type=_positive,
        metavar="N",
        help="tokens of a window (1024, or as many as the model reads)",
    )


def run_probe(arguments: argparse.Namespace) -> None:
    """Measure the models that have not been measured yet and print the competence of all that were
    named.
    """
    from core.progress import ConsoleProgress

    report = ConsoleProgress()
    if arguments.limit is not None and not arguments.task:
        raise InputError(
            "--limit belongs to --task; the Cave's tasks have numbers of samples of their own"
        )
    table = (
        _probe_images(arguments, report)
        if arguments.task or arguments.layers == "all"
        else _measure_in_cave(arguments, report)
    )
    print_table(table, as_json=arguments.json)


def run_bits_per_byte(arguments: argparse.Namespace) -> None:
    """Let the models that have not coded these texts code them, and print two rows for each model
    that was named.
    """
    from core.competence.language.bits_per_byte import Extent
    from core.competence.language.coding import code_models
    from core.competence.language.texts import open_texts
    from core.progress import ConsoleProgress

    table = code_models(
        arguments.store,
        arguments.dataset,
        arguments.model or [],
        open_texts(arguments.text),
        Extent(arguments.tokens, arguments.context),
        device=choose_device(arguments.device),
        report=ConsoleProgress(),
    )
    print_table(table, as_json=arguments.json)


def _measure_in_cave(arguments: argparse.Namespace, report: Progress) -> pd.DataFrame:
    from core.competence.records import can_measure
    from core.competence.suite import measure_all
    from core.store import Store

    models = arguments.model or [
        entry.card.name
        for entry in Store(arguments.store).models(arguments.dataset)
        if can_measure(entry)
    ]
    return measure_all(
        arguments.store,
        arguments.dataset,
        models,
        device=choose_device(arguments.device),
        report=report,
    )


def _probe_images(arguments: argparse.Namespace, report: Progress) -> pd.DataFrame:
    from core.competence.images.cave_tasks import cave_tasks
    from core.competence.images.labeled import LIMIT
    from core.competence.images.transfer import open_tasks, probe_models
    from core.store import Store

    if arguments.task:
        sets = open_tasks(
            arguments.task,
            limit=LIMIT if arguments.limit is None else arguments.limit,
            report=report,
        )
    else:
        sets = cave_tasks(Store(arguments.store).dataset(arguments.dataset), report=report)
    chosen = {
        "layers": arguments.layers,
        "device": choose_device(arguments.device),
        "report": report,
    }
    return probe_models(arguments.store, arguments.dataset, arguments.model or [], sets, **chosen)


def _positive(text: str) -> int:
    if count(text) == 0:
        raise argparse.ArgumentTypeError("expected a whole number above 0, got '0'")
    return count(text)


def _add_choices(command: argparse.ArgumentParser, models: str) -> None:
    command.add_argument("--dataset", required=True, metavar="D", help="the dataset")
    command.add_argument("--model", nargs="+", action="extend", metavar="M", help=models)
    command.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 or mps")
    add_json(command)
