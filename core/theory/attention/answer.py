"""The answer on queries and keys: a row for every head of every model."""

from __future__ import annotations

import pandas as pd

from core.progress import Progress
from core.questions.registry import Answer, declare
from core.theory.attention.findings import findings
from core.theory.attention.question import Attention
from core.theory.attention.runs import complete, start
from core.theory.looks import collect, tabulate_rows


def compare_heads(question: Attention, _: None, report: Progress | None) -> pd.DataFrame:
    """Return a row per model, layer and head; see `core.theory.attention.runs.look`."""
    return tabulate_rows(collect(start(question), report))


declare(
    Attention,
    Answer(
        compare_heads,
        version=2,
        complete=lambda question, _: complete(question),
        findings=findings,
        shown=(
            "model",
            "layer",
            "head",
            "weights_alike",
            "weights_alike_chance",
            "gradients_alike",
            "gradients_alike_initial",
            "gradients_alike_chance",
            "gradients_apart",
        ),
    ),
)
