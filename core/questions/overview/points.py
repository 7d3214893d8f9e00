"""The points of the Overview's plots."""

from __future__ import annotations

import pandas as pd

from core.encoders.encoder import REALITY
from core.statistics.intervals import mean_interval
from core.study.models import FEWER, UNTRAINED

FIRST = {"place": "axis", "chance": "chance", "k": "k"}  # pandas takes `axis` for its own


def headline_points(points: pd.DataFrame) -> pd.DataFrame:
    """Return a row per language model and target for `core.questions.overview.figures.headline`:
    the mean over the target's models, how many they are, and the 95 % interval of that mean.
    """
    target = points["facet"].where(points["facet"] == REALITY, "vision models").rename("target")
    names = {
        "model_x": "model",
        "title_x": "title",
        "group_x": "group",
        "parameters_x": "parameters",
    }
    grouped = points.rename(columns=names).groupby(
        [target, "model", "title", "group", "parameters"], sort=False, dropna=False
    )
    spread = {
        "score": ("score", "mean"),
        "targets": ("score", "count"),
        "low": ("score", lambda scores: mean_interval(scores.to_numpy())[0]),
        "high": ("score", lambda scores: mean_interval(scores.to_numpy())[1]),
    }
    first = {name: (column, "first") for name, column in FIRST.items()}
    return grouped.agg(**spread, **first).rename(columns={"place": "axis"}).reset_index()


def ranking_points(alignment: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """Return a row per model for `core.questions.overview.figures.ranking`: its mean alignment with
    the models it was compared with.
    """
    mean = alignment.groupby("model_x", sort=False).agg(
        score=("score", "mean"), chance=("chance", "first"), k=("k", "first")
    )
    return mean.join(models.set_index("model")).rename_axis("model").reset_index()


def growth_points(ranking: pd.DataFrame, solved: pd.DataFrame) -> pd.DataFrame:
    """Return a row per model and panel for `core.questions.overview.figures.growth`: what of its
    making may have brought it closer.

    ranking: as `ranking_points` gives it. solved: model, solved. A line needs two models: the
    copies along one training (with the finished model), the sizes of one group, the supervised
    models of one size by number of tasks; vision models by tasks solved.
    """
    counted = ranking["varies"].isin(("", "tasks")) & (ranking["group"] != UNTRAINED)
    whole = ranking[~ranking["copy"] & counted]
    copied = ranking[ranking["run"].isin(ranking.loc[ranking["copy"], "run"])]
    sized = whole[(whole["group"] != FEWER) & whole["parameters"].notna()]
    fewer = whole[whole["group"] == FEWER]
    tasked = whole[
        whole["tasks"].notna()
        & whole["objective"].isin(fewer["objective"])
        & whole["size"].isin(fewer["size"])
    ]
    tasked = tasked[tasked["family"].isin(fewer["family"])]
    seeing = whole.merge(solved[["model", "solved"]].dropna(), on="model")
    panels = {
        "training": copied.assign(x=copied["step"], line=copied["run"]),
        "size": sized.assign(x=sized["parameters"], line=sized["family"] + sized["group"]),
        "tasks": tasked.assign(x=tasked["tasks"], line=tasked["objective"]),
        "solved": seeing.assign(x=seeing["solved"], line=seeing["model"]),
    }
    points = pd.concat(
        [table.assign(panel=name) for name, table in panels.items()], ignore_index=True
    )
    lonely = points.groupby(["panel", "line"])["x"].transform("nunique") < 2
    return points[~lonely | (points["panel"] == "solved")].sort_values(
        ["panel", "line", "x"], ignore_index=True
    )
