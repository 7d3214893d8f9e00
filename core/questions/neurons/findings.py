"""Which units recur, in plain sentences, whichever way it goes."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.figures.numbers import counted, p_text, share_text
from core.questions.neurons.pairs import AS_IS, ROTATED, SHUFFLED
from core.questions.neurons.question import NeuronPairs, NeuronShare, NeuronTrend
from core.questions.neurons.trends import BEYOND, RECUR
from core.questions.sentences import listed
from core.statistics.intervals import LEVEL, mean_interval

SURE = 1 - LEVEL
BASIS = (
    "A random basis keeps all kernels and makes no unit special: what recurs in it as often is a"
    " matter of directions that models share, not of single units."
)


def share_findings(_: NeuronShare, table: pd.DataFrame) -> list[str]:
    """Say what share of units recurs, and whether that is more than in a random basis."""
    apart = table[~table["kin"].astype(bool)]
    if apart.empty:
        return ["Only models of one recipe or descent are here, so nothing is compared."]
    beyond = apart["share"] - apart["rotated"]
    low, high = mean_interval(_by_model(apart, beyond))
    more = "" if not np.isfinite(low) else f", 95 % interval {_range(low, high)}"
    return [
        f"Of the units that could, {share_text(apart['share'].mean())} recur in another model on"
        f" average, {share_text(apart['share'].min())} to {share_text(apart['share'].max())} over"
        f" {counted(len(apart), 'pair of models', 'pairs of models')}.",
        f"In a random basis of the other model {share_text(apart['rotated'].mean())} do: single"
        f" units {_verdict(low, high)} ({_points(beyond.mean())}{more}, over the means of models).",
        BASIS,
    ]


def _by_model(table: pd.DataFrame, values: pd.Series) -> np.ndarray:
    """Return the mean of the values of each model's pairs."""
    sides = [pd.Series(values.to_numpy(), table[side]) for side in ("model_x", "model_y")]
    means: np.ndarray = pd.concat(sides).groupby(level=0).mean().to_numpy(float)
    return means


def _verdict(low: float, high: float) -> str:
    if low > 0:
        return "recur more than directions at random"
    if high < 0:
        return "recur less than directions at random"
    return "are not shown to recur more than directions at random"


def trend_findings(_: NeuronTrend, table: pd.DataFrame) -> list[str]:
    """Say for each modality of models and of partners whether better models share more units."""
    if table.empty:
        return ["No two models of different recipes are here, so nothing is compared."]
    trends = table.drop_duplicates(["measure", "modality", "partners"])
    said = [_trend(row) for row in trends[trends["measure"] == RECUR].to_dict("records")]
    beyond = trends[trends["measure"] == BEYOND]
    sure = beyond[beyond["q"] <= SURE]
    if sure.empty:
        said.append(
            "What units have beyond a random basis is not shown to change with competence"
            f" ({_least(beyond)})."
        )
    for row in sure.to_dict("records"):
        sense = "rises" if row["rise"] > 0 else "falls"
        said.append(
            f"What units have beyond a random basis {sense} with the competence of"
            f" {row['modality']} models toward {row['partners']} models ({_numbers(row)})."
        )
    return [*said, "q is p adjusted for all trends of this table."]


def _least(rows: pd.DataFrame) -> str:
    known = rows["q"].dropna()
    return f"least {p_text(known.min(), 'q')}" if len(known) else "no line has recipes that differ"


def _trend(row: dict) -> str:
    who = f"{row['modality']} models share units with {row['partners']} models"
    if not np.isfinite(row["p"]):
        return f"Whether better {who} more often cannot be tested: {row['reason']}."
    if row["q"] > SURE:
        return f"It is not shown here that better {who} more often ({_numbers(row)})."
    sense = "more" if row["rise"] > 0 else "less"
    return f"Better {who} {sense} often ({_numbers(row)})."


def _numbers(row: dict) -> str:
    span = _range(row["rise_low"] / 10, row["rise_high"] / 10)
    interval = f", 95 % interval {span}" if np.isfinite(row["rise_low"]) else ""
    return (
        f"{_points(row['rise'] / 10)} per 0.1 of competence{interval}, {p_text(row['q'], 'q')},"
        f" {row['recipes']:.0f} recipes"
    )


def pair_findings(_: NeuronPairs, table: pd.DataFrame) -> list[str]:
    """Say how many units of two models recur, how alike they are, and what a random basis gives."""
    counts = table[table["recurs"]].groupby("basis")["r"].agg(["count", "median", "max"])
    pairs = int(counts["count"].get(AS_IS, 0))
    if not pairs:
        return ["No unit of one model recurs in the other beyond chance."]
    seen, turned = counts.loc[AS_IS], counts["count"].get(ROTATED, 0)
    alike = f"; their median correlation is {seen['median']:.2f}, the highest {seen['max']:.2f}"
    best = table[table["basis"] == SHUFFLED]["r"].max()
    control = "none does"
    if turned:
        rotated = counts.loc[ROTATED]
        control = (
            f"{counted(turned, 'does', 'do')}, of median correlation {rotated['median']:.2f} and"
            f" at most {rotated['max']:.2f}"
        )
    return [
        f"{counted(pairs, 'unit recurs', 'units recur')}{alike}. With shuffled stimuli the best"
        f" pair reaches {best:.2f}.",
        f"With the second model in a random basis {control}.",
        _layers_said(table[(table["basis"] == AS_IS) & table["recurs"]]),
        BASIS,
    ]


def _layers_said(pairs: pd.DataFrame) -> str:
    most = pairs.groupby(["layer_x", "layer_y"]).size().sort_values(ascending=False).head(3)
    places = [f"{x} and {y} ({number})" for (x, y), number in most.items()]
    return f"Most of them lie in layers {listed(places)}, counted from 0."


def _points(share: float) -> str:
    """Return a difference of shares in percentage points."""
    return f"{100 * share:+.1f} points".replace("-", "−")


def _range(low: float, high: float) -> str:
    """Return an interval of differences of shares, in percentage points."""
    return f"{100 * low:+.1f} to {100 * high:+.1f}".replace("-", "−")
