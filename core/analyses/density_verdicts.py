"""What the tables of caption levels say, in a sentence each, beside what the published work found.

Source of the published finding: Huh et al. 2024, figure 9: alignment with vision models rises with the words of the captions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from core.analyses.dispersion_verdicts import listed
from core.analyses.intervals import LEVEL


def tell_levels(trends: pd.DataFrame, titles: Mapping[str, str], *, turned: bool = False) -> str:
    """Say with which targets alignment rises with the number of words, by the adjusted p, and how the published work compares.

    trends: as `core.analyses.density.level_trends` gives it. titles: what a person calls each target. turned: whether low scores
    are aligned.
    """
    known = trends.dropna(subset="p_adjusted")
    if known.empty:
        return f"No trend can be told here: {next(iter(trends['reason']), 'nothing was compared')}."
    sure = known["p_adjusted"] < 1 - LEVEL
    better = -known["slope"] if turned else known["slope"]
    rises, falls = known[sure & (better > 0)], known[sure & (better < 0)]
    unsure = known.drop(index=[*rises.index, *falls.index])
    whole = len(rises) == len(known)
    parts = [
        _those("The more words a caption has, the better it aligns with {}", rises, titles),
        _those("It is the other way round for {}", falls, titles),
        _those("No trend can be told from chance for {}", unsure, titles),
        "The published work found a rise, too." if whole else "The published work found a rise throughout.",
    ]
    return " ".join(part for part in parts if part)


def tell_told(points: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """Say for how many levels alignment is higher in captions that tell most than in those that tell least, target by target.

    points: model_y, level, told, score, a row per bin, as `core.density.compare_told` gives them. Captions of one level have about
    as many words: what differs within it is what they tell.
    """
    ends = points.sort_values("told").groupby(["model_y", "level"], sort=False)["score"].agg(["first", "last", "size"])
    several = ends[ends["size"] > 1]
    if several.empty:
        return "Too few stimuli tell more or less at one level to say what that does."
    higher = (several["last"] > several["first"]).groupby("model_y", sort=False).agg(["sum", "size"])
    said = [f"{titles[str(name)]} ({row['sum']} of {row['size']} levels)" for name, row in higher.iterrows()]
    return (
        "Within one level, where captions are about equally long, those that tell most align better than those that tell least "
        f"with {listed(said)}."
    )


def _those(sentence: str, rows: pd.DataFrame, titles: Mapping[str, str]) -> str:
    if rows.empty:
        return ""
    return sentence.format(listed(_slope(row, titles) for row in rows.to_dict("records"))) + "."


def _slope(row: Mapping[Any, Any], titles: Mapping[str, str]) -> str:
    slope = f"{row['slope']:+.3f}".replace("-", "−")
    return f"{titles[row['model_y']]} ({slope} per doubling)"
