"""Figures 12 to 14 of the paper for the models here: every metric with all its parameters against
every other, and each metric's own trend. Both take long, so each waits until it is wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core.metrics import METRICS
from core.options import Option
from core.questions.alignment.axes import find_axis
from core.questions.asking import findings_of
from core.questions.metrics.answer import sample_sizes
from core.questions.metrics.matrix_figures import variant_map
from core.questions.metrics.question import MetricMatrix, MetricTrends
from core.questions.metrics.trend_figures import by_metric, described
from core.questions.question import StudyQuestion
from core.study.models import language_basis
from pages._shared import address, controls, exportbar, facts, frame, prose, queries
from pages._shared.address import bind
from pages._shared.queries import Place
from pages._shared.texts import named_by

MATRIX = """As above, for every metric with each k, rank or bandwidth, on each number of stimuli:
figure 12 of the paper for the models here. Blocks along the diagonal are one metric. The paper
finds most of them highly correlated over 78 vision models."""
BY_METRIC = """Each panel is one metric, as in figures 13 and 14 of the paper: a thin line is one
vision model, wider where it is larger, the dashed one their mean, by the layers chosen here; above
it was the last ones. Compare shapes, not heights: each metric has its own scale."""
KS, RANKS = (2, 5, 10, 20, 50, 100), (2, 5, 10, 20, 50)
BANDWIDTHS = (0.1, 0.25, 0.5, 1.0, 2.0)


def show_matrix(at: Place) -> None:
    """Draw how far metrics agree with all their parameters on all numbers of stimuli."""
    title = MetricMatrix.title()
    if not st.toggle(title, **bind("every_parameter", False)):
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        question = _pick_matrix(at)
    points = queries.ask(at, question)
    figure = variant_map(points, mode=frame.mode(), narrow=frame.narrow())
    exportbar.draw(at, question, figure, key="matrix", table=points)
    prose.explain(MATRIX, findings_of(question, points))


def _pick_matrix(at: Place) -> MetricMatrix:
    sizes = sample_sizes(queries.size(at))
    below = [k for k in KS if k < min(sizes)]
    ranks = [rank for rank in RANKS if 2 * rank < min(sizes)]
    return MetricMatrix(
        at.scope,
        metrics=_pick(MetricMatrix, "metric", list(METRICS), ()),
        ks=_pick(MetricMatrix, "k", below, _start(below, MetricMatrix.ks)),
        ranks=_pick(MetricMatrix, "rank", ranks, _start(ranks, MetricMatrix.ranks)),
        bandwidths=_pick(MetricMatrix, "bandwidth", BANDWIDTHS, (0.5, 1.0)),
        sizes=_pick(MetricMatrix, "size", sizes, ()),
    )


def _start(offered: Sequence[int], usual: tuple[int, ...]) -> tuple[int, ...]:
    """Return the usual values as far as they are offered, else the largest that is."""
    return tuple(one for one in usual if one in offered) or tuple(offered[-1:])


def _pick(
    kind: type[StudyQuestion], name: str, offered: Sequence[Any], start: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Choose some values of an option, under a name of its question's own; none means the usual."""
    one: Option = controls.option_named(kind, name)
    key = f"{kind.command.split()[-1]}_{name}"
    address.label(key, one.label)
    titles = {each: METRICS[each].spec.short if name == "metric" else f"{each}" for each in offered}
    chosen = st.multiselect(
        one.label,
        list(titles),
        format_func=named_by(titles),
        placeholder="the usual ones",
        help=controls.sentence(one.help),
        **bind(key, list(start), titles),
    )
    return tuple(chosen) or start


def show_by_metric(at: Place, models: pd.DataFrame, k: int) -> None:
    """Draw how alignment goes with competence by each metric."""
    if not st.toggle(MetricTrends.title(), **bind("by_metric", False)):
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        metrics = _pick(MetricTrends, "metric", list(METRICS), ())
        rule = controls.pick_rule()
    question = MetricTrends(at.scope, metrics=metrics, k=k, rule=rule)
    points = described(queries.ask(at, question), models)
    basis = language_basis(queries.models(at), facts.competence(at))
    title = find_axis(question.axis, unit=basis).title
    figure = by_metric(points, title=title, mode=frame.mode(), narrow=frame.narrow())
    exportbar.draw_models(at, question, figure, key="by-metric", table=points)
    prose.explain(BY_METRIC, findings_of(question, points))
