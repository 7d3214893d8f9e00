"""What dispersion says, a row per figure: the effect on alignment, both supplements, and what
predicts dispersion.
"""

from __future__ import annotations

import pandas as pd

from core.questions.dispersion.set_effects import ALL

COLUMNS = ("finding", "group", "value", "low", "high", "p", "reason")
MOST_PREDICTORS = 10
HELD_OUT = {
    "pearson": "shuffled_p",
    "shuffled": "",
    "partial": "",
    "spearman": "",
}  # and the p that tests it
NO_DIRECTION = "groups have no correlation"


def score_rows(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return a row per vision space and set: the metric's mean over the language models."""
    means = table[table["language"] == ALL]
    return means.assign(finding=f"{metric} " + means["set"]).rename(
        columns={"vision": "group", "score": "value"}
    )


def correlation_rows(fits: pd.DataFrame) -> pd.DataFrame:
    """Return a row per correlation and space held out."""
    return pd.concat([_correlations(fits, kind, p) for kind, p in HELD_OUT.items()])


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


def predictor_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return R² of predicting dispersion, then the importance of the most important predictors, and
    the test of each alone.
    """
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
