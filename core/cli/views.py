"""`platoscope views`: the views that were saved in the dashboard."""

from __future__ import annotations

import argparse
from typing import Any

from core.cli.shared import add_command, add_json, print_table


def add(commands: Any) -> None:
    """Add `views`."""
    add_json(add_command(commands, "views", run_views, "list the saved views: name and link"))


def run_views(arguments: argparse.Namespace) -> None:
    """Print one row per saved view, the latest first."""
    import pandas as pd  # a third of a second, which parsing must not cost

    from core.store import read_views

    rows = [(view.name, view.link) for view in read_views(arguments.store)]
    print_table(pd.DataFrame(rows, columns=["name", "link"]), as_json=arguments.json)
