"""Trainings on levels of competence, size, number of tasks or amount of data, the alignment of
models on one level and between two, and the test of each claim of the hypothesis.

Source: Huh et al. 2024, sections 2 and 3 and figure 2: competence, scale, and the multitask
scaling, the capacity and the simplicity bias hypothesis; after Tolstoy's Anna Karenina.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd
from jaxtyping import Float32, Float64

from core.errors import MetricError
from core.figures.numbers import counted
from core.modalities import find_modality
from core.spaces.bases import effective_rank
from core.statistics.nulls import adjust
from core.statistics.trends import (
    DealtTrend,
    Trainings,
    grid_means,
    level_trend,
    recipe_trend,
    weak_contrast,
)
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
ENDS = ("one", "other")  # two levels


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
    """Return the trainings that have a level, without those that vary in something else. Sizes are
    ordered by their median parameters; without names, they are thirds of these. skill: competence
    by model, cut into thirds of the recipes of each modality.
    """
    usual = trainings[trainings["varies"] == ""]
    if by == "tasks":
        rows = trainings[trainings["varies"] == TASKS]
        return _ordered(rows, "tasks", lambda count: counted(count, "task", "tasks"))
    if by == "data":
        less = trainings["varies"] == DATA
        varied = trainings[less | trainings["recipe"].isin(usual_of(trainings[less]))]
        return _ordered(
            join_lines(varied, DATA),
            "data",
            lambda share: "all of the data" if share == 1 else f"{share:.3g} of the data",
        )
    if by == "competence":
        return _thirds(usual, skill, SKILL_THIRDS)
    named = usual[usual["size"] != ""]
    if 2 * len(named) < len(usual):
        return _thirds(usual, usual.set_index("model")["parameters"], SIZE_THIRDS)
    sizes = list(named.groupby("size")["parameters"].median().sort_values().index)
    return Leveled(named, named["size"].map(sizes.index).to_numpy(float), sizes)


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


def _thirds(usual: pd.DataFrame, values: pd.Series, names: Sequence[str]) -> Leveled:
    """Cut recipes into thirds of the mean over their seeds, within their modality."""
    by = ["modality", "recipe"]
    every = usual.assign(value=usual["model"].map(values))
    rows = every[every.groupby(by)["value"].transform("count") > 0]
    means = rows.groupby(by)["value"].mean()
    place = np.ceil(3 * means.groupby("modality").rank(pct=True)) - 1
    levels = [place[of] for of in zip(rows["modality"], rows["recipe"], strict=True)]
    return Leveled(rows, np.array(levels, dtype=float), names)


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
    return Trainings(
        np.where(of_kind, scores, np.nan),
        leveled.levels / max(len(leveled.names) - 1, 1),
        pd.factorize(rows["recipe"])[0],
        pd.factorize(rows["line"])[0],
        kinship(rows),
    )


def measure_levels(
    leveled: Leveled, pairs: pd.DataFrame, kind: Kind, *, between: bool, draws: int, seed: int
) -> pd.DataFrame:
    """Return `core.statistics.trends.grid_means` of the pairs of a kind, levels by name, with the
    test of them: the contrast of weak models if pairs are between levels, else the rise.
    """
    arranged = arrange(leveled, pairs, kind)
    means = grid_means(arranged, same=not between)
    if means.empty:
        return means
    places = {end: (means[end] * (len(leveled.names) - 1)).round().astype(int) for end in ENDS}
    named = {end: [leveled.names[place] for place in places[end]] for end in ENDS}
    test = (weak_contrast if between else level_trend)(arranged, draws=draws, seed=seed)
    about = {"pairs_of": kind, "p": test.p, "reason": test.reason}
    if between:
        about |= {"contrast": test.rise, "low": test.low, "high": test.high}
        return means.assign(**named, **about)
    about |= {"rise": test.rise, "rise_low": test.low, "rise_high": test.high}
    return means.assign(level=named["one"], place=places["one"], **about)


SWEPT = ("weight decay", "width")
RANKS = 10  # effective ranks: the unit of the claim about simplicity
CLAIMS = {
    "competence": "More competent models are more similar",
    "capacity": "Larger models are more similar",
    "multitask": "Models of more tasks are more similar",
    "data": "Models of more data are more similar",
    "simplicity": "Simpler representations are more similar",
    "anna karenina": "Weak models are less similar to each other",
}
NO_MODELS = "no models here differ in this alone"


@dataclass(frozen=True)
class Material:
    """What all tests are made from.

    last_layer: reads the last space of a model. trainings: rows of `describe_trainings`. pairs: of
    `ModelPairs`. skill: competence by model. draws, seed: of the permutations. toward: 1 if higher
    scores mean more aligned, −1 if lower ones do.
    """

    last_layer: Callable[[str], Float32[np.ndarray, "n d"]]
    trainings: pd.DataFrame
    pairs: pd.DataFrame
    skill: pd.Series
    draws: int
    seed: int
    toward: int = 1


def run_tests(of: Material) -> pd.DataFrame:
    """Return the test of each claim, which was fixed before any was run: hypothesis, claim, unit,
    value (positive as predicted), low, high, p, q (adjusted over all), n (recipes), pairs, reason.
    """
    leveled = put_on_levels(of.trainings, "competence", of.skill)
    weak = weak_contrast(arrange(leveled, of.pairs, "all"), draws=of.draws, seed=of.seed)
    weak = replace(weak, recipes=leveled.rows["recipe"].nunique(), pairs=0)
    tests = {
        "competence": ("least to most competent", _leveled(of, "competence", "all"), 1),
        "capacity": ("smallest to largest", _leveled(of, "size", "all"), 1),
        "multitask": ("fewest to most tasks, vision", _leveled(of, "tasks", "vision"), 1),
        "data": ("least to most data, vision with language", _leveled(of, "data", "across"), 1),
        "simplicity": (f"per {RANKS} effective ranks less", _simplicity(of), -RANKS),
        "anna karenina": ("than to strong ones", weak, -1),
    }
    rows = []
    for hypothesis, (unit, trend, sign) in tests.items():
        scale = sign * of.toward
        low, high = sorted((scale * trend.low, scale * trend.high))
        rows.append(
            {
                "hypothesis": hypothesis,
                "claim": CLAIMS[hypothesis],
                "unit": unit,
                "value": scale * trend.rise if np.isfinite(trend.p) else np.nan,
                "low": low,
                "high": high,
                "p": trend.p,
                "n": trend.recipes,
                "pairs": trend.pairs,
                "reason": trend.reason or ("" if trend.recipes else NO_MODELS),
            }
        )
    table = pd.DataFrame(rows)
    table.insert(table.columns.get_loc("p") + 1, "q", adjust(table["p"].to_numpy(float)))
    return table


def _simplicity(of: Material) -> DealtTrend:
    """Return how the mean alignment with the usual models of other lines rises with the effective
    rank of the last layer, over recipes in sweeps of weight decay or width.
    """
    rows = pd.concat([_sweep(of.trainings, what) for what in SWEPT], ignore_index=True)
    lines = {line.rpartition(", ")[0] for line in rows["line"]}
    usual = of.trainings[(of.trainings["varies"] == "") & ~of.trainings["line"].isin(lines)]
    if rows.empty or usual.empty:
        return DealtTrend()
    names = list(dict.fromkeys([*rows["model"], *usual["model"]]))
    scores = pd.DataFrame(score_matrix(of.pairs, names), index=names, columns=names)
    near = scores.loc[rows["model"], usual["model"]].mean(axis=1).to_numpy(float)
    ranks = {}
    for name in dict.fromkeys(rows["model"]):
        try:
            ranks[name] = effective_rank(of.last_layer(name))
        except MetricError:
            ranks[name] = np.nan
    measured = rows.assign(value=near, over=rows["model"].map(ranks).astype(float))
    means = measured.groupby(["recipe", "line"], as_index=False)[["value", "over"]].mean()
    return recipe_trend(
        means["value"].to_numpy(float),
        means["over"].to_numpy(float),
        pd.factorize(means["line"])[0],
        draws=of.draws,
        seed=of.seed,
    )


def _leveled(of: Material, by: By, kind: Kind) -> DealtTrend:
    leveled = put_on_levels(of.trainings, by, of.skill)
    return level_trend(arrange(leveled, of.pairs, kind), draws=of.draws, seed=of.seed)


def _sweep(trainings: pd.DataFrame, what: str) -> pd.DataFrame:
    """Return the trainings that vary in one thing with the usual ones that they vary from, in one
    line.
    """
    varied = trainings[trainings["varies"] == what]
    usual = trainings[trainings["recipe"].isin(usual_of(varied))]
    rows = join_lines(pd.concat([varied, usual]), what)
    return rows.assign(recipe=rows["recipe"] + f", {what}")
