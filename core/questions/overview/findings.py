"""What the overview says, in sentences."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from core.encoders.encoder import REALITY
from core.figures.numbers import p_text
from core.questions.overview.question import Overview
from core.questions.overview.trends import OVERALL, trend_along


def overview_findings(question: Overview, table: pd.DataFrame) -> list[str]:
    """Say how competence, or what else is on the axis, goes with alignment with all vision models
    and with reality.
    """
    along = table["finding"] == trend_along(question.axis)
    rows = table[along & table["group"].isin((OVERALL, REALITY))]
    if rows.empty:
        return []
    trends = "; ".join(_trend(row) for row in rows.to_dict("records"))
    return [
        f"Spearman correlation of trained models' {question.axis} and alignment {trends}.",
        "Sizes and seeds of one family count once in p.",
    ]


def _trend(row: Mapping[Hashable, Any]) -> str:
    numbers = f"{row['value']:.2f} over {row['models']} models ({p_text(row['p'])})"
    return f"with {row['group']}: {row['reason'] or numbers}"
