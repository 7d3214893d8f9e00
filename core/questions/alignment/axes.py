"""What a person may put on the axes of the trend, and by what models are grouped in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from core.encoders.encoder import REALITY
from core.figures.theme import COMPETENCE

By = Literal["objective", "family", "size", "none"]
UNKNOWN = {"objective": "no objective known", "family": "no family known", "size": "no size known"}


@dataclass(frozen=True)
class Axis:
    """What stands on the horizontal axis.

    column: of the points. title: of the axis. short: on hover cards. log: whether it is
    logarithmic, which leaves out what is not above 0.
    """

    column: str
    title: str
    short: str
    log: bool = False

    def place(self, values: pd.Series) -> pd.Series:
        """Return where values stand on a ruler: themselves, or their logarithm to base 10."""
        if not self.log:
            return values
        above = values.where(values > 0)
        return pd.Series(np.log10(above), index=values.index)

    def unplace(self, places: pd.Series) -> pd.Series:
        """Return the values that stand there."""
        return 10.0**places if self.log else places


AXES: Mapping[str, Axis] = {
    "competence": Axis("competence", COMPETENCE, "competence"),
    "parameters": Axis("parameters_x", "parameters", "parameters", log=True),
    "step": Axis("step_x", "training step", "step", log=True),
}
SCORE = "value"  # the column of a score that was chosen


def score_axis(name: str, unit: str) -> Axis:
    """Return the axis of a score of the language models."""
    return Axis(SCORE, f"{name} ({unit})", name)


def group_points(
    points: pd.DataFrame, models: pd.DataFrame, *, panels: By, color: By, symbol: By = "none"
) -> pd.DataFrame:
    """Return the points with a panel for each group of the models compared with, a color for each
    group of language models, and a symbol for each of another grouping, "" where there is none;
    reality stays a panel of its own.

    points: as `core.questions.alignment.points.trend_points` gives them; models: as
    `core.study.models.describe` does.
    """
    facets = points["facet"]
    if panels != "objective":  # which is what trend_points groups them by
        facets = _groups(points["model_y"], models, panels).mask(facets == REALITY, REALITY)
    colors = points["group_x"] if color == "family" else _groups(points["model_x"], models, color)
    symbols = "" if symbol == "none" else _groups(points["model_x"], models, symbol)
    return points.assign(facet=facets, group_x=colors, symbol_x=symbols)


def _groups(names: pd.Series, models: pd.DataFrame, by: By) -> pd.Series:
    if by == "none":
        return pd.Series("all models", index=names.index)
    groups = names.map(models.set_index("model")[by])
    return groups.mask(groups.isna() | (groups == ""), UNKNOWN[by])
