"""Which thirds of competence agree with which: are all strong models alike, and is each weak one
weak in its own way?

Source: Huh et al. 2024, section 2 and figure 2, after Tolstoy's Anna Karenina.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from core.questions.convergence.levels import KINDS, Kind, Leveled, arrange
from core.statistics.trends import grid_means, weak_contrast

COLUMNS = (
    "pairs_of",
    "one",
    "other",
    "mean",
    "adjusted",
    "recipes",
    "pairs",
    "contrast",
    "low",
    "high",
    "p",
    "reason",
)


def compare_thirds(leveled: Leveled, pairs: pd.DataFrame, *, draws: int, seed: int) -> pd.DataFrame:
    """Return the mean alignment between each two thirds, with COLUMNS.

    one, other: the names of the two levels, the lower first. adjusted: see
    `core.statistics.trends.GridMean`. contrast, low, high, p, reason: the
    same in all rows of a kind of pairs, see `core.statistics.trends.weak_contrast`. pairs: of
    `ModelPairs`.
    """
    rows = [row for kind in KINDS for row in _rows(leveled, pairs, kind, draws=draws, seed=seed)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _rows(
    leveled: Leveled, pairs: pd.DataFrame, kind: Kind, *, draws: int, seed: int
) -> Iterator[tuple[object, ...]]:
    arranged = arrange(leveled, pairs, kind)
    contrast = weak_contrast(arranged, draws=draws, seed=seed)
    about = (contrast.value, contrast.low, contrast.high, contrast.p, contrast.reason)
    top = len(leveled.names) - 1
    for mean in grid_means(arranged):
        one, other = (leveled.names[round(level * top)] for level in (mean.low, mean.high))
        yield kind, one, other, mean.mean, mean.adjusted, mean.recipes, mean.pairs, *about
