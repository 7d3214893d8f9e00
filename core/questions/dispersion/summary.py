"""What dispersion says, a row per figure: the effect on alignment, both supplements, and what
predicts dispersion.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.progress import Progress
from core.questions.dispersion.explanation import explain
from core.questions.dispersion.set_effects import ALL
from core.questions.dispersion.trials import FULL, Trial, drop, effect
from core.study.consensus import held_out_fits
from core.study.study import Study

COLUMNS = ("finding", "group", "value", "low", "high", "p", "reason")
MOST_PREDICTORS = 10
HELD_OUT = {
    "pearson": "shuffled_p",
    "shuffled": "",
    "partial": "",
    "spearman": "",
}  # and the p that tests it
NO_DIRECTION = "groups have no correlation"


def dispersion_findings(
    study: Study,
    spaces: Sequence[str],
    *,
    size: int,
    trial: Trial | None = None,
    report: Progress | None = None,
) -> pd.DataFrame:
    """Return every figure in one table: finding, group, value, low, high (95 %), p, reason.

    Of each vision space, over all language models: the metric on sets of `size`, and without a
    quarter of the stimuli. Where there are three spaces, of the others' dispersion with its own
    deviation: Pearson's r, with p one-sided against its stimuli shuffled, the mean of r where they
    are, r given the norm of the consensus, and Spearman's ρ. Then R² of predicting dispersion, the
    importance of the predictors of most, and of each the test of it alone, whose p is adjusted for
    the false discovery rate. Raises as `effect`, `drop`, `held_out` and `explain`.
    """
    trial = trial or Trial()
    tables = [_scores(effect(study, spaces, size=size, trial=trial, report=report), trial.metric)]
    dropped = _scores(drop(study, spaces, trial=trial, report=report), trial.metric)
    tables.append(dropped[dropped["finding"] != f"{trial.metric} {FULL}"])  # the effect has it
    if len(spaces) > 2:
        fits = held_out_fits(study, spaces, centering=trial.centering, report=report)
        tables += [_correlations(fits, kind, p) for kind, p in HELD_OUT.items()]
    tables.append(
        _predictors(explain(study, spaces, by=trial.by, centering=trial.centering, report=report))
    )
    return pd.concat(tables, ignore_index=True)[list(COLUMNS)]


def _scores(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    means = table[table["language"] == ALL]
    return means.assign(finding=f"{metric} " + means["set"]).rename(
        columns={"vision": "group", "score": "value"}
    )


def _correlations(fits: pd.DataFrame, kind: str, p: str) -> pd.DataFrame:
    named = fits.rename(
        columns={
            "space": "group",
            kind: "value",
            p: "p",
            f"{kind}_low": "low",
            f"{kind}_high": "high",
        }
    )
    return named.reindex(columns=["group", "value", "low", "high", "p"]).assign(
        finding=f"held out, {kind}", reason=""
    )


def _predictors(table: pd.DataFrame) -> pd.DataFrame:
    single = table[(table["covers"] == 1) & table["importance"].notna()].head(MOST_PREDICTORS)
    named = single.assign(group=single["kind"] + ": " + single["predictor"])
    first = table.iloc[0]
    whole = (
        "R2 of dispersion",
        "all predictors",
        first["r2"],
        first["r2_low"],
        first["r2_high"],
        float("nan"),
        "",
    )
    rows = named.assign(finding="importance", value=named["importance"], p=float("nan"))
    alone = named.assign(
        finding="alone, " + named["test"],
        value=named["spearman"],
        low=float("nan"),
        high=float("nan"),
        p=named["p_adjusted"],
        reason=named["spearman"].isna().map({True: NO_DIRECTION, False: ""}),
    )
    tables = [
        pd.DataFrame([whole], columns=list(COLUMNS)),
        rows[list(COLUMNS)],
        alone[list(COLUMNS)],
    ]
    return pd.concat(tables, ignore_index=True)
