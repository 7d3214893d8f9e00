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
    measured = means[means["kept"].notna()]
    best = measured.loc[measured.groupby("kind", sort=False)["kept"].idxmax()]
    said = [_right(str(way), rows) for way, rows in means.groupby("way", sort=False)]
    return [_answer(best), _sure(table), *said, *_factors(table, best)]


def _answer(best: pd.DataFrame) -> str:
    """Say what is kept by the way that keeps more, per kind of pair."""
    if best.empty:
        return "No space's own probes tell a factor better than chance, so none can be swapped."
    parts = [f"{kept_text(row)} {row['kind']}" for row in best.to_dict("records")]
    return (
        "With nothing trained in between, another model's probe keeps this share of what a space's"
        f" own probe tells beyond chance (95 % interval over stimuli): {listed(parts)}."
    )


def kept_text(row: Row) -> str:
    """Return what is kept, with its interval."""
    kept, low, high = (
        share_text(row[name]).replace("-", "−") for name in ("kept", "kept_low", "kept_high")
    )
    return f"{kept} ({low} to {high})"


def _right(way: str, rows: pd.DataFrame) -> str:
    parts = [
        f"{row['kind']} {share_text(row['score'])} of the answers are right"
        f" ({share_text(row['low'], 1)} to {share_text(row['high'], 1)}; chance"
        f" {share_text(row['chance'])}, a probe of its own {share_text(row['native'])})"
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
        f"In {listed(counts)} swaps more answers are right than with anchors paired at random (q ≤"
        f" {SURE}, adjusted over all pairs and ways)."
    )


def _factors(table: pd.DataFrame, best: pd.DataFrame) -> list[str]:
    """Say of which factor the better way surely keeps most and least, per kind of pair; nothing
    where fewer than two can be told.
    """
    factors = table[(table["probe"] == MEAN) & (table["factor"] != OVERALL) & table["kept"].notna()]
    parts = []
    for kind, way in zip(best["kind"], best["way"], strict=True):
        rows = factors[(factors["kind"] == kind) & (factors["way"] == way)]
        if len(rows) < 2:
            continue
        ends = rows.loc[[rows["kept_low"].idxmax(), rows["kept_high"].idxmin()]]
        most, least = (
            f"{row['factor'].replace('_', ' ')}, {kept_text(row)},"
            for row in ends.to_dict("records")
        )
        parts.append(f"{kind} most of {most} and least of {least.rstrip(',')}")
    return [f"By factor, the better way keeps {'; '.join(parts)}."] if parts else []
