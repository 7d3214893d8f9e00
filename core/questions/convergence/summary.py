"""All that the tables of convergence and the trends of alignment say, as one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from core.questions.convergence.fine_tuning import ALL
from core.questions.convergence.hypotheses import judge
from core.questions.convergence.levels import KINDS
from core.study.noise import ceiling_of

COLUMNS = ("about", "what", "value", "low", "high", "p", "q", "counted", "verdict", "reason")
COMPETENCE, THIRDS, TRENDS = "levels of competence", "Anna Karenina", "figure 3"
HYPOTHESIS, DECIDES = "hypothesis: ", " (decides)"


def summarize_levels(by: str, table: pd.DataFrame, toward: int = 1) -> pd.DataFrame:
    """Return a row per kind of pairs: the rise of alignment over levels.

    table: of `Levels`. toward: 1 where higher scores mean more aligned, −1 where lower ones do.
    """
    recipes = table.groupby("pairs_of")["recipes"].sum()
    rows = table.drop_duplicates("pairs_of")
    return _rows(
        {
            "about": f"levels of {by}",
            "what": "rise of alignment, " + KINDS[row["pairs_of"]],
            "value": row["rise"],
            "low": row["rise_low"],
            "high": row["rise_high"],
            "p": row["p"],
            "counted": _recipes(int(recipes[row["pairs_of"]])),
            "verdict": judge(row["rise"], toward, row["p"]),
            "reason": row["reason"],
        }
        for row in rows.to_dict("records")
    )


def summarize_hypotheses(table: pd.DataFrame) -> pd.DataFrame:
    """Return a row per test; q, over the hypotheses, of those that decide. table: of
    `Hypotheses`.
    """
    return _rows(
        {
            "about": HYPOTHESIS + row["hypothesis"],
            "what": row["measured"] + DECIDES * bool(row["decides"]),
            **{name: row[name] for name in ("value", "low", "high", "verdict", "reason")},
            "p": row["p"],
            "q": row["q"] if row["decides"] else np.nan,
            "counted": _recipes(int(row["recipes"])),
        }
        for row in table.to_dict("records")
    )


def summarize_thirds(table: pd.DataFrame, toward: int = 1) -> pd.DataFrame:
    """Return a row per kind of pairs: what weak models share.

    table: of `AnnaKarenina`. toward: as of `summarize_levels`.
    """
    return _rows(
        {
            "about": THIRDS,
            "what": "weak with weak − weak with strong, " + KINDS[row["pairs_of"]],
            **{name: row[name] for name in ("low", "high", "p", "reason")},
            "value": row["contrast"],
            "verdict": judge(row["contrast"], -toward, row["p"]),
        }
        for row in table.drop_duplicates("pairs_of").to_dict("records")
    )


def summarize_trends(table: pd.DataFrame) -> pd.DataFrame:
    """Return a row per correlation of competence and alignment. table: of `Overview`."""
    trends = table[table["finding"].str.startswith("Spearman")]
    return _rows(
        {
            "about": TRENDS,
            "what": f"{row['finding']} {row['group']}".replace(", with", " with"),
            **{name: row[name] for name in ("value", "p", "reason")},
            "counted": f"{row['models']} models",
            "verdict": judge(row["value"], 1, row["p"]),
        }
        for row in trends.to_dict("records")
    )


def summarize_copies(table: pd.DataFrame) -> pd.DataFrame:
    """Return a row per kind of fine-tuned copies. table: of `FineTuned`."""
    return _rows(
        {
            "about": "fine-tuning",
            "what": f"change of alignment with language, {row['copies']}",
            **{name: row[name] for name in ("low", "high", "p", "reason")},
            "value": row["change"],
            "counted": f"{row['pairs']} models and copies",
        }
        for row in table[table["with"] == ALL].to_dict("records")
    )


def summarize_ceilings(table: pd.DataFrame, chance: float) -> pd.DataFrame:
    """Return chance and how alike two seeds are, by modality. table: of `Replicates`."""
    ceilings = [
        {
            "about": "ceiling",
            "what": f"alignment of two seeds of a recipe, {modality}",
            "value": ceiling_of(table, str(modality)),
            "counted": _recipes(len(rows)),
        }
        for modality, rows in table.groupby("modality")
    ]
    reason = "" if np.isfinite(chance) else "no formula gives it for this metric"
    what = "alignment of two layers of unrelated models"
    return _rows([{"about": "chance", "what": what, "value": chance, "reason": reason}, *ceilings])


def _recipes(count: int) -> str:
    return f"{count} recipes"


def _rows(rows: Iterable[Mapping[str, object]]) -> pd.DataFrame:
    numbers = dict.fromkeys(("value", "low", "high", "p"), np.nan)
    texts = dict.fromkeys(("counted", "verdict", "reason"), "")
    table = pd.DataFrame([numbers | texts | dict(row) for row in rows], columns=list(COLUMNS))
    return table.astype(dict.fromkeys(numbers, float))  # also of no rows
