"""What the tables of colors say, in a sentence each, whichever way it goes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from core.questions.color.geometry.agreement import DISSIMILARITIES
from core.statistics.correlations import DEPENDENT, SURE, Correlation
from core.statistics.discoveries import adjust


def tell_perception(agreement: pd.DataFrame, perception: str) -> str:
    """Say which sources have colors as perception has them, by Kendall's τ of dissimilarities and
    its adjusted p.

    Pairs without either are left out. agreement: as `core.questions.color.answer.compare_colors`
    gives it. perception: what it is called there.
    """
    rows = _ranked(agreement)
    near = rows[(rows["x"] == perception) | (rows["y"] == perception)]
    near = near.assign(other=near["y"].where(near["x"] == perception, near["x"]))
    sure = near["p_adjusted"] < SURE
    parts = [
        _those(
            "Colors lie as perception has them, by more than chance, for {}.",
            near[sure & (near["value"] > 0)],
        ),
        _those("No perceptual geometry can be told from shuffled colors for {}.", near[~sure]),
    ]
    return " ".join(part for part in parts if part) or "Nothing could be compared with perception."


def tell_others(agreement: pd.DataFrame, perception: str) -> str:
    """Say how many pairs of other sources agree, and which two do most; "" where there is only one
    other.
    """
    rows = _ranked(agreement)
    rows = rows[(rows["x"] != perception) & (rows["y"] != perception)]
    if rows.empty:
        return ""
    first, sure = rows.iloc[0], int((rows["p_adjusted"] < SURE).sum())
    return (
        f"Without perception, {sure} of {len(rows)} pairs agree by more than chance; most alike are"
        f" {first['x']} and {first['y']} (τ {_number(first['value'])})."
    )


def tell_models(points: pd.DataFrame, by_competence: Correlation) -> str:
    """Say how many finished and how many untrained models know perception, and whether the more
    competent know it better.

    points: as `core.questions.color.answer.compare_models` gives them, with untrained: whether a
    model was never trained.
    """
    known = points.dropna(subset=["kendall", "kendall_p"])
    kinds = {
        "finished": ~known["copy"] & ~known["untrained"],
        "unfinished": known["copy"],
        "untrained": known["untrained"],
    }
    found = pd.Series(adjust(known["kendall_p"].to_numpy(np.float64)) < SURE, known.index)
    counts = [
        f"{int(found[rows].sum())} of {int(rows.sum())} {kind} models"
        for kind, rows in kinds.items()
        if rows.any()
    ]
    if not counts:
        return "No language model here can be asked for colors."
    limit = f"p < {SURE}, adjusted for {len(known)} models"
    return (
        f"Perception's order of color differences is found ({limit}) in {_listed(counts)}."
        f" {_trend(by_competence)}"
    )


def _trend(found: Correlation) -> str:
    if np.isnan(found.low):
        return f"Whether better ones know it better cannot be told: {found.reason}."
    better = "better" if found.value > 0 else "worse"
    answer = f"more competent ones know it {better}" if found.sure else "they do not tell apart"
    rho = f"Spearman {_number(found.value)}, {_number(found.low)} to {_number(found.high)}"
    return f"Among {found.n} finished models {answer} ({rho}, p = {found.p:.2g}). {DEPENDENT}"


def _ranked(agreement: pd.DataFrame) -> pd.DataFrame:
    rows = agreement[(agreement["of"] == DISSIMILARITIES) & (agreement["measure"] == "kendall")]
    return rows.dropna(subset=["value", "p_adjusted"]).sort_values(
        "value", ascending=False, kind="stable"
    )


def _those(sentence: str, rows: pd.DataFrame) -> str:
    if rows.empty:
        return ""
    return sentence.format(
        _listed(f"{row['other']} (τ {_number(row['value'])})" for row in rows.to_dict("records"))
    )


def _listed(items: Iterable[str]) -> str:
    *first, last = items
    return f"{', '.join(first)} and {last}" if first else last


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")
