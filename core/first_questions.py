"""What the pages ask first, answered beforehand, so that the first visitor need not wait."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from core.errors import PlatoscopeError
from core.progress import Progress
from core.questions.alignment.question import Alignment
from core.questions.asking import ask
from core.questions.benefits.question import Bias, Hallucination, Transfer
from core.questions.captions.question import CaptionAlignment, CaptionFacts, CaptionLevels
from core.questions.color.question import ColorAgreement, ColorLayout, ColorModels
from core.questions.color.sources.language import ends
from core.questions.color.sources.naming import usual_sources
from core.questions.competence.question import Bins, Downstream, TasksSolved, Training
from core.questions.convergence.question import (
    AnnaKarenina,
    FineTuned,
    Hypotheses,
    Levels,
    Replicates,
    Summary,
)
from core.questions.dispersion.question import (
    DispersionPredictors,
    DispersionWords,
    DropEffect,
    HeldOutFits,
    HeldOutPoints,
    PartEffect,
    SetEffect,
    StimulusDispersion,
)
from core.questions.metrics.question import (
    CalibratedMetrics,
    MetricAgreement,
    Neighborhoods,
    NeighborhoodSweep,
    SampleSize,
)
from core.questions.models.question import ModelMap, ModelPairs, ModelProfiles
from core.questions.overview.question import Overview
from core.questions.question import StudyQuestion
from core.questions.stimuli.question import StimulusMap
from core.study.parts import Scope
from core.study.study import Study

AS_THEY_ARE: tuple[type[StudyQuestion], ...] = (  # with all their defaults
    Alignment,
    Overview,
    TasksSolved,
    Bins,
    Downstream,
    Training,
    Levels,
    AnnaKarenina,
    Hypotheses,
    Replicates,
    FineTuned,
    Summary,
    ModelMap,
    ModelPairs,
    ModelProfiles,
    StimulusDispersion,
    StimulusMap,
    SetEffect,
    DropEffect,
    PartEffect,
    HeldOutPoints,
    HeldOutFits,
    DispersionWords,
    DispersionPredictors,
    CaptionLevels,
    CaptionAlignment,
    CaptionFacts,
    ColorModels,
    Neighborhoods,
    NeighborhoodSweep,
    SampleSize,
    MetricAgreement,
    CalibratedMetrics,
    Transfer,
    Bias,
    Hallucination,
)
MORE = 8  # questions of the pages beside these, about


def first_questions(study: Study) -> Iterator[StudyQuestion]:
    """Yield what the pages ask of a dataset where a visitor has chosen nothing yet, the quickest
    first; some depend on the answers before them.
    """
    scope = Scope(study.dataset.name)
    for kind in AS_THEY_ARE:
        yield kind(scope)
    yield CaptionAlignment(scope, by="model")
    yield StimulusMap(scope)
    sources = usual_sources(study.dataset.name, [*ends(study).values()])
    yield from (ColorLayout(scope).of(source) for source in sources)
    laid_out = [one for one in sources if _has_answer(ColorLayout(scope).of(one), study)]
    yield ColorAgreement(scope).of(*laid_out)


def _has_answer(question: StudyQuestion, study: Study) -> bool:
    try:
        ask(question, study)
    except PlatoscopeError:
        return False
    return True


def answer_first(study: Study, report: Progress) -> None:
    """Keep the answers to the first questions in the store, with progress; what cannot be answered
    over this dataset is left to its page, which says why.
    """
    total = len(AS_THEY_ARE) + MORE
    with suppress(PlatoscopeError):  # of the sources of colors
        for done, question in enumerate(first_questions(study)):
            report(min(done, total), total, "first answers")
            _has_answer(question, study)
