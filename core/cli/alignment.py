"""`platoscope align` and `findings`: how alike the models are, and what that says of the
hypothesis.
"""

from __future__ import annotations

import argparse
from typing import Any

from core.cli.shared import (
    add_command,
    add_metric,
    all_models,
    count,
    named,
    parameters,
    print_table,
)


def add(commands: Any) -> None:
    """Add `align` and `findings`."""
    _add_align(commands)
    _add_findings(commands)


def _add_align(commands: Any) -> None:
    align = add_command(
        commands,
        "align",
        run_align,
        "align models: one row per pair, best pair of layers, chance beside it",
    )
    align.add_argument("--dataset", required=True, metavar="D")
    align.add_argument(
        "--x", nargs="+", action="extend", metavar="M", help="models (all language models)"
    )
    align.add_argument(
        "--y", nargs="+", action="extend", metavar="M", help="models (all vision models)"
    )
    add_metric(align)
    align.add_argument(
        "--q", type=float, default=0.95, help="share of feature values left unclamped, 1 for all"
    )
    align.add_argument(
        "--layers",
        default="best",
        help="best, best+concatenated, last, all, A:B, or a depth from 0 to 1",
    )
    align.add_argument(
        "--null",
        type=count,
        default=0,
        metavar="N",
        help="permutations: threshold, p, calibrated score",
    )
    align.add_argument(
        "--bootstrap",
        type=count,
        default=0,
        metavar="N",
        help="draws of stimuli: 95 %% interval of the score",
    )
    align.add_argument("--seed", type=count, default=0, help="of permutations and draws")
    align.add_argument(
        "--where",
        nargs="+",
        default=[],
        metavar="FACTOR=VALUE",
        help="only the stimuli with these factors",
    )
    align.add_argument(
        "--stimuli",
        default="",
        metavar="SET",
        help="only the stimuli of a set, in the text that a link carries",
    )
    align.add_argument("--json", action="store_true")


def _add_findings(commands: Any) -> None:
    findings = add_command(
        commands,
        "findings",
        run_findings,
        "do the models converge? trends, and means by objective, size, tasks",
    )
    findings.add_argument("--dataset", required=True, metavar="D")
    findings.add_argument("--k", type=int, default=10, help="neighbors per stimulus, 1 … n - 1")
    findings.add_argument(
        "--q", type=float, default=0.95, help="share of feature values left unclamped, 1 for all"
    )
    findings.add_argument("--json", action="store_true")


def run_align(given: argparse.Namespace) -> None:
    """Print the alignment of every pair of models: `model_x model_y layer_x layer_y score chance
    n`, the parameters, `reason`.
    """
    from core.progress import ConsoleProgress
    from core.questions.alignment.calibration import align_calibrated
    from core.store import Store
    from core.study.study import Study

    study = Study(
        Store(given.store),
        given.dataset,
        q=given.q,
        where=dict(map(named, given.where)),
        stimuli=given.stimuli,
    )
    chosen = parameters(given)
    study.engine(given.metric, **chosen)  # a wrong metric or k is told before anything is computed
    compared = {"metric": given.metric, "layers": given.layers, **chosen}
    x, y = given.x or all_models(study, "language"), given.y or all_models(study, "vision")
    if given.null or given.bootstrap:
        extra = {"null": given.null, "bootstrap": given.bootstrap, "seed": given.seed}
        table = align_calibrated(study, x, y, **compared, **extra, report=ConsoleProgress())
    else:
        table = study.align(x, y, **compared)
    print_table(table, as_json=given.json)


def run_findings(given: argparse.Namespace) -> None:
    """Print the study's answer to the hypothesis, a row per figure: `finding group models value p
    chance reason`.
    """
    from core.store import Store
    from core.study.study import Study

    print_table(
        Study(Store(given.store), given.dataset, q=given.q).findings(k=given.k), as_json=given.json
    )
