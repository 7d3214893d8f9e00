"""Joins what the analyses return into the tidy tables that the figures draw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pandas as pd

from core.analyses.alignment import Fit, competence_fit
from core.encoders.encoder import ModelCard

MODEL_COLUMNS = ("model", "title", "modality", "family", "objective", "group", "parameters", "layers")


def describe(cards: Sequence[ModelCard]) -> pd.DataFrame:
    """Return a row per model; `group` decides its hue: the objective (vision), the family (language) or reality itself."""
    rows = [
        (card.name, card.title, card.modality, card.family, card.objective, _group(card), card.parameters, card.layers)
        for card in cards
    ]
    models = pd.DataFrame(rows, columns=list(MODEL_COLUMNS)).astype({"parameters": "float64"})
    return models.assign(title=tell_apart(models["title"].tolist(), models["model"].tolist()))


def _group(card: ModelCard) -> str:
    return {"vision": card.objective, "language": card.family, "world": "reality"}[card.modality]


def tell_apart(titles: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the titles; those that two share get their name in parentheses."""
    times = Counter(titles)
    return [title if times[title] == 1 else f"{title} ({name})" for title, name in zip(titles, names, strict=True)]


def trend_points(alignment: pd.DataFrame, competence: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """Return a row per pair for `core.figures.alignment.trend`: both models described, with the language model's competence."""
    about = models.set_index("model")
    kept = ["title", "family", "group", "parameters"]
    skill = competence.set_index("model")["value"]
    points = alignment.join(about[kept].add_suffix("_x"), on="model_x").join(about[kept].add_suffix("_y"), on="model_y")
    points["competence"] = points["model_x"].map(skill).astype("float64")
    return points.rename(columns={"group_y": "facet"}).sort_values("facet", key=lambda facet: facet == "reality", kind="stable")


def fits(points: pd.DataFrame) -> dict[str, Fit]:
    """Fit alignment against competence in each facet, one point per language model: its mean over the facet's models.

    Pairs that share a language model are not independent, so that more vision models must not make the band narrower.
    """
    mean = points.groupby(["facet", "model_x"], sort=False).agg(competence=("competence", "first"), score=("score", "mean"))
    return {
        str(facet): competence_fit(group["competence"].to_numpy(), group["score"].to_numpy())
        for facet, group in mean.groupby("facet", sort=False)
    }


def headline_points(points: pd.DataFrame) -> pd.DataFrame:
    """Return a row per language model and target for `core.figures.overview.headline`: mean and range over the target's models."""
    target = points["facet"].where(points["facet"] == "reality", "vision models").rename("target")
    names = {"model_x": "model", "title_x": "title", "family_x": "family", "parameters_x": "parameters"}
    grouped = points.rename(columns=names).groupby([target, "model", "title", "family", "parameters"], sort=False, dropna=False)
    spread = {"score": ("score", "mean"), "low": ("score", "min"), "high": ("score", "max")}
    first = {name: (name, "first") for name in ("competence", "chance", "k")}
    return grouped.agg(**spread, **first).reset_index()


def ranking_points(alignment: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """Return a row per model for `core.figures.overview.ranking`: its mean alignment with the models it was compared with."""
    mean = alignment.groupby("model_x", sort=False).agg(score=("score", "mean"), chance=("chance", "first"), k=("k", "first"))
    return mean.join(models.set_index("model")).rename_axis("model").reset_index()
