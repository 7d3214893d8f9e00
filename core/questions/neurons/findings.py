"""Which units recur, in plain sentences, whichever way it goes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from core.figures.numbers import counted, p_text, share_text
from core.questions.neurons.pairs import AS_IS, ROTATED, SHUFFLED
from core.questions.neurons.question import NeuronPairs, NeuronShare, NeuronTrend
from core.questions.neurons.trends import BEYOND, RECUR
from core.questions.sentences import listed
from core.statistics.intervals import LEVEL, pair_interval

SURE = 1 - LEVEL
Row = Mapping[Hashable, Any]
BASIS = (
    "A random basis keeps all kernels and makes no unit special: what recurs in it as often is a"
    " matter of directions that models share, not of single units."
)


def share_findings(_: NeuronShare, table: pd.DataFrame) -> list[str]:
    """Say what share of units recurs, and whether their counterparts are more alike than directions
    of a random basis are.
    """
    apart = table[~table["kin"].astype(bool)]
    if apart.empty:
        return ["Only models of one recipe or descent are here, so nothing is compared."]
    shares, alike = (apart[name].mean() for name in ("share", "alike"))
    return [
        f"Of the units that could, {share_text(shares)} recur in another model on average,"
        f" {share_text(apart['share'].min())} to {share_text(apart['share'].max())} over"
        f" {counted(len(apart), 'pair of models', 'pairs of models')}; in a random basis"
        f" {share_text(apart['rotated'].mean())} do.",
        f"A unit and its best counterpart in another model correlate by {alike:.3f} on average, a"
        f" unit and its best in a random basis of that model by"
        f" {apart['alike_rotated'].mean():.3f}: {_verdict(apart)}.",
        BASIS,
    ]


def _verdict(apart: pd.DataFrame) -> str:
    beyond = (apart["alike"] - apart["alike_rotated"]).to_numpy(float)
    numbers, models = pd.factorize(apart[["model_x", "model_y"]].to_numpy().ravel())
    low, high = pair_interval(beyond, *numbers.reshape(-1, 2).T, models=len(models))
    if low > 0:
        said = "single units are more alike than directions at random"
    elif high < 0:
        said = "single units are less alike than directions at random"
    else:
        said = "single units are not shown to be more alike than directions at random"
    span = f"; 95 % interval {_signed(low)} to {_signed(high)}, over models"
    return f"{said} ({_signed(beyond.mean())}{span if np.isfinite(low) else ''})"


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
    q_values = rows["q"].dropna()
    return (
        f"least {p_text(q_values.min(), 'q')}"
        if len(q_values)
        else "no line has recipes that differ"
    )


def _trend(row: Row) -> str:
    who = f"{row['modality']} models share units with {row['partners']} models"
    if not np.isfinite(row["p"]):
        return f"Whether better {who} more often cannot be tested: {row['reason']}."
    if row["q"] > SURE:
        return f"It is not shown here that better {who} more often ({_numbers(row)})."
    sense = "more" if row["rise"] > 0 else "less"
    return f"Better {who} {sense} often ({_numbers(row)})."


def _numbers(row: Row) -> str:
    span = _range(row["rise_low"] / 10, row["rise_high"] / 10)
    interval = f", 95 % interval {span}" if np.isfinite(row["rise_low"]) else ""
    return (
        f"{_points(row['rise'] / 10)} per 0.1 of competence{interval}, {p_text(row['q'], 'q')},"
        f" {row['recipes']:.0f} recipes"
    )


def pair_findings(_: NeuronPairs, table: pd.DataFrame) -> list[str]:
    """Say how many units of two models recur, how alike they are, and what a random basis gives."""
    if table.empty:
        return ["No two units of these models are each other's best."]
    x, y = table[["model_x", "model_y"]].iloc[0]
    counts = table[table["recurs"]].groupby("basis")["r"].agg(["count", "median", "max"])
    pairs = int(counts["count"].get(AS_IS, 0))
    if not pairs:
        return [f"No unit of {x} recurs in {y} beyond chance."]
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
        f"{counted(pairs, f'unit of {x} recurs', f'units of {x} recur')} in {y}{alike}. With"
        f" shuffled stimuli the best pair reaches {best:.2f}.",
        f"With {y} in a random basis {control}.",
        _layers_said(table[(table["basis"] == AS_IS) & table["recurs"]]),
        BASIS,
    ]


def _layers_said(pairs: pd.DataFrame) -> str:
    counts = pairs.groupby(["layer_x", "layer_y"]).size().reset_index(name="pairs")
    most = counts.sort_values("pairs", ascending=False, kind="stable").head(3).to_numpy()
    places = [f"{x} and {y} ({number} pairs)" for x, y, number in most]
    return f"Most lie in layers {listed(places)}, the first model's named first, counted from 0."


def _points(share: float) -> str:
    """Return a difference of shares in percentage points."""
    return f"{100 * share:+.1f} points".replace("-", "−")


def _range(low: float, high: float) -> str:
    """Return an interval of differences of shares, in percentage points."""
    return f"{100 * low:+.1f} to {100 * high:+.1f}".replace("-", "−")


def _signed(value: float) -> str:
    """Return a difference of correlations."""
    return f"{value:+.3f}".replace("-", "−")
