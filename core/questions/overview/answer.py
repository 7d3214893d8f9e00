"""A study's answer to the hypothesis in one table."""

from __future__ import annotations

import pandas as pd

from core.encoders.encoder import REALITY
from core.errors import MetricError
from core.questions.overview.trends import closeness, solving, trends
from core.spaces.inputs import check_k
from core.study.comparing import align_models
from core.study.models import is_reality, reads
from core.study.study import Study


def study_findings(study: Study, *, k: int = 10) -> pd.DataFrame:
    """Return a row per figure; see `core.questions.overview.trends`.

    Models without neighbors are left out. Raises MetricError for k.
    """
    check_k(k, study.size)
    models = study.models()
    models = models.loc[[_has_neighbors(study, name) for name in models["model"]]]
    language = list(models.loc[reads(models, "caption"), "model"])
    vision = list(models.loc[reads(models, "image"), "model"])
    known = [name for name in models.loc[is_reality(models), "model"] if name == REALITY]
    crossed = align_models(study, language, [*vision, *known], k=k)
    near = align_models(study, language + vision, known, k=k)
    parts = (
        trends(crossed, study.competence(), models),
        solving(near, study.tasks_solved(), models),
        closeness(near, models),
    )
    return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)


def _has_neighbors(study: Study, name: str) -> bool:
    try:
        study.neighbors(name)
    except MetricError:
        return False
    return True
