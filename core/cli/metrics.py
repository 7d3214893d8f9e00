"""`platoscope metrics` and `score`: what metrics there are, and two feature files compared by one
of them.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from core.cli.shared import add_command, add_metric, parameters, print_table


def add(commands: Any) -> None:
    """Add `metrics` and `score`."""
    metrics = add_command(
        commands,
        "metrics",
        run_metrics,
        "list the metrics: what each sees, its range and parameters",
        store=False,
    )
    metrics.add_argument("--json", action="store_true")
    score = add_command(
        commands,
        "score",
        run_score,
        "compare two feature files with no store: one row per pair of layers",
        store=False,
    )
    score.add_argument("x", type=Path, metavar="FILE_X", help=".npy .npz .safetensors .pt .parquet")
    score.add_argument("y", type=Path, metavar="FILE_Y")
    add_metric(score)
    score.add_argument(
        "--q", type=float, default=1.0, help="share of feature values left unclamped, 1 for all"
    )
    score.add_argument("--json", action="store_true")


def run_metrics(given: argparse.Namespace) -> None:
    """Print one row per metric, from its spec."""
    from core.metrics.catalog import metrics_table

    table = metrics_table()
    print_table(
        table if given.json else table.drop(columns=["formula", "misses", "reference"]),
        as_json=given.json,
    )


def run_score(given: argparse.Namespace) -> None:
    """Print the score of every pair of layers of two feature files: `layer_x layer_y score n`, the
    metric's parameters.
    """
    from core.encoders.imported import read_features
    from core.score import score_layers

    layers = [read_features(path) for path in (given.x, given.y)]
    print_table(
        score_layers(*layers, metric=given.metric, q=given.q, **parameters(given)),
        as_json=given.json,
    )
