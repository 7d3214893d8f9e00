"""What the headline says."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd

from core.figures.numbers import p_text
from core.questions.headline.question import Headline

Verdict = Literal["for", "against", "not shown", "unknown"]
ALPHA = 0.05
SAID: Mapping[str, str] = {
    "for": "Better models agree more across vision and language",
    "against": "Better models agree less across vision and language",
    "not shown": "It is not shown that better models agree more across vision and language",
}


def judge(p: float) -> Verdict:
    """Return the verdict of the one-sided p: `against` if a fall would be as sure as a rise is."""
    if not np.isfinite(p):
        return "unknown"
    return "for" if p <= ALPHA else "against" if p >= 1 - ALPHA else "not shown"


def headline_findings(question: Headline, table: pd.DataFrame) -> list[str]:
    """Say the verdict with effect, interval and p, and the same of last layers."""
    best, last = table.to_dict("records")
    if best["verdict"] == "unknown":
        return [
            "Whether better models agree more across vision and language is unknown:"
            f" {best['reason']}."
        ]
    setups = f"{best['vision']} vision and {best['language']} language setups"
    return [
        f"{SAID[best['verdict']]} (change {_change(best)}, {p_text(best['p'])}, {setups}).",
        f"The change is of mean {question.measure.label} in best layers, from the least to the most"
        f" competent third; ρ = {_with_interval(best, 'rho', 2)}; intervals are at 95%.",
        f"In last layers: {_change(last)}, {p_text(last['p'])}.",
    ]


def _change(row: Mapping[Hashable, Any]) -> str:
    return _with_interval(row, "change", 3, sign="+")


def _with_interval(row: Mapping[Hashable, Any], name: str, digits: int, sign: str = "") -> str:
    low, high = ("low", "high") if name == "change" else (f"{name}_low", f"{name}_high")
    text = f"{row[name]:{sign}.{digits}f}"
    if np.isfinite(row[low]):
        text += f" [{row[low]:.{digits}f}, {row[high]:.{digits}f}]"
    return text.replace("-", "−")
