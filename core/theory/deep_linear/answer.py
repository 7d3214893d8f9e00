"""The answer of the deep linear question: every look of its run, and what stands beside them."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from core.progress import Progress
from core.questions.registry import Answer, declare
from core.theory.deep_linear.findings import findings
from core.theory.deep_linear.presets import complete, start
from core.theory.deep_linear.question import DeepLinear
from core.theory.looks import last_row, watch


def facts(question: DeepLinear, table: pd.DataFrame) -> Mapping[str, object]:
    """Return preset, seed, the verdict, and of a training its last look."""
    chosen = {"preset": question.preset, "seed": question.seed}
    last = last_row(table) if start(question).ends else {}
    return {**chosen, "verdict": " ".join(findings(question, table)), **last}


def train(question: DeepLinear, _: None, report: Progress | None) -> pd.DataFrame:
    """Return a row per look; raises InputError for what cannot be run."""
    return watch(start(question), report)


declare(
    DeepLinear,
    Answer(
        train,
        version=1,
        complete=lambda question, _: complete(question),
        findings=findings,
        facts=facts,
    ),
)
