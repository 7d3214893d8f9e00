"""Whether two models can be translated with no pairs given, in plain sentences."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from core.figures.numbers import counted, p_text, share_text
from core.questions.sentences import listed
from core.questions.translation.dyads import correlate_pairs
from core.questions.translation.kinds import ACROSS, DESCENT, ONE_RECIPE, WITH_REALITY
from core.questions.translation.question import (
    METHOD_TITLES,
    Translation,
    TranslationPairs,
)
from core.statistics.correlations import Correlation

SURE = 0.05
HALF = 0.5  # of the partners, from which on a translation is said to work
_WORDS = {ONE_RECIPE: "of one recipe", DESCENT: "of one descent"}
Row = Mapping[Hashable, Any]


def translation_findings(_: Translation, table: pd.DataFrame) -> list[str]:
    """Say at how many stimuli partners are found beyond chance, and what a better search could."""
    said = [_best(rows) for _, rows in table.groupby("method", sort=False)]
    return [*said, _search(table), "q is p adjusted for all sizes and methods."]


def _best(rows: pd.DataFrame) -> str:
    """Say of a method what it finds, at its best size."""
    sure = rows[rows["q"] <= SURE]
    best = _most_found(rows)
    name = METHOD_TITLES[str(best["method"])]
    x, y = best[["space_x", "space_y"]]
    if sure.empty:
        return (
            f"{name[:1].upper()}{name[1:]} finds no more partners of {x} in {y} than chance:"
            f" at most {share_text(best['top1'], 1)}, of {best['n']:.0f} stimuli, where chance is"
            f" {_chance(best)} ({p_text(rows['q'].min(), 'q')})."
        )
    sizes = listed(f"{size:,}" for size in sure["n"])
    best = _most_found(sure)
    return (
        f"{name[:1].upper()}{name[1:]} finds partners of {x} in {y} beyond chance at {sizes}"
        f" stimuli: at most {share_text(best['top1'], 1)}, of {best['n']:.0f}, where chance is"
        f" {_chance(best)} ({p_text(best['q'], 'q')})."
    )


def _most_found(rows: pd.DataFrame) -> pd.Series:
    return rows.iloc[int(rows["top1"].to_numpy(float).argmax())]


def _chance(row: Row | pd.Series) -> str:
    low, high = share_text(row["chance_low"], 1), share_text(row["chance_high"], 1)
    return f"{share_text(row['chance'], 1)} ({low} to {high})"


def _search(table: pd.DataFrame) -> str:
    """Say whether kernels hold too little, or the search missed what they hold."""
    missed = table["agreement_true"] > table["agreement"]
    if missed.all():
        return (
            "The true partners would make the kernels agree better than any matching that was"
            " found: the search misses them, not the kernels."
        )
    if not missed.any():
        return (
            "Matchings were found under which the kernels agree as well as with the true partners,"
            " or better: the kernels alone do not tell who is whose."
        )
    return (
        f"In {int(missed.sum())} of {len(table)} rows the true partners would make the kernels"
        " agree better than what was found; in the others the kernels alone do not tell them."
    )


def pairs_findings(question: TranslationPairs, table: pd.DataFrame) -> list[str]:
    """Say which pairs of models are translated, how many beyond chance, and whether alignment
    helps.
    """
    said = [_by_kind(table)]
    for method, rows in table.groupby("method", sort=False):
        best = _most_found(rows)
        sure, half = int((rows["q"] <= SURE).sum()), int((rows["top1"] >= HALF).sum())
        said.append(
            f"By {METHOD_TITLES[str(method)]} {sure:,} of {counted(len(rows), 'pair', 'pairs')}"
            f" {'is' if sure == 1 else 'are'} translated beyond chance (q ≤ 0.05), {half} to half"
            f" or more of {best['n']:.0f} stimuli; at best {share_text(best['top1'])}"
            f" ({best['space_x']} and {best['space_y']}, alignment {best['alignment']:.2f}),"
            f" where chance is {_chance(best)}."
        )
    said += [_together(table, method, question) for method in table["method"].unique()]
    return [*said, _search(table)]


def _by_kind(table: pd.DataFrame) -> str:
    """Say for each kind of pair in how many half of the partners are found by some method."""
    best = table.groupby(["kind", "space_x", "space_y"])[["top1", "alignment"]].max()
    parts = []
    for kind in dict.fromkeys(table["kind"]):
        rows = best.loc[str(kind)]
        low, high = rows["alignment"].min(), rows["alignment"].max()
        half = int((rows["top1"] >= HALF).sum())
        parts.append(f"{half} of {len(rows):,} {_in_words(str(kind))} ({low:.2f} to {high:.2f})")
    return (
        "Half of the partners or more are found, by one method at least, in these pairs of models"
        f" (of an alignment of): {listed(parts)}."
    )


def _in_words(kind: str) -> str:
    return kind if kind in (ACROSS, WITH_REALITY) else _WORDS.get(kind, f"within {kind}")


def _together(table: pd.DataFrame, method: str, question: TranslationPairs) -> str:
    order = alignment_and_rank(table[table["method"] == method], seed=question.matching.seed)
    if not np.isfinite(order.value):
        return f"Whether alignment helps {METHOD_TITLES[method]} cannot be tested: {order.reason}."
    sense = "rise together" if order.value > 0 else "go against each other"
    sure = "" if order.p <= SURE else " here, which is not beyond chance"
    return (
        f"Alignment and the true partner's rank by {METHOD_TITLES[method]} {sense}{sure} (ρ ="
        f" {order.value:+.2f}, 95 % interval {order.low:+.2f} to {order.high:+.2f},"
        f" {p_text(order.p)}, {order.n} models)."
    ).replace("-", "−")


def alignment_and_rank(rows: pd.DataFrame, *, seed: int) -> Correlation:
    """Return Spearman's ρ of alignment and the true partner's rank over the pairs of one method
    that are of different recipes; see `correlate_pairs`.
    """
    names = sorted({*rows["space_x"], *rows["space_y"]})
    place = {name: number for number, name in enumerate(names)}
    matrices = np.full((2, len(names), len(names)), np.nan)
    groups = np.arange(len(names), dtype=float)
    for row in rows.to_dict("records"):
        x, y = place[row["space_x"]], place[row["space_y"]]
        if row["kind"] == ONE_RECIPE:
            groups[groups == groups[y]] = groups[x]
            continue
        matrices[0, x, y] = matrices[0, y, x] = row["alignment"]
        matrices[1, x, y] = matrices[1, y, x] = row["rank"]
    return correlate_pairs(matrices[0], matrices[1], groups, seed=seed)
