"""What the tables of caption levels show, in sentences, beside what the published work found.

Source of the published finding: Huh et al. 2024, figure 9: alignment with vision models rises with
the words of the captions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from core.questions.captions.question import CaptionAlignment, CaptionFacts
from core.questions.sentences import listed
from core.statistics.intervals import LEVEL

MOST_SLOPES = 3  # named one by one
CAVEAT = (
    "These are {models} language models of {families} families and the captions of one dataset: a"
    " quirk in how one level was written passes for a trend."
)


def alignment_findings(question: CaptionAlignment, table: pd.DataFrame) -> list[str]:
    """Say what the answer of `CaptionAlignment` shows."""
    trends = table.drop_duplicates("model_y")
    low_is_aligned = not question.comparison.spec.higher_is_more_aligned
    first, *others = level_sentences(trends, _titles(trends), low_is_aligned=low_is_aligned)
    paired = trends.dropna(subset="p_adjusted")
    if paired.empty:
        return [first, *others]
    models, families = paired["paired"].min(), paired["families"].min()
    return [first, CAVEAT.format(models=models, families=families), *others]


def facts_findings(_: CaptionFacts, table: pd.DataFrame) -> list[str]:
    """Say what the answer of `CaptionFacts` shows."""
    return facts_sentences(table, _titles(table))


def _titles(table: pd.DataFrame) -> dict[str, str]:
    return dict(zip(table["model_y"], table["title"], strict=True))


def level_sentences(
    trends: pd.DataFrame, titles: Mapping[str, str], *, low_is_aligned: bool = False
) -> list[str]:
    """Say with which targets alignment rises with the number of words, and how the published work
    compares.

    It rises or falls where the adjusted p is below .05, and the interval of the slope and the order
    of the levels lie on that side of 0, both. trends: as
    `core.questions.captions.trends.level_trends` gives it. titles: what a person calls each target.
    """
    tested = trends.dropna(subset="p_adjusted")
    if tested.empty:
        why = next(iter(trends["reason"]), "nothing was compared")
        return [f"No trend can be tested here: {why}."]
    sure = tested["p_adjusted"] < 1 - LEVEL
    up, down = (
        sure & (tested["low"] > 0) & (tested["rho"] > 0),
        sure & (tested["high"] < 0) & (tested["rho"] < 0),
    )
    rises, falls = (tested[down], tested[up]) if low_is_aligned else (tested[up], tested[down])
    sentences = [
        _those("The more words a caption has, the better it aligns with {}", rises, titles),
        _those("The more words a caption has, the worse it aligns with {}", falls, titles),
        _those("The trend cannot be distinguished from chance for {}", tested[~sure], titles),
        _those(
            "Levels differ for {}, but it is undecided whether alignment rises or falls: the"
            " interval of the slope and the order of the levels disagree",
            tested[sure & ~up & ~down],
            titles,
        ),
        (
            "The published work found a rise, too."
            if len(rises) == len(tested)
            else "The published work found a rise throughout."
        ),
    ]
    return [sentence for sentence in sentences if sentence]


def facts_sentences(points: pd.DataFrame, titles: Mapping[str, str]) -> list[str]:
    """Say with which targets captions of one level that tell more align better: at every level, at
    none, or at some.

    points: model_y, level, facts, score, stimuli, a row per bin, as
    `core.questions.captions.answer.bin_facts` gives them. Captions of one level have about as many
    words: what differs within it is what they tell. A level's direction is the sign of the slope
    over its stimuli, by least squares over the bins with as much weight as they hold stimuli. Bins
    without a score are left out, and counted.
    """
    scored = points.dropna(subset="score")
    several = scored[scored.groupby(["model_y", "level"])["facts"].transform("size") > 1]
    if several.empty:
        return ["Within a level, too few captions differ in how much they tell to compare them."]
    parts = _directions(several, titles)
    left_out = len(points) - len(scored)
    return [
        "Compare captions of one level, which are about equally long, by how much they tell. Those"
        f" that tell more {'; '.join(parts)}.",
        "This describes these stimuli; it is not a test.",
        *(
            [f"Groups of stimuli left out because they have no score: {left_out}."]
            if left_out
            else []
        ),
    ]


def _directions(bins: pd.DataFrame, titles: Mapping[str, str]) -> list[str]:
    """Return with which targets alignment rises, falls, stays or varies with what captions tell."""
    slopes = pd.Series(
        {key: _tilt(level) for key, level in bins.groupby(["model_y", "level"], sort=False)}
    )
    signs = pd.DataFrame({"better": slopes > 0, "worse": slopes < 0, "levels": 1})
    table = signs.groupby(level=0, sort=False).sum()
    rises, falls = table["better"] == table["levels"], table["worse"] == table["levels"]
    flat = table["better"] + table["worse"] == 0
    parts = [
        _counted("align better at every level with {}", table[rises], titles),
        _counted("align worse at every level with {}", table[falls], titles),
        _counted("align neither better nor worse with {}", table[flat], titles),
        _counted(
            "show no consistent direction across levels with {}",
            table[~rises & ~falls & ~flat],
            titles,
        ),
    ]
    return [part for part in parts if part]


def _tilt(bins: pd.DataFrame) -> float:
    """Return the slope of a level's scores over the share told, up to a factor above 0."""
    middle = (bins["facts"] * bins["stimuli"]).sum() / bins["stimuli"].sum()
    return float(((bins["facts"] - middle) * bins["stimuli"] * bins["score"]).sum())


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
    return sentence.format(_with_slopes(rows, titles)) + "." if len(rows) else ""


def _with_slopes(rows: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """Name targets with their slopes; of many, the least and the greatest."""
    named = [(titles[row["model_y"]], _slope(row)) for row in rows.to_dict("records")]
    if len(named) <= MOST_SLOPES:
        return listed(f"{name} ({slope})" for name, slope in named)
    slopes = rows["slope"].to_numpy()
    (least, first), (most, last) = named[slopes.argmin()], named[slopes.argmax()]
    names = listed(name for name, _ in named)
    return f"{names} (least with {least}, {first}; most with {most}, {last})"


def _slope(row: Mapping[Any, Any]) -> str:
    slope, low, high = (f"{row[name]:+.3f}".replace("-", "−") for name in ("slope", "low", "high"))
    return f"{slope} per doubling, 95 % {low} to {high}"
