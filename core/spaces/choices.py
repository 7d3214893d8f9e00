"""How outliers of features are clamped, as options; it imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.options import option

# whose quantile outliers are clamped at, each as the released code of Huh et al. 2024 has it: with
# its `exact` option for an array, by its default for an array, and with `exact` for any layers, of
# which several widths make a list
Clamp = Literal["exact", "average", "layers"]
EXACT: Clamp = "exact"


Q = 0.95


@dataclass(frozen=True)
class Clamping:
    q: float = option(
        Q,
        least=0.01,
        most=1,
        label="Clamping quantile q",
        help="share of feature values left unclamped, 1 for all",
    )
    clamp: Clamp = option(
        EXACT,
        label="Quantile of",
        help="whose quantile values are clamped at, as in the published code: exact, that of all"
        " layers together (its option exact, for an array); average, the mean of each stimulus's"
        " (its default for an array; that for a list, each layer's own mean, is not offered);"
        " layers, as exact, but each layer's own if their widths differ (exact, for a list)",
    )
