"""The hover cards of the trend."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

from core.figures.numbers import p_text
from core.figures.rulers import Ruler
from core.figures.theme import hover_card, sized
from core.questions.alignment.points import NOISE


def card(row: Mapping[Hashable, Any], axis: Ruler, bound: str = "") -> str:
    """Return the card of a pair; bound: of its noise ceiling, see `noise.bound_of`."""
    return hover_card(
        f"{sized(row['title_x'], row['parameters_x'])} ×"
        f" {sized(row['title_y'], row['parameters_y'])}",
        f"{_scored(row)}{_share(row)}{_noise(row, bound)}",
        axis.text(row["x"]),
        f"layers {row['layer_x']} × {row['layer_y']}",
        ids=f"{row['model_x']} × {row['model_y']}",
    )


def _scored(row: Mapping[Hashable, Any]) -> str:
    if "alignment" in row:  # its share stands on the axis
        return f"alignment {row['alignment']:.3f}"
    return f"alignment {row['score']:.3f}{_beside(row)}"


def _share(row: Mapping[Hashable, Any]) -> str:
    share = row.get("share", math.nan)
    return "" if math.isnan(share) else f"<br>{share:.2f} of the way from chance to the ceiling"


def _noise(row: Mapping[Hashable, Any], bound: str) -> str:
    ceiling = row.get(NOISE, math.nan)
    return "" if math.isnan(ceiling) else f"<br>noise ceiling {bound}{ceiling:.3f}"


def _beside(row: Mapping[Hashable, Any]) -> str:
    """Return what is known beside a score: its chance and interval, or of a calibrated one the raw
    score and how likely it is.
    """
    if "raw" not in row:
        return f"{_chance(row['chance'])}{_interval(row, '')}"
    raw = f"<br>raw score {row['raw']:.3f}{_chance(row['raw_chance'])}{_interval(row, 'raw_')}"
    return f"{raw}<br>{p_text(row['p'])}, {p_text(row['p_adjusted'], 'adjusted for all pairs p')}"


def _chance(chance: float) -> str:
    return "" if math.isnan(chance) else f", chance {chance:.3f}"


def _interval(row: Mapping[Hashable, Any], prefix: str) -> str:
    return (
        f"<br>95 % interval over stimuli {row[f'{prefix}low']:.3f} to {row[f'{prefix}high']:.3f}"
        if f"{prefix}low" in row
        else ""
    )
