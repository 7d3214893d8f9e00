"""What the table of modalities says, in plain sentences, whichever way it goes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from core.figures.numbers import p_text
from core.modalities import find_modality
from core.questions.modalities.meeting import ALL
from core.questions.modalities.question import Modalities
from core.questions.sentences import listed

SURE = 0.05
FEW = "Only {} are here, so no two modalities are compared: embed or import models of another one."
NONE = "No finished model is here: embed some."

Row = Mapping[Hashable, Any]


def findings(question: Modalities, table: pd.DataFrame) -> list[str]:
    """Say which modalities agree beyond chance, which align with reality, what untrained models
    reach, and how size bears on it.
    """
    if table.empty:
        return [NONE]
    whole, toward = table[table["size"] == ALL], question.comparison.toward
    real = whole["other"].map(lambda name: find_modality(name).is_reality)
    pairs, worlds = whole[~real].to_dict("records"), whole[real].to_dict("records")
    said = [_lead(pairs, toward)] if pairs else [FEW.format(_plural(whole["one"].iloc[0]))]
    if worlds:
        levels = [f"{row['mean']:.3f} for {_plural(row['one'])} ({_test(row)})" for row in worlds]
        said.append(f"Alignment with reality is {listed(levels)}.")
    return [*said, *_untrained(whole), *_by_size(table)]


def _lead(pairs: list[dict[Hashable, Any]], toward: int) -> str:
    sure = [row for row in pairs if row["q"] < SURE and toward * (row["mean"] - row["chance"]) > 0]
    others = [row for row in pairs if row not in sure]
    parts = []
    if sure:
        parts.append(f"{listed(map(_pair, sure))} agree beyond chance")
    if others:
        parts.append(f"that {listed(map(_pair, others))} do is not shown")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def _untrained(whole: pd.DataFrame) -> list[str]:
    """Say what passes through networks that learned nothing."""
    rows = whole[whole["untrained"].notna()].to_dict("records")
    levels = [f"{row['untrained']:.3f} ({_meeting(row)})" for row in rows]
    return [f"Untrained models reach {listed(levels)}."] if levels else []


def _by_size(table: pd.DataFrame) -> list[str]:
    """Say how the mean goes with size, where models of several sizes are compared."""
    said = []
    for _, sizes in table[table["size"] != ALL].groupby(["one", "other"], sort=False):
        rows = sizes.to_dict("records")
        if len(rows) > 1:
            steps = [f"{row['mean']:.3f} ({row['size']})" for row in rows]
            said.append(f"{_meeting(rows[0])} {', '.join(steps)}")
    return [f"By size: {'; '.join(said)}."] if said else []


def _pair(row: Row) -> str:
    return f"{_name(row['one'])} and {_name(row['other'])} models ({_numbers(row)})"


def _numbers(row: Row) -> str:
    share = "" if np.isnan(row["share"]) else f", {row['share']:.0%} of the way to the ceiling"
    return f"{row['mean']:.3f}{share}, {_test(row)}".replace("%", " %")


def _test(row: Row) -> str:
    return f"chance {row['chance']:.3f}, {row['reason'] or p_text(row['q'], 'q')}"


def _meeting(row: Row) -> str:
    return f"{_name(row['one'])} with {_name(row['other'])}"


def _name(modality: str) -> str:
    one = find_modality(modality)
    return "reality" if one.is_reality else one.name


def _plural(modality: str) -> str:
    return find_modality(modality).plural
