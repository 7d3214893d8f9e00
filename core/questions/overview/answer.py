"""The study's answer to the hypothesis: how alignment goes with competence, a row per figure."""

from __future__ import annotations

import pandas as pd

from core.errors import MetricError
from core.progress import Progress
from core.questions.asking import ask
from core.questions.competence.question import TasksSolved
from core.questions.overview.findings import overview_findings
from core.questions.overview.question import Overview
from core.questions.overview.trends import closeness, solving, trends
from core.questions.registry import Answer, declare, never
from core.spaces.inputs import check_k
from core.study.comparison.comparing import align_models
from core.study.models import reads
from core.study.parts import Comparison
from core.study.roster import known_worlds
from core.study.study import Study


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
    language = models.loc[reads(models, "caption"), "model"].tolist()
    vision = models.loc[reads(models, "image"), "model"].tolist()
    reality = [name for name in known_worlds(study) if name in set(models["model"])]
    crossed = align_models(study, language, [*vision, *reality], Comparison(k=question.k))
    near = align_models(study, language + vision, reality, Comparison(k=question.k))
    solved = ask(TasksSolved(question.scope), study)
    tables = (
        trends(crossed, study.competence(), models),
        solving(near, solved, models),
        closeness(near, models),
    )
    return pd.concat([part for part in tables if len(part)] or tables[:1], ignore_index=True)


declare(
    Overview,
    Answer(
        survey,
        version=1,
        complete=complete,
        needs=(TasksSolved,),
        findings=overview_findings,
        kept=never,
    ),
)


def _has_neighbors(study: Study, name: str) -> bool:
    try:
        study.neighbors(name)
    except MetricError:
        return False
    return True
