"""Trainings put on levels of competence, size, number of tasks or amount of data, and thirds of
competence compared with each other.

Source: Huh et al. 2024, section 2 and figure 2, after Tolstoy's Anna Karenina.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from jaxtyping import Float64

from core.figures.numbers import counted
from core.modalities import find_modality
from core.statistics.trends import Trainings, grid_means, weak_contrast
from core.study.layers import score_matrix
from core.study.trainings import kinship

By = Literal["competence", "size", "tasks", "data"]
Kind = Literal["all", "vision", "language", "across"]
KINDS: Mapping[Kind, str] = {
    "all": "all pairs",
    "vision": "vision",
    "language": "language",
    "across": "vision with language",
}
SKILL_THIRDS = ("least competent", "middle", "most competent")
SIZE_THIRDS = ("smallest", "middle", "largest")
TASKS, DATA = "tasks", "data"
THIRDS = (
    *("pairs_of", "one", "other", "mean", "adjusted", "recipes", "pairs"),
    *("contrast", "low", "high", "p", "reason"),
)


def kinds_to_show(table: pd.DataFrame) -> list[Kind]:
    """Return the kinds of pairs in a table with pairs_of and pairs; only the one kind if all
    pairs are of it.
    """
    counts = table.groupby("pairs_of")["pairs"].sum()
    same: list[Kind] = [kind for kind in KINDS if counts.get(kind) == counts.get("all", 0)]
    return same[1:] or [kind for kind in KINDS if kind in counts.index]


@dataclass(frozen=True)
class Leveled:
    """Trainings of which each lies on a level.

    rows: of `describe_trainings`. levels: the number of each row's level. names: of the levels, the
    lowest first.
    """

    rows: pd.DataFrame
    levels: Float64[np.ndarray, " m"]
    names: Sequence[str]


def put_on_levels(trainings: pd.DataFrame, by: By, skill: pd.Series) -> Leveled:
    """Return the trainings that have a level, with it.

    Those that vary in something else are left out: a model of few tasks says nothing of size.
    skill: competence by model, for `by` competence alone; a recipe's is the mean over its seeds,
    and thirds are taken within each modality.
    """
    usual = trainings[trainings["varies"] == ""]
    if by == "tasks":
        return _ordered(trainings[trainings["varies"] == TASKS], "tasks", _tasks)
    if by == "data":
        less = trainings["varies"] == DATA
        varied = trainings[less | trainings["recipe"].isin(usual_of(trainings[less]))]
        return _ordered(join_lines(varied, DATA), "data", _share)
    if by == "size":
        return _sized(usual)
    return _thirds(usual, skill, SKILL_THIRDS)


def arrange(leveled: Leveled, pairs: pd.DataFrame, kind: Kind) -> Trainings:
    """Return what `core.statistics.trends` compares: the scores of the pairs of a kind.

    pairs: of `ModelPairs`. Levels run from 0 to 1.
    """
    rows = leveled.rows
    scores = score_matrix(pairs, list(rows["model"]))
    reads = rows["modality"].map(lambda name: find_modality(name).reads).to_numpy(str)
    image, caption = reads == "image", reads == "caption"
    of_kind = {
        "all": np.ones_like(scores, dtype=bool),
        "vision": image[:, None] & image,
        "language": caption[:, None] & caption,
        "across": (image[:, None] & caption) | (caption[:, None] & image),
    }[kind]
    top = max(len(leveled.names) - 1, 1)
    return Trainings(
        np.where(of_kind, scores, np.nan),
        leveled.levels / top,
        pd.factorize(rows["recipe"])[0],
        pd.factorize(rows["line"])[0],
        kinship(rows),
    )


def usual_of(varied: pd.DataFrame) -> set[str]:
    """Return the usual recipes that these trainings vary from."""
    return {str(recipe).rpartition("-")[0] for recipe in varied["recipe"]}


def join_lines(varied: pd.DataFrame, what: str) -> pd.DataFrame:
    """Put usual recipes into the lines of those that vary from them in one thing."""
    line = varied["line"].where(varied["varies"] == what, varied["line"] + f", {what}")
    return varied.assign(line=line)


def _ordered(rows: pd.DataFrame, column: str, name: Callable[[float], str]) -> Leveled:
    values = sorted(rows[column].dropna().unique())
    kept = rows[rows[column].notna()]
    levels = kept[column].map({value: place for place, value in enumerate(values)})
    return Leveled(kept, levels.to_numpy(float), [name(value) for value in values])


def _tasks(count: float) -> str:
    return counted(count, "task", "tasks")


def _share(share: float) -> str:
    return "all of the data" if share == 1 else f"{share:.3g} of the data"


def _sized(usual: pd.DataFrame) -> Leveled:
    """Order by the name of the size; where most models have none, by thirds of their parameters."""
    named = usual[usual["size"] != ""]
    if 2 * len(named) < len(usual):
        return _thirds(usual, usual.set_index("model")["parameters"], SIZE_THIRDS)
    sizes = list(named.groupby("size")["parameters"].median().sort_values().index)
    return Leveled(named, named["size"].map(sizes.index).to_numpy(float), sizes)


def _thirds(usual: pd.DataFrame, values: pd.Series, names: Sequence[str]) -> Leveled:
    """Order recipes by the mean over their seeds that have a value, within their modality, and cut
    them into thirds.
    """
    by = ["modality", "recipe"]
    every = usual.assign(value=usual["model"].map(values))
    rows = every[every.groupby(by)["value"].transform("count") > 0]
    means = rows.groupby(by)["value"].mean()
    place = np.ceil(3 * means.groupby("modality").rank(pct=True)) - 1
    levels = [place[of] for of in zip(rows["modality"], rows["recipe"], strict=True)]
    return Leveled(rows, np.array(levels, dtype=float), names)


def compare_thirds(leveled: Leveled, pairs: pd.DataFrame, *, draws: int, seed: int) -> pd.DataFrame:
    """Return the rows of `AnnaKarenina`.

    one, other: the names of the two levels, the lower first. adjusted: see
    `core.statistics.trends.GridMean`. contrast, low, high, p, reason: the
    same in all rows of a kind of pairs, see `core.statistics.trends.weak_contrast`. pairs: of
    `ModelPairs`.
    """
    rows = [row for kind in KINDS for row in _rows(leveled, pairs, kind, draws=draws, seed=seed)]
    return pd.DataFrame(rows, columns=list(THIRDS))


def _rows(
    leveled: Leveled, pairs: pd.DataFrame, kind: Kind, *, draws: int, seed: int
) -> Iterator[tuple[object, ...]]:
    arranged = arrange(leveled, pairs, kind)
    contrast = weak_contrast(arranged, draws=draws, seed=seed)
    about = (contrast.value, contrast.low, contrast.high, contrast.p, contrast.reason)
    top = len(leveled.names) - 1
    for mean in grid_means(arranged):
        one, other = (leveled.names[round(level * top)] for level in (mean.low, mean.high))
        yield kind, one, other, mean.mean, mean.adjusted, mean.recipes, mean.pairs, *about
