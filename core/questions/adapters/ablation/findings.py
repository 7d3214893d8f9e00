"""What the ablation of adapters shows, in plain sentences."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from typing import Any

import pandas as pd

from core.questions.adapters.ablation.question import CHOSEN, LOSS, PROPOSED, Ablation
from core.statistics.discoveries import adjust

SURE = 0.05  # share of the named choices that may change nothing, on average
WORDS = {"learned": "learned temperature"}
PROPOSAL = (
    "As published, adapters are trained on raw inner products, but measured by cosine like every"
    " row, and in the mean of all encoders; the proposal's own space is that of x alone."
)


def ablation_findings(_: Ablation, table: pd.DataFrame) -> list[str]:
    """Say what the adapters reach as chosen and as published, beside canonical correlation and
    ridge, and which single choices matter: tests of all choices and both measures are adjusted
    together, and nothing is said where none was made. table: as `ablate` returns it.
    """
    recalls = table[table["measure"] == "recall_10"]
    ends = recalls[recalls["choice"].isin([CHOSEN, PROPOSED])].to_dict("records")
    single = table[~table["choice"].isin([CHOSEN, PROPOSED])]
    single = single.assign(q=adjust(single["p"].to_numpy(float)))
    base = recalls.to_dict("records")[0]
    return [
        *map(_reached, ends),
        *([PROPOSAL] if len(ends) > 1 else []),
        *_decisive("recall", single[single["measure"] == "recall_10"]),
        *_decisive("alignment with the reference", single[single["measure"] == "alignment"]),
        *_kept(recalls[recalls["choice"].isin(LOSS)], base),
        _covered(base),
    ]


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


def _decisive(what: str, rows: pd.DataFrame) -> list[str]:
    """Say which single choices change a measure for sure, those that cost most first."""
    if rows["q"].isna().all():
        return []
    ranked = rows[rows["q"] < SURE].sort_values("change").to_dict("records")
    if not ranked:
        return [f"No single choice changes {what} for sure (adjusted p < {SURE})."]
    changes = [f"{label_of(row)} ({_signed(row, 'change')})" for row in ranked]
    return [
        f"Changed one at a time, these choices change {what} (adjusted p < {SURE}):"
        f" {'; '.join(changes)}."
    ]


def _kept(rows: pd.DataFrame, base: Mapping[Any, Any]) -> list[str]:
    """Say how many trainings with another loss kept their start, which is that of the first row."""
    kept = round((rows["kept"] * rows["seeds"]).sum())
    names = ", ".join(dict.fromkeys(WORDS.get(name, name) for name in rows["choice"]))
    if not kept:
        return []
    return [
        f"In {kept} of {rows['seeds'].sum()} trainings with another loss ({names}) the start was"
        " kept. It is that of the first row; where that row kept it too"
        f" ({round(base['kept'] * base['seeds'])} of {base['seeds']}), they equal it by"
        " construction."
    ]


def _covered(row: Mapping[Any, Any]) -> str:
    if isnan(row["low"]):
        return "There are no intervals, since they take five trainings or more."
    return (
        f"The intervals cover other trainings ({row['seeds']} of each row), not other test stimuli"
        " nor other encoders."
    )


def _signed(row: Mapping[Any, Any], name: str) -> str:
    return f"{row[name]:+.3f}{_between(row, f'{name}_')}".replace("-", "−")


def _between(row: Mapping[Any, Any], prefix: str) -> str:
    low, high = row[f"{prefix}low"], row[f"{prefix}high"]
    if isnan(low):
        return ""
    return f", 95 % interval {low:.3f} to {high:.3f}".replace("-", "−")
