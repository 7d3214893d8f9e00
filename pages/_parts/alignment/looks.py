"""How the trend is looked at: what is on its axis, and by what its models are grouped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import pandas as pd
import streamlit as st

from core.questions.alignment.axes import AXES, SCORE, Axis, By, group_points, score_axis
from core.questions.competence.question import CompetenceScores
from core.study.models import reads
from core.study.scores import TaskScore, known_scores, score_of
from pages._shared import queries
from pages._shared.address import bind
from pages._shared.queries import Place

Vertical = Literal["score", "share"]
VERTICALS: Mapping[Vertical, str] = {
    "score": "alignment",
    "share": "share of the way from chance to the ceiling",
}
PANELS: Mapping[By, str] = {
    "objective": "objective",
    "family": "family",
    "size": "size",
    "none": "one panel",
}
COLORS: Mapping[By, str] = {"family": "family", "objective": "objective", "size": "size"}
SYMBOLS: Mapping[By, str] = {"none": "the color's group", **COLORS}
SHARE = """The ceiling is how alike two trainings are that differ in nothing but their seed. The
share of the way to it, (alignment − chance) / (ceiling − chance), is 0 for chance and 1 for the
ceiling."""


@dataclass(frozen=True)
class Look:
    """How the trend is looked at. score: of the axis, where it is one. vertical: what is on the
    other axis.
    """

    axis: Axis
    score: TaskScore | None
    vertical: Vertical
    panels: By
    color: By
    symbol: By

    def apply(self, at: Place, points: pd.DataFrame) -> pd.DataFrame:
        """Return the points so grouped, with what is on the axis."""
        if self.score is not None:
            values = score_of(_scores(at), self.score.task, origin=self.score.origin)
            points = points.assign(**{SCORE: points["model_x"].map(values).astype(float)})
        groups = {"panels": self.panels, "color": self.color, "symbol": self.symbol}
        return group_points(points, queries.models(at), **groups)


def pick(at: Place) -> Look:
    """Draw the controls."""
    models = queries.models(at)
    language = set(models.loc[reads(models, "caption"), "model"])
    scores = {score.name: score for score in known_scores(_scores(at), language)}
    names = {"competence": AXES["competence"].title, "parameters": "parameters", "step": "step"}
    names |= {name: name for name in scores}
    axis = st.selectbox(
        "Horizontal axis", list(names), format_func=names.get, **bind("axis", "competence", names)
    )
    vertical = st.selectbox(
        "Vertical axis",
        list(VERTICALS),
        format_func=VERTICALS.get,
        help=SHARE,
        **bind("vertical", "score", VERTICALS),
    )
    score = scores.get(axis)
    return Look(
        score_axis(axis, score.unit) if score else AXES[axis],
        score,
        vertical,
        _pick_groups("Compared models in panels by", "panels", PANELS, start="objective"),
        _pick_groups("Language models colored by", "color", COLORS, start="family"),
        _pick_groups("Symbols by", "symbol", SYMBOLS, start="none"),
    )


def _pick_groups(label: str, key: str, groups: Mapping[By, str], *, start: By) -> By:
    return st.selectbox(label, list(groups), format_func=groups.get, **bind(key, start, groups))


def _scores(at: Place) -> pd.DataFrame:
    return queries.ask(at, CompetenceScores(at.scope))
