"""What the table of modalities says, in plain sentences, whichever way it goes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from core.figures.numbers import p_text, share_text
from core.modalities import find_modality
from core.questions.modalities.meeting import ALL
from core.questions.modalities.question import Modalities
from core.questions.sentences import listed
from core.study.models import OPEN

SURE = 0.05
FEW = "Only {} are here, so no two modalities are compared: embed or import models of another one."
NONE = "No finished model is here: embed some."

Row = Mapping[Hashable, Any]


def findings(question: Modalities, table: pd.DataFrame) -> list[str]:
    """Say which modalities agree beyond chance and beyond untrained models, which align with
    reality so, and how size bears on it.
    """
    if table.empty:
        return [NONE]
    whole, toward = table[table["size"] == ALL], question.comparison.toward
    real = whole["other"].map(lambda name: find_modality(name).is_reality)
    pairs, worlds = whole[~real].to_dict("records"), whole[real].to_dict("records")
    said = [_verdicts(pairs, toward)] if pairs else [FEW.format(_plural(whole["one"].iloc[0]))]
    if worlds:
        said.append(_verdicts(worlds, toward, " with reality"))
    return [*said, *filter(None, map(_numbers, whole.to_dict("records"))), *_by_size(table)]


def _verdicts(rows: list[dict[Hashable, Any]], toward: int, what: str = "") -> str:
    """Return who is shown to be aligned, and who is not. what: what all are compared with, if it
    is one thing.
    """
    verdicts: dict[str, list[str]] = {}
    for row in rows:
        who = _plural(row["one"]) if what else f"{_name(row['one'])} and {_plural(row['other'])}"
        verdicts.setdefault(_verdict(row, toward), []).append(who)
    text = "; ".join(
        f"{listed(who)} are {how.replace('{}', what)}" for how, who in verdicts.items()
    )
    return f"{text[:1].upper()}{text[1:]}."


def _verdict(row: Row, toward: int) -> str:
    """Return what is shown: alignment beyond chance, and beyond what passes through networks that
    learned nothing; nothing where there is no test, or relatives may count several times.
    """
    if not np.isfinite(row["q"]):
        return f"not tested: {row['reason']}"
    if OPEN in row["reason"] and row["q"] < SURE:
        return f"aligned{{}} beyond chance if no two are relatives, which is open: {row['reason']}"
    if not (row["q"] < SURE and toward * (row["mean"] - row["chance"]) > 0):
        return "not shown to be aligned{} beyond chance"
    if np.isnan(row["untrained"]):
        return "aligned{} beyond chance"
    if row["q_untrained"] < SURE and toward * (row["mean"] - row["untrained"]) > 0:
        return "aligned{} beyond chance and more than untrained models"
    return "aligned{} beyond chance, but not shown to be more so than untrained models"


def _by_size(table: pd.DataFrame) -> list[str]:
    """Say how the mean goes with size, where models of several sizes are compared."""
    said = []
    for _, sizes in table[table["size"] != ALL].groupby(["one", "other"], sort=False):
        rows = sizes.to_dict("records")
        if len(rows) > 1:
            steps = [f"{row['mean']:.3f} ({row['size']})" for row in rows]
            said.append(f"{_meeting(rows[0])} {', '.join(steps)}")
    return [f"By size: {'; '.join(said)}."] if said else []


def _numbers(row: Row) -> str:
    far = "" if np.isnan(row["share"]) else share_text(row["share"])
    way = f", {far} of the way to the ceiling" if far else ""
    test = row["reason"] if np.isnan(row["q"]) else p_text(row["q"], "q")
    if not np.isfinite(row["mean"]):
        return ""
    parts = [f"{_meeting(row)} {row['mean']:.3f}{way}", f"chance {row['chance']:.3f}, {test}"]
    if not np.isnan(row["untrained"]):
        more = "" if np.isnan(row["q_untrained"]) else f", {p_text(row['q_untrained'], 'q')}"
        parts.append(f"untrained {row['untrained']:.3f}{more}")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def _meeting(row: Row) -> str:
    return f"{_name(row['one'])} with {_name(row['other'])}"


def _name(modality: str) -> str:
    one = find_modality(modality)
    return "reality" if one.is_reality else one.name


def _plural(modality: str) -> str:
    return find_modality(modality).plural
