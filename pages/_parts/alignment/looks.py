"""How the trend is looked at: what is on its axis, and by what its models are grouped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import pandas as pd
import streamlit as st

from core.questions.alignment.answer import complete
from core.questions.alignment.axes import (
    PLURALS,
    USUAL,
    Axis,
    By,
    axis_labels,
    group_points,
    offered_axes,
)
from core.questions.alignment.question import Alignment, Side
from core.questions.competence.question import CompetenceScores, TasksSolved
from core.study.models import basis_of, language_basis
from pages._shared import controls, facts, queries
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
SHARE = """The ceiling is how alike two trainings are that differ only in their seed. The share of
the way to it, (alignment − chance) / (ceiling − chance), is 0 for chance and 1 for the
ceiling."""


@dataclass(frozen=True)
class Look:
    """How the trend is looked at. vertical: what is on the other axis."""

    axis: Axis
    vertical: Vertical
    panels: By
    color: By
    symbol: By

    def apply(self, at: Place, points: pd.DataFrame) -> pd.DataFrame:
        """Return the points so grouped."""
        groups = {"panels": self.panels, "color": self.color, "symbol": self.symbol}
        return group_points(points, queries.models(at), **groups)


def pick_axis(at: Place) -> tuple[str, Axis]:
    """Draw the controls of what is on the horizontal axis; return its name, too."""
    side = controls.pick_labeled(controls.option_named(Alignment, "axis_models"), PLURALS)
    scores, models = queries.ask(at, CompetenceScores(at.scope)), queries.models(at)
    if side == "vision":
        basis = basis_of(queries.ask(at, TasksSolved(at.scope)))
    else:
        basis = language_basis(models, facts.competence(at))
    axes = offered_axes(scores, models, side, basis)
    one = replace(controls.option_named(Alignment, "axis"), default=usual_axis(at, side))
    name = controls.pick_labeled(one, axis_labels(axes))
    return name, axes[name]


@st.cache_data(max_entries=32, show_spinner=False)
def usual_axis(at: Place, side: Side) -> str:
    """Return what is on the axis at first, as the command has it."""
    return complete(Alignment(at.scope, axis_models=side), queries.study(at)).axis


def pick(axis: Axis) -> Look:
    """Draw the controls of how the trend is looked at."""
    vertical = st.selectbox(
        "Vertical axis",
        list(VERTICALS),
        format_func=VERTICALS.get,
        help=SHARE,
        **bind("vertical", "score", VERTICALS),
    )
    others: Side = "vision" if axis.side == "language" else "language"
    colored = f"{axis.models.capitalize()} colored by"
    return Look(
        axis,
        vertical,
        _pick_groups("Compared models in panels by", "panels", PANELS, start=USUAL[others]),
        _pick_groups(colored, "color", COLORS, start=USUAL[axis.side]),
        _pick_groups("Symbols by", "symbol", SYMBOLS, start="none"),
    )


def _pick_groups(label: str, key: str, groups: Mapping[By, str], *, start: By) -> By:
    return st.selectbox(
        label, list(groups), format_func=groups.get, **bind(key, start, groups, follow=True)
    )
