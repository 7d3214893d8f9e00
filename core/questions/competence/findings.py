"""What the tables of competence and alignment say, in a sentence each, beside what the published
work found on real models.

Source of the published findings: Huh et al. 2024, figures 2 and 4: models that solve more of VTAB's
tasks are more aligned with each other; language models more aligned with DINOv2 score higher, on
HellaSwag along a line, on GSM8K only from a point on.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from core.competence.records import BITS
from core.encoders.encoder import REALITY
from core.figures.numbers import p_text
from core.questions.competence.prediction import Prediction, predict
from core.questions.competence.question import Bins, Downstream, Grouping, Training
from core.statistics.correlations import SURE, Correlation
from core.statistics.nulls import adjust
from core.study.models import open_because

MANY = 20  # models
GROUPS: Mapping[Grouping, str] = {
    "objective": "objectives",
    "family": "families",
    "group": "groups",
    "size": "sizes",
}


def bin_findings(question: Bins, table: pd.DataFrame) -> list[str]:
    """Say for each kind of pairs whether better models agree more."""
    turned = not question.comparison.spec.higher_is_more_aligned
    return [describe_bins(table, pair_kinds(question.binning.by), turned=turned)]


def score_findings(question: Downstream, table: pd.DataFrame) -> list[str]:
    """Say whether aligned models score better, and by more than their sizes predict."""
    prediction = predict(table)
    low_aligned = not question.comparison.spec.higher_is_more_aligned
    low_better = bool((table["unit"] == BITS).any())
    said = describe_score(prediction, low_aligned=low_aligned, low_better=low_better)
    opened = open_because(table, table["model"])
    return [f"This is open, since {opened}. {said}" if opened else said]


def training_findings(question: Training, table: pd.DataFrame) -> list[str]:
    """Say in how many trainings alignment grows."""
    return [describe_training(table, turned=not question.comparison.spec.higher_is_more_aligned)]


def pair_kinds(by: Grouping) -> dict[str, str]:
    """Return what to call the pairs of models of each panel, by pairs_of. by: what groups them."""
    return {"all": "all pairs", "same": f"both of one {by}", "different": f"across {GROUPS[by]}"}


def describe_bins(table: pd.DataFrame, kinds: Mapping[str, str], *, turned: bool = False) -> str:
    """Say for each kind of pairs whether better models agree more, and what the published work
    found.

    A trend is judged by q, its p adjusted for being one test of several. table: as
    `core.questions.competence.answer.bin_models` returns it. kinds: what to call the pairs, by
    pairs_of. turned: low scores mean aligned.
    """
    if table.empty:
        return "No model's competence was measured, so there are no bins."
    trends = table.drop_duplicates("pairs_of")
    rows = {
        row["pairs_of"]: row
        for row in trends.assign(q=adjust(trends["p"].to_numpy(float))).to_dict("records")
    }
    trend = "; ".join(f"{kinds[kind]}: {_direction(rows[kind], turned=turned)}" for kind in kinds)
    tests = (
        f"q is p adjusted for {count} tests of one question. "
        if (count := int(trends["p"].notna().sum())) > 1
        else ""
    )
    groups = int(trends["groups"].iloc[0])
    caution = (
        f"p treats {groups} {'group' if groups == 1 else 'groups'} as independent; where groups are"
        " alike, it is too small."
    )
    return (
        f"Among vision models, by {table['basis'].iloc[0]}: {trend}. {tests}The published work"
        f" found that, of 78 models, better ones agree more. {caution}"
    )


def _direction(row: Mapping[Hashable, Any], *, turned: bool) -> str:
    if pd.isna(row["p"]):
        return f"no trend, since {row['trend_reason']}"
    slope = f"slope {row['slope']:+.2f} from 0 to 1".replace("-", "−")
    numbers = f"{slope}, {p_text(row['p'])}, {p_text(row['q'], 'q')}"
    if row["q"] > SURE:
        return f"no significant trend ({numbers})"
    if row["trend_reason"]:
        return f"open ({numbers}), since {row['trend_reason']}"
    return f"better models agree {'more' if (row['slope'] > 0) != turned else 'less'} ({numbers})"


def describe_score(
    prediction: Prediction, *, low_aligned: bool = False, low_better: bool = False
) -> str:
    """Say whether aligned models score better, whether that is more than their sizes tell, and
    which fit tells models left out.

    low_aligned: low scores of the metric mean aligned. low_better: low values of the score are
    better.
    """
    turned = low_aligned != low_better
    order, partial = prediction.order, prediction.partial
    sense = _sense(order, turned=turned)
    return " ".join(
        (
            _order(order, sense),
            _partial(partial, _sense(partial, turned=turned), said=sense),
            _fits(prediction.fits, low_aligned=low_aligned, turned=turned),
        )
    )


def _sense(correlation: Correlation, *, turned: bool) -> str:
    """Return "better" or "worse" for what more aligned models score; "" where it is not sure."""
    if not correlation.sure:
        return ""
    return "better" if (correlation.value > 0) != turned else "worse"


def _order(order: Correlation, sense: str) -> str:
    if np.isnan(order.low):
        return f"Whether alignment goes with the score is unknown: {order.reason}."
    if sense:
        return f"More aligned models score {sense} ({_span(order, 'ρ')})."
    return f"Alignment and score show no significant correlation ({_span(order, 'ρ')})."


def _partial(partial: Correlation, sense: str, *, said: str) -> str:
    """Say what size leaves unexplained; said: what was said of the score before."""
    if pd.isna(partial.value):
        return f"What the models' sizes leave unexplained is unknown: {partial.reason}."
    if partial.reason:
        return f"Given a line in log size, {partial.reason} (r = {partial.value:.2f})."
    span = _span(partial, "r")
    if sense:
        more = (
            "That is more than a line in log size predicts: given"
            if said == sense
            else "Given a line in log"
        )
        return f"{more} size, more aligned ones score {sense} ({span})."
    predicts = (
        "A line in log size may predict as much: given it," if said else "Given a line in log size,"
    )
    return f"{predicts} no significant correlation is left ({span})."


def _fits(fits: pd.DataFrame, *, low_aligned: bool, turned: bool) -> str:
    if fits["reason"].any():
        return f"A line and a broken stick cannot be compared: {fits['reason'].iloc[0]}."
    line, stick = fits.set_index("fit").loc[["line", "broken stick"]].to_dict("records")
    few, models = line["points"] < MANY, f"{line['points']} models"
    errors = f"error {stick['cv_rmse']:.3g} against {line['cv_rmse']:.3g}"
    if stick["gain"] <= stick["gain_se"]:
        better = (
            "better, but not by more than one standard error" if stick["gain"] > 0 else "no better"
        )
        none = (
            f"no sign of emergence{f', though {models} are too few to rule it out' if few else ''}"
        )
        return f"A broken stick predicts left-out models {better} than a line ({errors}): {none}."
    gain = (
        "A broken stick predicts left-out models better than a line, by more than one standard"
        f" error ({errors})"
    )
    if _emerges(
        stick["slope"], stick["slope"] + stick["bend"], low_aligned=low_aligned, turned=turned
    ):
        bend = f"{'may improve' if few else 'improves'} more steeply"
    else:
        bend = (
            f"{'may bend' if few else 'bends'}, but not into a steeper improvement, which is not"
            " emergence"
        )
    where = f"beyond an alignment of {stick['knot']:.3g} the score {bend}"
    return (
        f"{gain}; {models} are too few to rule out luck, but {where}."
        if few
        else f"{gain}: {where}."
    )


def _emerges(left: float, right: float, *, low_aligned: bool, turned: bool) -> bool:
    """Return whether the score improves with alignment beyond the knot, and more than it changes
    before, by the slopes beside it.
    """
    early, late = (right, left) if low_aligned else (left, right)
    return bool((-late if turned else late) > abs(early))


def describe_training(table: pd.DataFrame, *, turned: bool = False) -> str:
    """Say for each target in how many trainings the last checkpoint is more aligned than the first.

    A training counts for a target with which both its checkpoints have a score. table: as
    `core.questions.competence.answer.follow_training` returns it. turned: low scores mean aligned.
    """
    scores = table.pivot(index=["run", "step"], columns="target", values="score")
    ends = table.groupby("run")["step"].agg(["min", "max"]).query("min < max")
    first, last = (
        scores.reindex(list(zip(ends.index, ends[end], strict=True))).reset_index(drop=True)
        for end in ("min", "max")
    )
    both = (last - first).notna().sum()
    rising = (last < first if turned else last > first).sum()
    parts = [
        f"with {target} in {rising[target]} of {both[target]} trainings"
        for target in dict.fromkeys(table["target"])
        if both[target]
    ]
    if not parts:
        return "No training has two checkpoints to compare."
    parts.sort(key=lambda part: not part.startswith(f"with {REALITY}"))
    return f"The last checkpoint is more aligned than the first {', '.join(parts)}."


def _span(correlation: Correlation, name: str) -> str:
    low, high = correlation.low, correlation.high
    numbers = f"{correlation.value:.2f}, 95 % interval {low:.2f} to {high:.2f}"
    return f"{name} = {numbers}, {correlation.n} models".replace("-", "−")
