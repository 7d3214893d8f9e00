"""What composing adapters gives, in plain sentences."""

from __future__ import annotations

from math import isnan

import pandas as pd

from core.questions.adapters.composition.question import Composition

DIRECT, COMPOSED, DIFFERENCE = "direct", "composed", "difference"
NAMES = {"recall_10": "recall at 10 between x and z", "alignment": "alignment with the reference"}


def composition_findings(_: Composition, table: pd.DataFrame) -> list[str]:
    """Say what two adapters, one after the other, reach beside direct ones. table: as
    `core.questions.adapters.composition.answer.compose` returns it.
    """
    return [
        *(_sentence(f"{measure}", rows) for measure, rows in table.groupby("measure", sort=False)),
        "Neither training nor validation of the composed adapters saw an x beside its z; every"
        " adapter learned from half of the pairs.",
        "From one common space to the other leads the least-squares map of y in the first to y in"
        " the second, which amplifies directions that are weak in the first.",
    ]


def _sentence(measure: str, rows: pd.DataFrame) -> str:
    values = rows.set_index("way")["value"]
    low, high = (rows.set_index("way")[end][DIFFERENCE] for end in ("low", "high"))
    interval = "" if isnan(low) else f", 95 % interval over trainings {low:+.3f} to {high:+.3f}"
    return (
        f"Through y, {NAMES[measure]} is {values[COMPOSED]:.3f}, directly {values[DIRECT]:.3f}"
        f" ({values[DIFFERENCE]:+.3f}{interval})."
    ).replace("-", "−")
