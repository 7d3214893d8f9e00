"""What stitches lose, in plain sentences, whichever way it goes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from core.figures.numbers import p_text, share_text
from core.questions.sentences import listed
from core.questions.stitching.question import Stitch, StitchKinds, StitchMap, StitchTrend
from core.questions.stitching.roster import OTHER_SEED
from core.statistics.correlations import Correlation, spearman_interval

SURE = 0.05
FEW_LAYERS = 6  # pairs, below which nothing is said of a correlation
Row = Mapping[Hashable, Any]


def stitch_findings(question: Stitch, table: pd.DataFrame) -> list[str]:
    """Say what is lost by the fitted map, and what by the others."""
    rows = table.set_index("h")
    fitted, itself = rows.loc["trained"], rows.loc["itself, identity"]
    if not np.isfinite(fitted["lost"]):
        return [
            f"{question.y} itself does no better than chance here ({fitted['own']:.3f}), so nothing"
            " can be lost."
        ]
    others = [
        f"{share_text(rows.loc[name, 'lost'])} ({name})"
        for name in ("least squares", "identity", "random")
        if np.isfinite(rows.loc[name, "lost"])
    ]
    exact = abs(itself["penalty"]) < 1e-9
    return [
        f"Going on from layer {fitted['layer_x']} of {question.x}, {question.y} loses"
        f" {share_text(fitted['lost'])} of what it has above chance"
        f" ({_interval(fitted, 'lost')} over stimuli): its score is {fitted['score']:.3f} in place"
        f" of {fitted['own']:.3f}, and chance is {fitted['chance']:.3f}.",
        f"Maps that were not fitted to its task lose {listed(others)}."
        if others
        else "No other map could be tried.",
        "Stitched to itself by the identity it loses "
        + ("nothing, as it must." if exact else f"{itself['penalty']:.4f}, which should be 0."),
        f"Its head is {fitted['head']}.",
    ]


def map_findings(question: StitchMap, table: pd.DataFrame) -> list[str]:
    """Say which layers can stand for which, and how well alignment foretells it."""
    if table["lost"].isna().all():
        return [f"{question.y} itself does no better than chance here, so nothing can be lost."]
    best = table.loc[table["lost"].idxmin()]
    path = table[table["on_path"]]
    worst = table.loc[table["lost"].idxmax()]
    return [
        f"The cheapest stitch of {question.x} into {question.y} goes from {best['name_x']} to"
        f" {best['name_y']} and loses {share_text(best['lost'])} of what {question.y} has above"
        f" chance ({_interval(best, 'lost')} over stimuli); the dearest, from {worst['name_x']} to"
        f" {worst['name_y']}, loses {share_text(worst['lost'])}.",
        foretold(table),
        f"Along the way of least penalty the mean loss is {share_text(path['lost'].mean())}, over"
        f" all pairs of layers {share_text(table['lost'].mean())}.",
    ]


def foretold(table: pd.DataFrame) -> str:
    """Say how well alignment foretells what is lost, over pairs of layers."""
    known = table[["alignment", "lost"]].dropna()
    if len(known) < FEW_LAYERS:
        return (
            f"{len(known)} pairs of layers are too few to say whether alignment foretells what is"
            " lost."
        )
    fit = correlate(table)
    if not np.isfinite(fit.value):
        return (
            "Alignment or loss is the same for all pairs of layers, so neither foretells another."
        )
    low, high = fit.low, fit.high
    said = f"Spearman {_signed(fit.value)}" + (
        f", 95 % interval {_signed(low)} to {_signed(high)}" if np.isfinite(low) else ""
    )
    return (
        f"{_strength(fit)} ({said}, over {fit.n} pairs of layers, drawn anew with replacement;"
        " pairs share layers, so the interval is rather too narrow)."
    )


def correlate(table: pd.DataFrame) -> Correlation:
    """Return Spearman's ρ of alignment and loss over pairs of layers."""
    return spearman_interval(table["alignment"].to_numpy(float), table["lost"].to_numpy(float))


def _strength(fit: Correlation) -> str:
    if not np.isfinite(fit.low) or fit.low <= 0 <= fit.high:
        return "It is not shown that alignment foretells what is lost"
    if fit.value < 0:
        return "Better aligned layers lose less"
    return "Better aligned layers lose more, against expectation"


def kind_findings(_: StitchKinds, table: pd.DataFrame) -> list[str]:
    """Say what each kind of pair loses beside another seed of one recipe."""
    kinds = table.drop_duplicates("kind")
    control = kinds[kinds["kind"] == OTHER_SEED]
    others = kinds[kinds["kind"] != OTHER_SEED].sort_values("mean")
    said = [f"{row['kind']} {share_text(row['mean'])}" for row in others.to_dict("records")]
    first = "Of what the upper network has above chance is lost, on average: "
    if len(control):
        row = control.to_dict("records")[0]
        first = (
            f"A network that goes on from {OTHER_SEED} loses {share_text(row['mean'])} of what it"
            f" has above chance{_mean_interval(row)}; "
        )
    differing = others[others["q"] <= SURE]
    judged = (
        f"{listed(differing['kind'])} differ from that (q ≤ {SURE:g}, p adjusted for all kinds)."
        if len(differing)
        else "No kind is shown to differ from another seed: few seeds make wide intervals."
    )
    return [first + "; ".join(said) + ".", judged]


def trend_findings(question: StitchTrend, table: pd.DataFrame) -> list[str]:
    """Say whether models of different objectives are stitched more cheaply as they get better."""
    measures = {row["measure"]: row for row in table.drop_duplicates("measure").to_dict("records")}
    of_lost = table[table["measure"] == "lost"]
    means = of_lost.groupby("size", sort=False).agg(
        lost=("value", "mean"), competence=("competence", "mean"), pairs=("value", "size")
    )
    means = means.sort_values("competence", na_position="first")
    levels = [
        f"{share_text(row['lost'])} at size {size}{_solved(row['competence'])}"
        for size, row in zip(means.index, means.to_dict("records"), strict=True)
    ]
    return [
        _trend(measures["lost"], "the share lost above chance")
        + f" The mean loss is {listed(levels)}, over {int(means['pairs'].sum())} ordered pairs of"
        " models.",
        _trend(measures["penalty"], "the penalty in score"),
        f"Objectives: {listed(question.objectives)}. q is p adjusted for both measures.",
    ]


def _trend(row: Row, what: str) -> str:
    if not np.isfinite(row["p"]):
        return f"Whether {what} changes with competence cannot be tested: {row['trend_reason']}."
    numbers = (
        f"{_signed(row['rise'], 3)} for every tenth of the tasks that both solve more"
        f"{_rise_interval(row)}, {p_text(row['p'])}, {p_text(row['q'], 'q')},"
        f" {row['recipes']:.0f} pairs of recipes"
    )
    if row["q"] > SURE:
        return f"It is not shown here that {what} changes as models get better ({numbers})."
    sense = "falls: they are stitched more cheaply" if row["rise"] < 0 else "rises"
    return f"As models get better, {what} {sense} ({numbers})."


def _solved(competence: float) -> str:
    return f" (tasks solved {share_text(competence)})" if np.isfinite(competence) else ""


def _mean_interval(row: Row) -> str:
    if not np.isfinite(row["low"]):
        return ""
    return f" (95 % interval {share_text(row['low'])} to {share_text(row['high'])} over seeds)"


def _rise_interval(row: Row) -> str:
    if not np.isfinite(row["rise_low"]):
        return ""
    return f" (95 % interval {_signed(row['rise_low'], 3)} to {_signed(row['rise_high'], 3)})"


def _interval(row: Any, name: str) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return f"95 % interval {share_text(low)} to {share_text(high)}".replace("-", "−")


def _signed(value: float, digits: int = 2) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")
