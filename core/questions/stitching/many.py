"""Stitches of many models: what each pair loses on average over its layers, and what that says of
kinds of pairs and of better models.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float64

from core.progress import Progress
from core.questions.stitching.bench import LEAST, TRAINED
from core.questions.stitching.keeping import make_stitches
from core.questions.stitching.question import Fitting
from core.questions.stitching.roster import OTHER_SEED, SUPERVISED, Duo
from core.statistics.nulls import adjust
from core.statistics.trends import DealtTrend, recipe_trend
from core.study.study import Study

LOST, PENALTY, TOLD = "lost", "penalty", "lost, a supervised network goes on"
STEP = 0.1  # of competence, that a trend is told for: one task in ten
DUO_COLUMNS = ("kind", "x", "y", "pairs", LOST, PENALTY, "least_squares", "own", "score", "chance")


def measure_duos(
    study: Study, duos: Sequence[Duo], fitting: Fitting, report: Progress | None
) -> pd.DataFrame:
    """Return a row per pair of models: what is lost on average over the depths of its kind, by h as
    it is fitted, and by least squares alone.
    """
    rows = []
    for duo in duos:
        places = _places(study, duo)
        table = make_stitches(study, duo.x, duo.y, fitting, places)
        names = [LOST, PENALTY, "own", "score", "chance"]
        means = table.groupby("h")[names].mean()
        of_h = {name: means.loc[TRAINED, name] for name in names}
        named = {"kind": duo.kind, "x": duo.x, "y": duo.y, "pairs": len(places)}
        rows.append({**named, **of_h, "least_squares": means.loc[LEAST, LOST]})
        if report:
            report(len(rows), len(duos), "pairs of models stitched")
    return pd.DataFrame(rows, columns=list(DUO_COLUMNS))


def _places(study: Study, duo: Duo) -> list[tuple[int, int]]:
    last_x, last_y = (len(study.entry(name).card.layers) - 1 for name in (duo.x, duo.y))
    return list(dict.fromkeys((round(x * last_x), round(y * last_y)) for x, y in duo.depths))


def compare_kinds(rows: pd.DataFrame) -> pd.DataFrame:
    """Add to the rows of each kind the mean of `lost` over its pairs, with its 95 % interval by
    Student's t, and how it differs from another seed of one recipe: p of Welch's t-test, and q,
    adjusted for all kinds. NaN where a kind or its control has fewer than two pairs.
    """
    control = rows.loc[rows["kind"] == OTHER_SEED, LOST].to_numpy(float)
    kinds = dict(list(rows.groupby("kind", sort=False)[LOST]))
    p = {
        kind: _welch(values.to_numpy(float), control) if kind != OTHER_SEED else np.nan
        for kind, values in kinds.items()
    }
    q = dict(zip(p, adjust(np.array(list(p.values()), dtype=float)), strict=True))
    summaries = {kind: _mean(values.to_numpy(float)) for kind, values in kinds.items()}
    parts = pd.DataFrame(
        [(*summaries[kind], p[kind], q[kind]) for kind in rows["kind"]],
        columns=["mean", "low", "high", "p", "q"],
        index=rows.index,
    )
    return rows.join(parts)


def _mean(values: Float64[np.ndarray, " n"]) -> tuple[float, float, float]:
    from scipy.stats import t  # a third of a second

    mean = float(values.mean())
    if len(values) < 2 or not np.isfinite(mean):
        return mean, np.nan, np.nan
    reach = float(t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
    return mean, mean - reach, mean + reach


def _welch(values: Float64[np.ndarray, " n"], control: Float64[np.ndarray, " m"]) -> float:
    from scipy.stats import ttest_ind

    if min(len(values), len(control)) < 2 or not np.isfinite([*values, *control]).all():
        return np.nan
    if not (np.ptp(values) or np.ptp(control)):  # no spread to judge a difference by
        return np.nan
    return float(ttest_ind(values, control, equal_var=False).pvalue)


def trend_over_competence(rows: pd.DataFrame, *, draws: int, seed: int) -> pd.DataFrame:
    """Return the rows of each measure, as `value`, with its trend over competence.

    rows: of `measure_duos` with objective_x, objective_y, size and competence. Measures are what is
    lost, the penalty, and what is lost where a supervised network goes on: it was trained for its
    task, while others, whose heads are fitted to frozen features, gain from a lower network that
    knows more of theirs. A recipe here is two objectives at one size, the mean over its seeds and
    both ways; a line is two objectives in all sizes. rise: per STEP of competence, each line with a
    mean of its own; p, rise_low, rise_high: as of `core.statistics.trends.recipe_trend`,
    competence being dealt anew among the sizes of a line; q: p adjusted for all measures. Lines
    share models, so they are not quite independent.
    """
    supervised = rows[rows["objective_y"] == SUPERVISED]
    measures = {LOST: (rows, LOST), PENALTY: (rows, PENALTY), TOLD: (supervised, LOST)}
    trends = [_trend(*one, draws=draws, seed=seed) for one in measures.values()]
    q = adjust(np.array([trend.p for trend in trends], dtype=float))
    tables = [
        of_rows.drop(columns=[LOST, PENALTY]).assign(
            measure=measure,
            value=of_rows[column],
            rise=STEP * trend.rise,
            rise_low=STEP * trend.low,
            rise_high=STEP * trend.high,
            p=trend.p,
            q=one,
            recipes=trend.recipes,
            trend_reason=trend.reason,
        )
        for (measure, (of_rows, column)), trend, one in zip(
            measures.items(), trends, q, strict=True
        )
    ]
    return pd.concat([table for table in tables if len(table)], ignore_index=True)


def _trend(rows: pd.DataFrame, measure: str, *, draws: int, seed: int) -> DealtTrend:
    both = zip(rows["objective_x"], rows["objective_y"], strict=True)
    lines = [" and ".join(sorted(pair)) for pair in both]
    recipes = rows.assign(line=lines).groupby(["line", "size"], sort=False)
    means = recipes[[measure, "competence"]].mean().reset_index()
    return recipe_trend(
        means[measure].to_numpy(float),
        means["competence"].to_numpy(float),
        pd.factorize(means["line"])[0].astype(np.int64),
        draws=draws,
        seed=seed,
    )
