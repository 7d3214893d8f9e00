"""`platoscope probe`: how good the models are at their jobs."""

from __future__ import annotations

import argparse
from typing import Any

from core.cli.shared import add_command, print_table
from core.settings import choose_device


def add(commands: Any) -> None:
    """Add `probe`."""
    probe = add_command(
        commands, "probe", run_probe, "measure models in the Cave: linear probes, exams, bits per byte; one row per task"
    )
    probe.add_argument("--dataset", required=True, metavar="D")
    probe.add_argument("--model", nargs="+", action="extend", metavar="M", help="models (all that can be opened again)")
    probe.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 or mps")
    probe.add_argument("--json", action="store_true")


def run_probe(given: argparse.Namespace) -> None:
    """Measure the models that have not been measured yet and print the competence of all that were named."""
    from core.competence.records import can_measure
    from core.competence.suite import measure_all
    from core.embedding.progress import ConsoleProgress
    from core.store import Store

    models = given.model or [entry.card.name for entry in Store(given.store).models(given.dataset) if can_measure(entry)]
    device = choose_device(given.device)
    print_table(measure_all(given.store, given.dataset, models, device=device, report=ConsoleProgress()), as_json=given.json)
