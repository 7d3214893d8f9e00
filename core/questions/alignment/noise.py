"""How far noise of measurement lets each pair of an alignment come."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from core.questions.alignment.points import NOISE
from core.questions.alignment.question import Alignment
from core.study.layers import Noise
from core.study.noise import held_noise, pair_ceiling
from core.study.study import Study

ONCE = "no noise ceiling: neither was measured several times"
CONCATENATED = "no noise ceiling of all layers side by side"


def add_noise(table: pd.DataFrame, question: Alignment, study: Study) -> pd.DataFrame:
    """Add noise_ceiling to a table of alignments, where any model was measured several times: what
    an otherwise perfect pair reaches; see `core.study.noise`.

    table: model_x, model_y, layer_x, layer_y, reason, which also says why a ceiling is NaN.
    """
    names = {*table["model_x"], *table["model_y"]}
    noisy = {
        name: held_noise(study, name, question.comparison)
        for name in sorted(names)
        if study.entry(name).card.over
    }
    if not noisy:
        return table
    bounds = [_ceiling(row, noisy, question) for row in table.to_dict("records")]
    ceilings, reasons = zip(*bounds, strict=True)
    reason = table["reason"].where(table["reason"] != "", list(reasons))
    return table.assign(**{NOISE: ceilings}, reason=reason)


def _ceiling(
    row: Mapping[Hashable, Any], noisy: Mapping[str, list[Noise]], question: Alignment
) -> tuple[float, str]:
    """Return the ceiling of one pair of layers, and why it is NaN, else ""."""
    noises = list[Noise]()
    for side in ("x", "y"):
        layers, layer = noisy.get(row[f"model_{side}"]), row[f"layer_{side}"]
        if layers is None:
            continue
        if not 0 <= layer < len(layers):
            return float("nan"), "" if layer < 0 else CONCATENATED
        noises.append(layers[layer])
    if not noises:
        return float("nan"), ONCE
    reason = next((noise.reason for noise in noises if noise.reason), "")
    return pair_ceiling(noises, question.comparison), reason
