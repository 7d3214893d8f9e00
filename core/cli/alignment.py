"""`platoscope align` and `findings`: how alike the models are, and what that says of the
hypothesis.
"""

from __future__ import annotations

import argparse
from typing import Any

from core.cli.shared import (
    add_command,
    print_table,
)


def add(commands: Any) -> None:
    """Add `findings`."""
    _add_findings(commands)


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


def run_findings(given: argparse.Namespace) -> None:
    """Print the study's answer to the hypothesis, a row per figure: `finding group models value p
    chance reason`.
    """
    from core.questions.overview.answer import study_findings
    from core.store import Store
    from core.study.study import Study

    study = Study(Store(given.store), given.dataset, q=given.q)
    print_table(study_findings(study, k=given.k), as_json=given.json)
