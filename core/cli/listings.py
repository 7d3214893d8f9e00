"""`platoscope metrics list`: what metrics there are."""

from __future__ import annotations

import argparse
from typing import Any

from core.cli.shared import add_command, group, print_table

LONG = ["formula", "misses", "reference", "printed"]  # columns that a terminal has no room for


def add(commands: Any) -> None:
    """Add `metrics list`."""
    metrics = add_command(
        group(commands, "metrics"),
        "list",
        run_metrics,
        "list the metrics: what each sees, its range and parameters",
        store=False,
    )
    metrics.add_argument(
        "--json",
        action="store_true",
        help="print JSON, with formula, source, and the properties as the paper prints them",
    )


def run_metrics(arguments: argparse.Namespace) -> None:
    """Print one row per metric, from its spec."""
    from core.metrics.catalog import metrics_table  # numpy and scipy, which parsing must not cost

    table = metrics_table()
    print_table(
        table if arguments.json else table.drop(columns=LONG),
        as_json=arguments.json,
    )
