"""`platoscope demo` and `app`: the embedded store, and the dashboard over a store."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from core.cli.shared import add_command
from core.settings import ROOT


def add(commands: Any) -> None:
    """Add `demo` and `app`."""
    add_command(
        commands,
        "demo",
        run_demo,
        "build the embedded demo store: the Cave and the models trained in it",
        job=True,
    )
    app = add_command(commands, "app", run_app, "the dashboard over a store, on localhost")
    app.add_argument("--port", type=int, default=8501, help="where it listens (8501)")
    app.add_argument(
        "--demo", action="store_true", help="build what the demo store lacks meanwhile"
    )


def run_demo(arguments: argparse.Namespace) -> None:
    """Build the demo store, measure its models and answer what its pages ask first; what is there
    is not made again.
    """
    from core.demo import answer_demo, build_demo, measure_demo, missing_specs, missing_values

    if missing_specs(arguments.store):
        build_demo(arguments.store)
    if missing_values(arguments.store):
        measure_demo(arguments.store)
    answer_demo(arguments.store)
    print(f"the demo store in {arguments.store} is complete", file=sys.stderr)


def run_app(arguments: argparse.Namespace) -> None:
    """Become the dashboard's server, on localhost, which completes the demo beside it if asked."""
    os.environ["PLATOSCOPE_STORE"] = str(arguments.store.resolve())
    command = [
        sys.executable,
        "-m",
        "pages._server.serve",
        *(["--demo"] if arguments.demo else []),
        "run",
        "app.py",
        "--server.port",
        str(arguments.port),
    ]
    print(
        f"Platoscope over {arguments.store} on http://localhost:{arguments.port}", file=sys.stderr
    )
    os.chdir(ROOT)  # where app.py, pages/ and .streamlit/config.toml are
    os.execv(sys.executable, command)
