"""What probes are worth on other models, in plain sentences."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from core.figures.numbers import share_text
from core.questions.sentences import listed
from core.questions.swapping.question import Swap

SURE = 0.05
OVERALL = "all factors"
MEAN = "mean"  # over the pairs of a kind, in the place of both spaces
WAYS = {
    "orthogonal": "turned onto its space by one orthogonal map",
    "relative": "by cosines with the same anchors",
}
Row = Mapping[Hashable, Any]


def swap_findings(_: Swap, table: pd.DataFrame) -> list[str]:
    """Say what is kept by each way within and across modalities, and of which factors."""
    means = table[(table["probe"] == MEAN) & (table["factor"] == OVERALL)]
    said = [_kept(str(way), rows) for way, rows in means.groupby("way", sort=False)]
    return [_answer(means), _sure(table), *said, _factors(table)]


def _answer(means: pd.DataFrame) -> str:
    """Say what is kept by the way that keeps more, per kind of pair."""
    known = means[means["kept"].notna()]
    if known.empty:
        return "No space's own probes tell a factor better than chance, so none can be swapped."
    best = known.loc[known.groupby("kind", sort=False)["kept"].idxmax()].to_dict("records")
    parts = [f"{share_text(row['kept'])} {row['kind']}" for row in best]
    return (
        "Without any training, another model's probe keeps of what a space's own probe tells"
        f" beyond chance {listed(parts)}."
    )


def _kept(way: str, rows: pd.DataFrame) -> str:
    parts = [
        f"{row['kind']} {share_text(row['score'])} of the answers are right"
        f" ({share_text(row['low'], 1)} to {share_text(row['high'], 1)}; chance"
        f" {share_text(row['chance'])}, a probe of its own {share_text(row['host'])})"
        for row in rows.to_dict("records")
    ]
    return f"With another model's probe, {WAYS[way]}, {listed(parts)}."


def _sure(table: pd.DataFrame) -> str:
    pairs = table[(table["probe"] != MEAN) & (table["factor"] == OVERALL)]
    counts = [
        f"{int((rows['q'] <= SURE).sum())} of {len(rows)} ({way})"
        for way, rows in pairs.groupby("way", sort=False)
    ]
    return (
        f"More than with anchors paired at random (q ≤ {SURE}, adjusted over all pairs and ways) is"
        f" right in {listed(counts)} swaps."
    )


def _factors(table: pd.DataFrame) -> str:
    """Say which factor keeps most and which least, by the way that keeps more, per kind of pair."""
    means = table[(table["probe"] == MEAN) & (table["factor"] != OVERALL) & table["kept"].notna()]
    if means.empty:
        return "No factor can be told better than by chance, even by a space's own probes."
    parts = []
    for kind, rows in means.groupby("kind", sort=False):
        best = rows.loc[rows.groupby("factor", sort=False)["kept"].idxmax()].sort_values("kept")
        ends = best.iloc[[-1, 0]].to_dict("records")
        most, least = (
            f"{row['factor'].replace('_', ' ')} ({share_text(row['kept'])})" for row in ends
        )
        parts.append(f"{kind} most of {most} and least of {least}")
    return f"Of what a space's own probe tells beyond chance, the better way keeps {listed(parts)}."
