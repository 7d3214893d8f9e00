"""The picture of a question's table, where it has one: as its page draws it, in light colors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.figures import palette
from core.questions.adapters.gain_figures import before_after
from core.questions.adapters.question import Adaptation
from core.questions.asking import ask, completed
from core.questions.dispersion.question import HeldOutFits
from core.questions.question import Question
from core.study.models import groups_by_age
from core.study.spaces import describe_spaces
from core.study.study import Study

MEAN = "mean over texts"  # as the released code takes bits per byte
Draw = Callable[[Any, pd.DataFrame, Study], go.Figure | None]


def picture(question: Question, table: pd.DataFrame, study: Study | None) -> go.Figure | None:
    """Return the main figure of a question's table, in light colors; None if it has none."""
    draw = DRAWS.get(type(question))
    if draw is None and type(question).plot is Question.plot:
        return None
    complete = completed(question, study)
    if study is None:
        return complete.plot(table).draw("light")
    entries = study.store.models(study.dataset.name)
    made_at = {entry.card.name: entry.made_at for entry in entries}
    palette.show(palette.assign(groups_by_age(study.models(), made_at)))
    return draw(complete, table, study) if draw else complete.plot(table).draw("light")


def _held_out(question: HeldOutFits, _: pd.DataFrame, study: Study) -> go.Figure:
    """Draw the stimuli, which the table of correlations has not."""
    points = replace(question, points=True)
    return points.plot(ask(points, study)).draw("light")


def _gains(question: Adaptation, table: pd.DataFrame, study: Study) -> go.Figure:
    about = describe_spaces(question.spaces, study.models())
    titles, groups = (
        dict(zip(about["space"], about[column], strict=True)) for column in ("title", "group")
    )
    return before_after(table, titles, groups, label=question.label, mode="light")


DRAWS: Mapping[type[Question], Draw] = {
    HeldOutFits: _held_out,
    Adaptation: _gains,
}
