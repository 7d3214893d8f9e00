"""The points of the Captions page: targets and language models, described."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from core.encoders.encoder import REALITY
from core.modalities import find_modality
from core.questions.captions.trends import by_group
from core.study.models import is_reality


def panels(models: pd.DataFrame, by: str) -> dict[str, str]:
    """Return the panel of each model: its objective, itself, or all models of its modality."""
    if by == "modality":
        everyone = models["modality"].map(lambda name: f"all {find_modality(name).plural}")
        names = everyone.mask(is_reality(models), models["title"])
    else:
        names = models["group" if by == "objective" else "title"]
    return dict(zip(models["model"], names, strict=True))


def level_points(
    means: pd.DataFrame, models: pd.DataFrame, facets: Mapping[str, str]
) -> pd.DataFrame:
    """Return a row per target and caption level, in the panel that `facets` gives it, for
    `core.questions.captions.figures.by_words`.

    means: as `core.questions.captions.trends.by_level` gives them. facets: of each target;
    reality's panel is the last.
    """
    about = models.set_index("model")[["title", "group", "parameters"]].add_suffix("_y")
    points = means.join(about, on="model_y").assign(
        facet=lambda table: table["model_y"].map(facets)
    )
    return points.sort_values(
        "group_y", key=lambda group: group == REALITY, kind="stable", ignore_index=True
    )


def panel_points(table: pd.DataFrame) -> pd.DataFrame:
    """Return a row per panel and caption level, each a mean over all its models: as figure 9 of
    Huh et al. 2024, whose deviation is over the language models' own means.

    table: the answer of `CaptionAlignment`. As `level_points` gives them.
    """
    about = {"facet": table["title"], "title_y": table["title"], "group_y": table["title"]}
    points = table.assign(**about, parameters_y=float("nan"))
    last = points["facet"].str.lower() == REALITY
    return pd.concat([points[~last], points[last]], ignore_index=True)


def language_lines(
    scores: pd.DataFrame, models: pd.DataFrame, facets: Mapping[str, str]
) -> pd.DataFrame:
    """Return each language model's score by level, its mean over the targets of a panel, for
    `core.questions.captions.figures.by_words`.
    """
    lines = by_group(scores, facets).rename(columns={"model_y": "facet"})
    return lines.join(models.set_index("model")[["title", "group", "parameters"]], on="model")


def facts_points(table: pd.DataFrame) -> pd.DataFrame:
    """Return the bins of `CaptionFacts` by panel, reality's the last, for
    `core.questions.captions.level_figures.facts`.
    """
    last = table.sort_values("model_y", key=lambda names: names == REALITY, kind="stable")
    return last.assign(facet=last["title"])


def panel_trends(table: pd.DataFrame) -> pd.DataFrame:
    """Return the trend of each panel, of the rows of `CaptionAlignment`."""
    trends = table.drop_duplicates("model_y")
    return trends.assign(model_y=trends["title"], models=trends["paired"])
