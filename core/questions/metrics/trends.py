"""Alignment of language with vision models by many metrics, beside competence."""

from __future__ import annotations

import pandas as pd

from core.metrics.catalog import PRINTED
from core.progress import Progress
from core.questions.alignment.placing import axis_values
from core.questions.alignment.question import Alignment
from core.questions.metrics.agreement import with_k
from core.questions.metrics.question import MetricTrends
from core.study.comparing import align_models
from core.study.models import lines
from core.study.parts import Comparison
from core.study.study import Study

USUAL = tuple(PRINTED)
COLUMNS = ("model_x", "model_y", "layer_x", "layer_y", "score", "chance", "reason")


def align_by_each(
    question: MetricTrends, study: Study, report: Progress | None = None
) -> pd.DataFrame:
    """Align every model of x with every model of y by each metric of a complete question.

    Returns metric, model_x, model_y, layer_x, layer_y, score, chance, competence (of model_x, as
    the axis says), line (see `core.study.models.lines`) and reason: why a score is NaN, else empty.
    Source: Huh et al. 2024, figures 13 and 14.
    """
    skill = axis_values(Alignment(question.scope, x=question.x, axis=question.axis), study)
    kin, tables = lines(study.models()), []
    for done, metric in enumerate(question.metrics, start=1):
        comparison = Comparison.of(metric, with_k(metric, question.k), **vars(question.rule))
        table = align_models(study, question.x, question.y, comparison)[list(COLUMNS)]
        about = {"competence": table["model_x"].map(skill), "line": table["model_x"].map(kin)}
        tables.append(table.assign(metric=metric, **about))
        if report:
            report(done, len(question.metrics), "metrics over all pairs of models")
    joined = pd.concat(tables, ignore_index=True)
    return joined[["metric", *COLUMNS[:-1], "competence", "line", "reason"]]
