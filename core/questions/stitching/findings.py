"""What stitches lose, in plain sentences, whichever way it goes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from core.figures.numbers import p_text, share_text
from core.questions.sentences import listed
from core.questions.stitching.many import TOLD
from core.questions.stitching.question import Stitch, StitchKinds, StitchMap, StitchTrend
from core.questions.stitching.roster import OTHER_SEED
from core.statistics.intervals import LEAST_SIDE, grid_correlation, grid_interval

SURE = 0.05
Row = Mapping[Hashable, Any]


def stitch_findings(_: Stitch, table: pd.DataFrame) -> list[str]:
    """Say what is lost by the fitted map, and what by the others."""
    rows, (x, y) = table.set_index("h"), table[["x", "y"]].iloc[0]
    lost = rows["lost"].to_dict()
    fitted: Any = rows.loc["trained"]
    itself: Any = rows.loc["itself, identity"]
    if not np.isfinite(fitted["lost"]):
        return [
            f"{y} itself does no better than chance here ({fitted['own']:.3f}), so nothing"
            " can be lost."
        ]
    others = [
        f"{_share(lost[name])} ({name})"
        for name in ("least squares", "identity", "random")
        if np.isfinite(lost[name])
    ]
    exact = abs(itself["penalty"]) < 1e-9
    return [
        f"Going on from {fitted['name_x']} of {x} in place of its own"
        f" {fitted['name_y']}, {y} {_loses(fitted)}: its score is"
        f" {_score(fitted['score'])} in place of {_score(fitted['own'])}, and chance is"
        f" {_score(fitted['chance'])}.",
        f"Maps that were not fitted to its task lose {listed(others)}.",
        "Stitched to itself by the identity it loses "
        + ("nothing, as it must." if exact else f"{itself['penalty']:.4f}, which should be 0."),
        f"Its head is {fitted['head']}.",
    ]


def _score(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")


def _loses(row: Any) -> str:
    """Say what is lost above chance, or gained, with its interval."""
    verb, sign = ("loses", 1) if row["lost"] >= 0 else ("gains", -1)
    ends = sorted(sign * row[f"lost_{end}"] for end in ("low", "high"))
    return (
        f"{verb} {share_text(abs(row['lost']))} of what it has above chance (95 % interval"
        f" {_share(ends[0])} to {_share(ends[1])} over stimuli)"
    )


def map_findings(_: StitchMap, table: pd.DataFrame) -> list[str]:
    """Say which layers can stand for which, and how well alignment foretells it."""
    x, y = table[["x", "y"]].iloc[0]
    if table["lost"].isna().all():
        return [f"{y} itself does no better than chance here, so nothing can be lost."]
    ordered, path = table.dropna(subset="lost").sort_values("lost"), table[table["on_path"]]
    best, worst = ordered.iloc[0], ordered.iloc[-1]
    return [
        f"Where {best['name_x']} of {x} stands for {best['name_y']} of {y}, it"
        f" {_loses(best)}, the least of all layers; where {worst['name_x']} stands for"
        f" {worst['name_y']}, it loses {_share(worst['lost'])}, the most.",
        foretold(table),
        f"Along the way of least penalty the mean loss is {_share(path['lost'].mean())}, over"
        f" all pairs of layers {_share(table['lost'].mean())}.",
    ]


def foretold(table: pd.DataFrame) -> str:
    """Say how well alignment foretells what is lost, over pairs of layers, beside how well their
    depths do.
    """
    if min(table["layer_x"].nunique(), table["layer_y"].nunique()) < LEAST_SIDE:
        return (
            f"{len(table)} pairs of layers are too few to say whether alignment foretells what is"
            " lost."
        )
    fit = correlate(table)
    if not np.isfinite(fit.rho):
        return (
            "Alignment or loss is unknown, or the same for all pairs of layers, so neither"
            " foretells the other."
        )
    span = f", 95 % interval {_signed(fit.low)} to {_signed(fit.high)}"
    said = f"Spearman {_signed(fit.rho)}{span if np.isfinite(fit.low) else ''}, {p_text(fit.p)}"
    apart = f" How far apart two layers lie in depth gives {_signed(fit.apart)}."
    return (
        f"{_strength(fit)} ({said}, over {len(table)} pairs of layers; layers of both networks are"
        f" drawn anew, and dealt anew for p).{apart if np.isfinite(fit.apart) else ''}"
    )


class Foretelling(NamedTuple):
    """Spearman's ρ of alignment and loss over pairs of layers, its interval and p; apart: that of
    the distance in relative depth and loss.
    """

    rho: float
    low: float
    high: float
    p: float
    apart: float


def correlate(table: pd.DataFrame) -> Foretelling:
    """Return how well alignment foretells loss over the pairs of layers of a whole map."""
    alignment, lost = (
        table.pivot(index="layer_x", columns="layer_y", values=name).to_numpy(float)
        for name in ("alignment", "lost")
    )
    x, y = np.indices(lost.shape)  # in whole numbers, since rounding would part what is equal
    depths = np.abs(x * (lost.shape[1] - 1) - y * (lost.shape[0] - 1)).astype(float)
    apart, _ = grid_correlation(depths, lost, draws=1, seed=0)
    rho, p = grid_correlation(alignment, lost, draws=4_999, seed=0)
    return Foretelling(rho, *grid_interval(alignment, lost), p, apart)


def _strength(fit: Foretelling) -> str:
    if not (fit.p <= SURE and (fit.low > 0 or fit.high < 0)):
        return "It is not shown that alignment foretells what is lost"
    if fit.rho < 0:
        return "Better aligned layers lose less"
    return "Better aligned layers lose more, against expectation"


def kind_findings(_: StitchKinds, table: pd.DataFrame) -> list[str]:
    """Say what each kind of pair loses beside another seed of one recipe."""
    kinds = table.drop_duplicates("kind")
    control = kinds[kinds["kind"] == OTHER_SEED]
    others = kinds[kinds["kind"] != OTHER_SEED].sort_values("mean")
    said = [f"{row['kind']} {_share(row['mean'])}" for row in others.to_dict("records")]
    first = "Of what the upper network has above chance is lost, on average: "
    if len(control):
        row = control.to_dict("records")[0]
        first = (
            "A network that goes on from another seed of its recipe loses"
            f" {_share(row['mean'])} of what it has above chance{_mean_interval(row)}; "
        )
    differing = others[others["q"] <= SURE]
    judged = (
        f"Other than that, at q ≤ {SURE:g} with p adjusted for all kinds:"
        f" {listed(differing['kind'])}. Below 0 something is gained."
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
        f"{_share(row['lost'])} at size {size}{_solved(row['competence'])}"
        for size, row in zip(means.index, means.to_dict("records"), strict=True)
    ]
    return [
        _trend(measures["lost"], "the share lost above chance")
        + f" The mean loss is {listed(levels)}, over {int(means['pairs'].sum())} ordered pairs of"
        " models.",
        *_told(measures),
        _trend(measures["penalty"], "the penalty in score"),
        f"Objectives: {listed(question.objectives)}. q is p adjusted for all measures here. Pairs"
        " of objectives share models, so p is rather too small, and the interval too narrow.",
    ]


def _told(measures: Mapping[str, Row]) -> list[str]:
    """Say what is lost where a supervised network goes on."""
    if TOLD not in measures:
        return []
    return [
        _trend(measures[TOLD], "what a supervised network loses") + " Others, whose heads are"
        " fitted to frozen features, gain from a lower network that knows more of the task, so this"
        " is the fairer test."
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
    return f" (95 % interval {_share(row['low'])} to {_share(row['high'])} over seeds)"


def _rise_interval(row: Row) -> str:
    if not np.isfinite(row["rise_low"]):
        return ""
    return f" (95 % interval {_signed(row['rise_low'], 3)} to {_signed(row['rise_high'], 3)})"


def _share(share: float) -> str:
    return share_text(share).replace("-", "−")


def _signed(value: float, digits: int = 2) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")
