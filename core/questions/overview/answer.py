"""The study's answer to the hypothesis: how alignment goes with competence, a row per figure."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.errors import MetricError
from core.progress import Progress
from core.questions.alignment.question import Alignment
from core.questions.asking import ask
from core.questions.competence.question import TasksSolved
from core.questions.overview.closeness import measure_closeness, name_center
from core.questions.overview.findings import overview_findings
from core.questions.overview.question import ConvergenceMap, Overview
from core.questions.overview.trends import closeness, solving, trends
from core.questions.registry import Answer, declare, never
from core.spaces.preprocess import check_k
from core.study.comparing import align_models
from core.study.models import is_reality, reads, usual
from core.study.parts import Comparison
from core.study.study import Study, known_worlds


def complete(question: Overview, study: Study) -> Overview:
    """Raise MetricError for a k that these stimuli do not have."""
    check_k(question.k, study.size)
    return question


def survey(question: Overview, study: Study, _: Progress | None) -> pd.DataFrame:
    """Return the study's answer to the hypothesis; see `core.questions.overview.trends`.

    Alignment is mutual k-NN of the best-aligned layers. Models without neighbors are left out.
    """
    models = study.models()
    models = models.loc[[_has_neighbors(study, name) for name in models["model"]]]
    read = reads(models, "caption") | reads(models, "image")
    reality = [name for name in known_worlds(study) if name in set(models["model"])]
    near = align_models(study, list(models.loc[read, "model"]), reality, Comparison(k=question.k))
    solved = ask(TasksSolved(question.scope), study)
    tables = (
        trends(cross(question, study, models), models, axis=question.axis),
        solving(near, solved, models),
        closeness(near, models),
    )
    return pd.concat([part for part in tables if len(part)] or tables[:1], ignore_index=True)


def cross(question: Overview, study: Study, models: pd.DataFrame) -> pd.DataFrame:
    """Align the usual language models with the usual vision models and reality, and say where they
    stand on the axis; only those of `models` count.
    """
    counted = usual(models)
    x = tuple(counted.loc[reads(counted, "caption"), "model"])
    y = tuple(counted.loc[reads(counted, "image") | is_reality(counted), "model"])
    comparison = Comparison(k=question.k)
    if not (x and y):
        return align_models(study, x, y, comparison).assign(axis=np.nan)
    return ask(Alignment(question.scope, x, y, axis=question.axis, comparison=comparison), study)


declare(
    Overview,
    Answer(
        survey,
        version=3,
        complete=complete,
        findings=overview_findings,
        kept=never,
    ),
)


declare(ConvergenceMap, Answer(measure_closeness, version=5, complete=name_center))


def _has_neighbors(study: Study, name: str) -> bool:
    try:
        study.neighbors(name)
    except MetricError:
        return False
    return True
