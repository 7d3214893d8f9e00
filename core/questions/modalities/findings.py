"""What the table of modalities says, in plain sentences, whichever way it goes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from core.figures.numbers import p_text
from core.modalities import MODALITIES, find_modality
from core.questions.modalities.meeting import ALL
from core.questions.modalities.question import Modalities
from core.questions.sentences import listed

SURE = 0.05
FEW = "Only {} are here, so no two modalities are compared: embed or import models of another one."
NONE = "No finished model is here: embed some."
SHARED = (
    "All of them learned from the same events, each from its own side: what two of them share can"
    " only be what both sides tell of these events."
)


def findings(question: Modalities, table: pd.DataFrame) -> list[str]:
    """Say which modalities meet, which are aligned with reality, and how size bears on it."""
    if table.empty:
        return [NONE]
    whole, toward = table[table["size"] == ALL], question.comparison.toward
    real = whole["other"].map(lambda name: MODALITIES[name].is_reality)
    pairs, worlds = whole[~real].to_dict("records"), whole[real].to_dict("records")
    said = [_lead(pairs, toward)] if pairs else [FEW.format(_plural(whole["one"].iloc[0]))]
    if worlds:
        levels = [f"{_plural(row['one'])} {_number(row)}" for row in worlds]
        said.append(f"With reality align {listed(levels)}.")
    return [*said, *_by_size(table)]


def _lead(pairs: list[dict[Hashable, Any]], toward: int) -> str:
    sure = [row for row in pairs if row["q"] < SURE and toward * (row["mean"] - row["chance"]) > 0]
    others = [row for row in pairs if row not in sure]
    parts = []
    if sure:
        parts.append(f"{listed(map(_pair, sure))} agree beyond chance")
    if others:
        parts.append(f"of {listed(map(_pair, others))} it is not shown")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def _by_size(table: pd.DataFrame) -> list[str]:
    """Say how the mean goes with size, where models of several sizes are compared."""
    said = []
    for (one, other), rows in table[table["size"] != ALL].groupby(["one", "other"], sort=False):
        if len(rows) > 1:
            steps = [f"{row['mean']:.3f} ({row['size']})" for row in rows.to_dict("records")]
            said.append(f"{_name(one)} with {_name(other)}: {', '.join(steps)}")
    return [f"By size: {'; '.join(said)}."] if said else []


def _pair(row: Mapping[Hashable, Any]) -> str:
    return f"{_name(row['one'])} and {_name(row['other'])} models ({_numbers(row)})"


def _numbers(row: Mapping[Hashable, Any]) -> str:
    fresh = "" if np.isnan(row["untrained"]) else f", untrained {row['untrained']:.3f}"
    share = "" if np.isnan(row["share"]) else f", {row['share']:.0%} of the way to the ceiling"
    test = row["reason"] or p_text(row["q"], "q")
    text = f"{row['mean']:.3f}, chance {row['chance']:.3f}{fresh}{share}, {test}"
    return text.replace("%", " %")


def _number(row: Mapping[Hashable, Any]) -> str:
    return f"({_numbers(row)})"


def _name(modality: Hashable) -> str:
    one = find_modality(str(modality))
    return "reality" if one.is_reality else one.name


def _plural(modality: Hashable) -> str:
    return find_modality(str(modality)).plural
