"""`platoscope metrics list` and `views`: what metrics there are, and which views are saved."""

from __future__ import annotations

import argparse
from typing import Any

from core.cli.shared import add_command, add_json, group, print_table

LONG = ["formula", "misses", "reference", "printed"]  # columns that a terminal has no room for


def add(commands: Any) -> None:
    """Add `metrics list` and `views`."""
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
    add_json(add_command(commands, "views", run_views, "list the saved views: name and link"))


def run_metrics(arguments: argparse.Namespace) -> None:
    """Print one row per metric, from its spec."""
    from core.metrics.catalog import metrics_table  # numpy and scipy, which parsing must not cost

    table = metrics_table()
    print_table(
        table if arguments.json else table.drop(columns=LONG),
        as_json=arguments.json,
    )


def run_views(arguments: argparse.Namespace) -> None:
    """Print one row per saved view, the latest first."""
    import pandas as pd  # a third of a second, which parsing must not cost

    from core.store import read_views

    rows = [(view.name, view.link) for view in read_views(arguments.store)]
    print_table(pd.DataFrame(rows, columns=["name", "link"]), as_json=arguments.json)
