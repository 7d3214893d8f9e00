"""The answers of the deep linear questions: every look of a run, and what stands beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from core.progress import Progress
from core.questions.registry import Answer, declare
from core.theory.deep_linear.findings import findings, matrix_findings
from core.theory.deep_linear.presets import complete, complete_descent, start
from core.theory.deep_linear.question import DeepLinear, Matrices
from core.theory.looks import collect, last_row, tabulate_rows, watch


def facts(question: DeepLinear, table: pd.DataFrame) -> Mapping[str, object]:
    """Return preset, seed, the verdict, and of a training its last look."""
    chosen = {"preset": question.preset, "seed": question.networks.seed}
    last = last_row(table) if start(question).ends else {}
    return {**chosen, "verdict": " ".join(findings(question, table)), **last}


def train(question: DeepLinear, _: None, report: Progress | None) -> pd.DataFrame:
    """Return a row per look; raises InputError for what cannot be run."""
    return watch(start(question), report)


def weigh_matrices(question: Matrices, _: None, report: Progress | None) -> pd.DataFrame:
    """Return a row per look, network and matrix; see `core.theory.deep_linear.weights`."""
    run = start(DeepLinear(question.preset, networks=question.networks))
    looks = collect(run, report)
    return tabulate_rows(looks)


declare(
    DeepLinear,
    Answer(
        train,
        version=2,
        complete=lambda question, _: complete(question),
        findings=findings,
        facts=facts,
    ),
)
declare(
    Matrices,
    Answer(
        weigh_matrices,
        version=2,
        complete=lambda question, _: replace(
            question, networks=complete_descent(question.preset, question.networks)
        ),
        findings=matrix_findings,
    ),
)
