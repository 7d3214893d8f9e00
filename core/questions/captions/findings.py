"""What the tables of caption levels say, in a sentence each, beside what the published work found.

Source of the published finding: Huh et al. 2024, figure 9: alignment with vision models rises with
the words of the captions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from core.questions.dispersion.findings import listed
from core.statistics.intervals import LEVEL


def tell_levels(trends: pd.DataFrame, titles: Mapping[str, str], *, turned: bool = False) -> str:
    """Say with which targets alignment rises with the number of words, and how the published work
    compares.

    It rises or falls where the adjusted p is below .05, and the interval of the slope and the order
    of the levels lie on that side of 0, both. trends: as
    `core.questions.captions.trends.level_trends` gives it. titles: what a person calls each target.
    turned: whether low scores are aligned.
    """
    known = trends.dropna(subset="p_adjusted")
    if known.empty:
        return f"No trend can be told here: {next(iter(trends['reason']), 'nothing was compared')}."
    sure = known["p_adjusted"] < 1 - LEVEL
    up, down = (
        sure & (known["low"] > 0) & (known["rho"] > 0),
        sure & (known["high"] < 0) & (known["rho"] < 0),
    )
    rises, falls = (known[down], known[up]) if turned else (known[up], known[down])
    parts = [
        _those("The more words a caption has, the better it aligns with {}", rises, titles),
        _those("The more words, the worse it aligns with {}", falls, titles),
        _those("No trend can be told from chance for {}", known[~sure], titles),
        _those(
            "Levels differ for {}, but whether alignment rises or falls is not decided: the"
            " interval of the slope and the order of the levels do not agree",
            known[sure & ~up & ~down],
            titles,
        ),
        (
            "The published work found a rise, too."
            if len(rises) == len(known)
            else "The published work found a rise throughout."
        ),
    ]
    return " ".join(part for part in parts if part)


def tell_told(points: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """Say with which targets captions of one level that tell more align better: at every level, at
    none, or at some.

    points: model_y, level, told, score, stimuli, a row per bin, as
    `core.questions.captions.answer.compare_told` gives them. Captions of one level have about as
    many words: what differs within it is what they tell. A level's direction is the sign of the
    slope over its stimuli, by least squares over the bins with as much weight as they hold stimuli.
    Bins without a score are left out, and said.
    """
    known = points.dropna(subset="score")
    several = known[known.groupby(["model_y", "level"])["told"].transform("size") > 1]
    if several.empty:
        return "Too few stimuli tell more or less at one level to say what that does."
    slopes = pd.Series(
        {key: _tilt(bins) for key, bins in several.groupby(["model_y", "level"], sort=False)}
    )
    signs = pd.DataFrame({"better": slopes > 0, "worse": slopes < 0, "levels": 1})
    table = signs.groupby(level=0, sort=False).sum()
    rises, falls = table["better"] == table["levels"], table["worse"] == table["levels"]
    flat = table["better"] + table["worse"] == 0
    parts = [
        _counted("they align better at every level with {}", table[rises], titles),
        _counted("they align worse at every level with {}", table[falls], titles),
        _counted("they align neither better nor worse with {}", table[flat], titles),
        _counted(
            "nothing is decided, since levels do not agree, for {}",
            table[~rises & ~falls & ~flat],
            titles,
        ),
    ]
    unknown = len(points) - len(known)
    return (
        "Within one level, where captions are about equally long, take those that tell more:"
        f" {'; '.join(part for part in parts if part)}. This describes these stimuli and tests"
        " nothing."
        + (f" Groups of stimuli without a score, which are left out: {unknown}." if unknown else "")
    )


def _tilt(bins: pd.DataFrame) -> float:
    """Return the slope of a level's scores over the share told, up to a factor above 0."""
    middle = (bins["told"] * bins["stimuli"]).sum() / bins["stimuli"].sum()
    return float(((bins["told"] - middle) * bins["stimuli"] * bins["score"]).sum())


def _counted(sentence: str, rows: pd.DataFrame, titles: Mapping[str, str]) -> str:
    if rows.empty:
        return ""
    counts = zip(rows.index, rows["better"], rows["levels"], strict=True)
    return sentence.format(
        listed(
            f"{titles[name]} (better at {better} of {levels})" for name, better, levels in counts
        )
    )


def _those(sentence: str, rows: pd.DataFrame, titles: Mapping[str, str]) -> str:
    if rows.empty:
        return ""
    return sentence.format(listed(_slope(row, titles) for row in rows.to_dict("records"))) + "."


def _slope(row: Mapping[Any, Any], titles: Mapping[str, str]) -> str:
    slope = f"{row['slope']:+.3f}".replace("-", "−")
    return f"{titles[row['model_y']]} ({slope} per doubling)"
