"""What the ablation of adapters shows, in plain sentences."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from typing import Any

import pandas as pd

from core.questions.adapters.ablation.question import CHOSEN, PROPOSED, Ablation


def ablation_findings(_: Ablation, table: pd.DataFrame) -> list[str]:
    """Say what the adapters reach as chosen and as published, beside canonical correlation and
    ridge, and which single choices matter. table: as `ablate` returns it.
    """
    recalls = table[table["measure"] == "recall_10"].to_dict("records")
    aligned = table[table["measure"] == "alignment"].to_dict("records")
    ends = [row for row in recalls if row["choice"] in (CHOSEN, PROPOSED)]
    decisive = [_decisive("recall", recalls), _decisive("alignment with the reference", aligned)]
    return [*map(_reached, ends), *decisive, *_covered(recalls[0])]


def label_of(row: Mapping[Any, Any]) -> str:
    """Return what a row is called: the choice that it changes, and to what."""
    return f"{row['choice']} {row['setting']}".strip()


def _reached(row: Mapping[Any, Any]) -> str:
    name = label_of(row)
    return (
        f"{name[:1].upper()}{name[1:]}, adapters reach a recall at 10 of"
        f" {row['value']:.3f}{_between(row, '')}: {_signed(row, 'over_CCA')} over canonical"
        f" correlation ({row['CCA']:.3f}) and {_signed(row, 'over_ridge')} over ridge regression"
        f" ({row['ridge']:.3f})."
    )


def _decisive(what: str, rows: list[dict[Any, Any]]) -> str:
    """Say which single choices change a measure for sure, those that cost most first."""
    single = [row for row in rows if row["choice"] not in (CHOSEN, PROPOSED)]
    sure = [row for row in single if row["change_low"] * row["change_high"] > 0]
    if not sure:
        return f"No single choice changes {what} for sure."
    ranked = sorted(sure, key=lambda row: row["change"])
    changes = [f"{label_of(row)} ({_signed(row, 'change')})" for row in ranked]
    return f"Changed one at a time, these choices change {what}: {'; '.join(changes)}."


def _covered(row: Mapping[Any, Any]) -> list[str]:
    if isnan(row["low"]):
        return ["There are no intervals, since they take five trainings or more."]
    return [
        f"The intervals cover other trainings ({row['seeds']} of each row), not other test stimuli"
        " nor other encoders."
    ]


def _signed(row: Mapping[Any, Any], name: str) -> str:
    return f"{row[name]:+.3f}{_between(row, f'{name}_')}".replace("-", "−")


def _between(row: Mapping[Any, Any], prefix: str) -> str:
    low, high = row[f"{prefix}low"], row[f"{prefix}high"]
    if isnan(low):
        return ""
    return f", 95 % interval {low:.3f} to {high:.3f}".replace("-", "−")
