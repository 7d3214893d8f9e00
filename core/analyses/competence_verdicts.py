"""What the tables of competence and alignment say, in a sentence each, beside what the published work found on real models.

Source of the published findings: Huh et al. 2024, figures 2 and 4: models that solve more of VTAB's tasks are more aligned with
each other; language models more aligned with DINOv2 score higher, on HellaSwag along a line, on GSM8K only from a point on.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from core.analyses.correlations import Correlation
from core.analyses.discoveries import adjust
from core.encoders.encoder import REALITY

SURE = 0.05
MANY = 20  # models


def tell_bins(table: pd.DataFrame, kinds: Mapping[str, str], *, turned: bool = False) -> str:
    """Say for each kind of pairs whether better models agree more, and what the published work found.

    A trend is told by q, its p adjusted for being one test of several. table: as `core.studies.mapping.bin_models` gives it. kinds:
    what to call the pairs, by pairs_of. turned: low scores mean aligned.
    """
    trends = table.drop_duplicates("pairs_of")
    rows = {row["pairs_of"]: row for row in trends.assign(q=adjust(trends["p"].to_numpy(float))).to_dict("records")}
    told = "; ".join(f"{kinds[kind]}: {_direction(rows[kind], turned=turned)}" for kind in kinds)
    tests = f"q is p adjusted for {count} tests of one question. " if (count := int(trends["p"].notna().sum())) > 1 else ""
    caution = "Sizes and copies of one training are not independent, so that p is too small where they are among the models."
    return f"{told[:1].upper()}{told[1:]}. {tests}The published work found for 78 models that better ones agree more. {caution}"


def _direction(row: Mapping[Hashable, Any], *, turned: bool) -> str:
    if pd.isna(row["p"]):
        return f"no trend can be told, {row['trend_reason']}"
    numbers = f"slope {row['slope']:+.2f} from no task to all, p = {row['p']:.2g}, q = {row['q']:.2g}".replace("-", "−")
    if row["q"] > SURE:
        return f"no trend beyond doubt ({numbers})"
    return f"better models agree {'more' if (row['slope'] > 0) != turned else 'less'} ({numbers})"


def tell_score(order: Correlation, partial: Correlation, fits: pd.DataFrame, *, turned: bool = False) -> str:
    """Say whether aligned models score better, whether that is more than their sizes tell, and which fit tells models left out.

    order: Spearman's ρ. partial: given log size. fits: as `core.analyses.emergence.compare_fits` gives them. turned: of alignment
    and score, one is better where it is low.
    """
    return " ".join((_order(order, turned=turned), _partial(partial), _fits(fits)))


def _order(found: Correlation, *, turned: bool) -> str:
    if found.reason:
        return f"Whether alignment goes with the score cannot be told: {found.reason}."
    span, (low, high) = _span(found, "ρ"), (-found.high, -found.low) if turned else (found.low, found.high)
    if low > 0:
        return f"More aligned models score better ({span}), as in the published work."
    if high < 0:
        return f"More aligned models score worse ({span}), against the published work."
    return f"Alignment does not go with the score beyond doubt ({span}), against the published work."


def _partial(found: Correlation) -> str:
    if pd.isna(found.value):
        return f"What is left of it given the models' sizes cannot be told: {found.reason}."
    if found.reason:
        return f"Given their sizes, {found.reason} (r = {found.value:.2f})."
    if found.low > 0 or found.high < 0:
        return f"That is more than size alone tells ({_span(found, 'r')} given log size)."
    return f"Size alone may tell as much: given log size, nothing beyond doubt is left ({_span(found, 'r')})."


def _fits(fits: pd.DataFrame) -> str:
    if fits["reason"].any():
        return f"A line and a broken stick cannot be compared: {fits['reason'].iloc[0]}."
    line, stick = fits.set_index("fit").loc[["line", "broken stick"]].to_dict("records")
    few, models = line["points"] < MANY, f"{line['points']} models"
    if stick["cv_rmse"] >= line["cv_rmse"]:
        none = f"no sign of emergence, though {models} are too few to rule it out" if few else "no sign of emergence"
        errors = f"error {line['cv_rmse']:.3g} against {stick['cv_rmse']:.3g}"
        return f"A line tells models left out no worse than a broken stick ({errors}): {none}."
    bend = "steeper" if abs(stick["slope"] + stick["bend"]) > abs(stick["slope"]) else "flatter, which is no emergence"
    told = f"A broken stick tells models left out better than a line (error {stick['cv_rmse']:.3g} against {line['cv_rmse']:.3g})"
    where = f"beyond an alignment of {stick['knot']:.3g} the score {'may get' if few else 'gets'} {bend}"
    return f"{told}; {models} are too few to tell it from luck, but {where}." if few else f"{told}: {where}."


def tell_training(table: pd.DataFrame, *, turned: bool = False) -> str:
    """Say for each target in how many trainings the last checkpoint is more aligned than the first.

    table: as `core.studies.mapping.follow_training` gives it. turned: low scores mean aligned.
    """
    parts = []
    for target, rows in table.groupby("target", sort=False):
        runs = rows.sort_values("step").groupby("run")["score"].agg(["first", "last", "count"]).query("count > 1")
        if len(runs):
            rising = int((runs["last"] < runs["first"] if turned else runs["last"] > runs["first"]).sum())
            parts.append(f"with {target} in {rising} of {len(runs)} trainings")
    if not parts:
        return "No training has two checkpoints to compare."
    parts.sort(key=lambda part: not part.startswith(f"with {REALITY}"))
    return f"The last checkpoint is more aligned than the first {', '.join(parts)}."


def _span(found: Correlation, name: str) -> str:
    return f"{name} = {found.value:.2f}, 95 % interval {found.low:.2f} to {found.high:.2f}, {found.n} models".replace("-", "−")
