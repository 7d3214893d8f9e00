"""What a person may put on the axes of the trend, and by what models are grouped in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import pandas as pd

from core.competence.records import BITS, SKILL
from core.encoders.encoder import REALITY
from core.figures.rulers import Ruler
from core.figures.theme import COMPETENCE as CODED
from core.modalities import LANGUAGE, VISION, find_modality
from core.questions.alignment.question import COMPETENCE, Side
from core.study.models import SOLVED, is_measured, known_kinds
from core.study.scores import known_scores

By = Literal["objective", "family", "size", "none"]
UNKNOWN = {"objective": "no objective known", "family": "no family known", "size": "no size known"}
USUAL: Mapping[Side, By] = {"language": "family", "vision": "objective"}  # groups of models
PLURALS: Mapping[Side, str] = {"language": LANGUAGE.plural, "vision": VISION.plural}


@dataclass(frozen=True)
class Axis(Ruler):
    """What stands on the horizontal axis. side: whose models do."""

    side: Side = "language"

    @property
    def is_competence(self) -> bool:
        return self.short == COMPETENCE

    @property
    def models(self) -> str:
        """Return what its models are called."""
        return PLURALS[self.side]

    @property
    def targets(self) -> str:
        """Return what the models are called that they are compared with."""
        return PLURALS["vision" if self.side == "language" else "language"]


AXES: Mapping[str, Axis] = {
    COMPETENCE: Axis(CODED, COMPETENCE),
    "parameters": Axis("parameters", "parameters", log=True),
    "step": Axis("training step", "step", log=True),
}


def find_axis(name: str, side: Side = "language", unit: str = "") -> Axis:
    """Return an axis by its name. unit: of one that is a score; of bits per byte 1 − the score is
    shown, as published, so that better models are on the right. Of
    competence, what it is.
    """
    if name == COMPETENCE and (side == "vision" or unit not in ("", SKILL)):
        return Axis(f"competence: {unit or SOLVED}", COMPETENCE, side=side)
    if unit == BITS:
        return Axis(f"1 − {name}", f"1 − {name}", side=side)
    return replace(AXES.get(name, Axis(f"{name} ({unit})", name)), side=side)


def short_name(axis: str) -> str:
    """Return what an axis is called in a sentence, by its name alone."""
    return find_axis(axis, unit=BITS if axis.startswith(BITS) else "").short


def offered_axes(
    registry: pd.DataFrame, models: pd.DataFrame, side: Side = "language", basis: str = ""
) -> dict[str, Axis]:
    """Return what may stand on the axis, by name: what every model has, and the scores that models
    of the side have.

    registry: of all scores. models: as `core.study.models.describe` gives them. basis: what the
    competence of the side is.
    """
    names = set(models.loc[models["modality"] == side, "model"])
    units = {score.name: score.unit for score in known_scores(registry, names)}
    units[COMPETENCE] = basis
    return {name: find_axis(name, side, units.get(name, "")) for name in (*AXES, *units)}


def axis_labels(axes: Mapping[str, Axis]) -> dict[str, str]:
    """Return what a list of axes says, by name; a score's name is told with its origin."""
    return {name: axis.title if name in AXES else name for name, axis in axes.items()}


def group_points(
    points: pd.DataFrame, models: pd.DataFrame, *, panels: By, color: By, symbol: By = "none"
) -> pd.DataFrame:
    """Return the points with a panel for each group of the models compared with, a color for each
    group of models on the axis, and a symbol for each of another grouping, "" where there is none;
    reality stays a panel of its own.

    points: as `core.questions.alignment.points.trend_points` gives them; models: as
    `core.study.models.describe` does.
    """
    facets = _groups(points["model_y"], models, panels)
    facets = facets.mask(points["facet"] == REALITY, REALITY)
    colors = _groups(points["model_x"], models, color)
    symbols = "" if symbol == "none" else _groups(points["model_x"], models, symbol)
    return points.assign(facet=facets, group_x=colors, symbol_x=symbols)


def _groups(names: pd.Series, models: pd.DataFrame, by: By) -> pd.Series:
    """Return the group of each model; grouped as their modality is, untrained ones stand apart.
    Brains, and people, are a group.
    """
    if by == "none":
        return pd.Series("all models", index=names.index)
    usual = models["modality"].map(lambda name: find_modality(name).grouping) == by
    plurals = models["modality"].map(lambda name: find_modality(name).plural)
    of_model = known_kinds(models, by).reset_index(drop=True).set_axis(models.index)
    of_model = of_model.mask(usual, models["group"]).mask(is_measured(models), plurals)
    of_model = of_model.set_axis(models["model"])
    groups = names.map(of_model)
    return groups.mask(groups.isna() | (groups == ""), UNKNOWN[by])
