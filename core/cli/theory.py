"""`platoscope theory`: worlds in which the hypothesis can be proved, and broken. They need no
store.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from core.cli.shared import add_command, count, print_table

if TYPE_CHECKING:
    import pandas as pd

    from core.theory.looks import Run


def add(commands: Any) -> None:
    """Add `theory deep-linear` and `theory contrastive`."""
    text = "worlds in which the hypothesis can be proved, and broken"
    nested = commands.add_parser("theory", help=text, description=text)
    theory = nested.add_subparsers(dest="theory", required=True, metavar="COMMAND")
    _add_deep_linear(theory)
    _add_contrastive(theory)


def _add_deep_linear(theory: Any) -> None:
    linear = add_command(
        theory,
        "deep-linear",
        run_deep_linear,
        "embedded deep linear networks and what breaks them",
        store=False,
    )
    linear.add_argument(
        "--preset",
        default="theorem-1",
        metavar="P",
        help=(
            "theorem-1, sgd, minima, tanh, relu, weight-decay, gradient-flow, labels, saddle,"
            " private-data or edge-of-stability"
        ),
    )
    linear.add_argument(
        "--strength",
        nargs="+",
        type=float,
        default=[],
        metavar="S",
        help="of what breaks the theorem (several)",
    )
    linear.add_argument("--inputs", type=count, default=5, metavar="N", help="of the world")
    linear.add_argument("--labels", type=count, default=5, metavar="N", help="of the world")
    linear.add_argument(
        "--rank", type=count, default=3, metavar="N", help="of the map from inputs to labels"
    )
    linear.add_argument(
        "--a", type=count, nargs="+", metavar="N", help="hidden widths of the first network (6 7)"
    )
    linear.add_argument(
        "--b",
        type=count,
        nargs="+",
        metavar="N",
        help="hidden widths of the second network (5 9 8)",
    )
    linear.add_argument(
        "--condition",
        type=float,
        default=4.0,
        help="of each network's frozen matrix and view, 1 or more",
    )
    _add_last(linear)


def _add_contrastive(theory: Any) -> None:
    learned = add_command(
        theory,
        "contrastive",
        run_contrastive,
        "contrastive learners and the PMI kernel",
        store=False,
    )
    learned.add_argument(
        "--preset",
        default="infonce",
        metavar="P",
        help="infonce, nce, sampled, rough, modalities, capacity or tasks",
    )
    learned.add_argument("--world", metavar="W", help="ring, grid, tree, clusters or random (ring)")
    learned.add_argument("--events", type=count, metavar="N", help="of the world (24)")
    learned.add_argument(
        "--window", type=count, metavar="N", help="steps to either side (8; rough 2)"
    )
    learned.add_argument(
        "--jumps", type=float, metavar="P", help="share of steps to any event (0.3; rough 0.1)"
    )
    learned.add_argument(
        "--uneven", type=float, metavar="S", help="spread of the steps' weights (0.3)"
    )
    learned.add_argument(
        "--apart",
        dest="same",
        action="store_const",
        const=False,
        help="leave an event with itself, t = t', out",
    )
    learned.add_argument("--loss", metavar="L", help="infonce or nce")
    learned.add_argument(
        "--width", type=count, metavar="N", help="of the embedding, 0 for as many as events (0)"
    )
    learned.add_argument("--temperature", type=float, metavar="T", help="of InfoNCE (1)")
    learned.add_argument(
        "--positives", type=float, metavar="P", help="share of positive pairs, of binary NCE (0.6)"
    )
    _add_last(learned)


def run_deep_linear(given: argparse.Namespace) -> None:
    """Print an object: the verdict, all looks as `rows`, and of a training its last look, such as
    `min_alignment`; else a table.
    """
    from core.theory.deep_linear.nets import WIDTHS, make_nets
    from core.theory.deep_linear.presets import start
    from core.theory.verdicts import tell_deep_linear

    widths = given.a or WIDTHS[0], given.b or WIDTHS[1]
    sizes = {
        "d": given.inputs,
        "c": given.labels,
        "rank": given.rank,
        "condition": given.condition,
        "seed": given.seed,
    }
    run = start(given.preset, make_nets(**sizes, widths=widths), strengths=given.strength)
    looks = _watch(run)
    known = {
        "preset": given.preset,
        "seed": given.seed,
        "verdict": tell_deep_linear(given.preset, looks),
    }
    _print(known, looks, ends=run.ends, as_json=given.json)


def run_contrastive(given: argparse.Namespace) -> None:
    """Print an object: the verdict, the world's kernel, all looks as `rows`, and of a training its
    last look; else a table.
    """
    from core.theory.contrastive.runs import describe, start
    from core.theory.contrastive.setups import make_setup
    from core.theory.verdicts import tell_contrastive

    names = (
        "world",
        "events",
        "window",
        "jumps",
        "uneven",
        "same",
        "loss",
        "width",
        "temperature",
        "positives",
        "seed",
    )
    setup = make_setup(given.preset, **{name: getattr(given, name) for name in names})
    known, run = describe(setup), start(setup)
    looks = _watch(run)
    told = {
        "preset": given.preset,
        "seed": given.seed,
        "verdict": tell_contrastive(setup, known, looks),
        **known,
    }
    _print(told, looks, ends=run.ends, as_json=given.json)


def _watch(run: Run) -> pd.DataFrame:
    from core.progress import ConsoleProgress
    from core.theory.looks import tabulate

    report, looks = ConsoleProgress(), []
    for done, look in enumerate(run.looks, start=1):
        looks.append(look)
        if run.total:
            report(done, run.total, "looks")
    return tabulate(looks)


def _print(told: Mapping[str, Any], looks: pd.DataFrame, *, ends: bool, as_json: bool) -> None:
    if not as_json:
        print_table(looks, as_json=False)
        print(told["verdict"], file=sys.stderr)
        return
    rows = json.loads(looks.to_json(orient="records", double_precision=15))
    known = {
        name: None if value != value else value for name, value in told.items()
    }  # JSON has no NaN
    print(
        json.dumps(
            {**known, **(rows[-1] if ends else {}), "rows": rows}, indent=1, ensure_ascii=False
        )
    )


def _add_last(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--seed", type=count, default=0, help="of the world, the networks and what is drawn"
    )
    command.add_argument("--json", action="store_true")
