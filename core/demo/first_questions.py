"""What the pages ask first, answered beforehand, so that the first visitor need not wait.

Several processes answer, each a question at a time. One that needs another's answer finds it in the
store, or makes it itself.
"""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path

from core.errors import PlatoscopeError
from core.machine.processes import count_processes, spread
from core.progress import Progress
from core.questions.alignment.question import Alignment
from core.questions.asking import ask
from core.questions.benefits.question import Bias, Hallucination, Transfer
from core.questions.captions.question import CaptionAlignment, CaptionFacts, CaptionLevels
from core.questions.color.cloud.question import ColorPixels
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
from core.questions.headline.question import Headline
from core.questions.metrics.question import (
    CalibratedMetrics,
    MetricAgreement,
    Neighborhoods,
    NeighborhoodSweep,
    SampleSize,
)
from core.questions.modalities.question import Modalities
from core.questions.models.question import ModelMap, ModelPairs, ModelProfiles
from core.questions.overview.question import MAP_METRICS, ConvergenceMap
from core.questions.question import StudyQuestion
from core.questions.stimuli.question import StimulusMap
from core.questions.stitching.question import Stitch
from core.store import Store
from core.study.parts import Comparison, Scope
from core.study.study import Study

AS_THEY_ARE: tuple[type[StudyQuestion], ...] = (  # with all their defaults
    Alignment,
    Headline,
    Hallucination,  # the longest begin early, so that none is answered alone at the end
    ColorPixels,
    ColorModels,
    Bias,
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
    Modalities,
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
    Neighborhoods,
    NeighborhoodSweep,
    SampleSize,
    MetricAgreement,
    CalibratedMetrics,
    Transfer,
    Stitch,
)


def first_questions(dataset: str) -> list[StudyQuestion]:
    """Return what the pages ask of a dataset where a visitor has chosen nothing yet, but for the
    colors, whose sources depend on its models.
    """
    scope = Scope(dataset)
    maps = [ConvergenceMap(scope, comparison=Comparison(metric=name)) for name in MAP_METRICS]
    return [*(kind(scope) for kind in AS_THEY_ARE), *maps, CaptionAlignment(scope, by="model")]


def answer_first(study: Study, report: Progress) -> None:
    """Keep the answers to the first questions in the store, with progress; what cannot be answered
    over this dataset is left to its page, which says why.
    """
    answer = partial(_has_answer, study.store.root, study.dataset.name)
    questions = first_questions(study.dataset.name)
    report(0, len(questions), "first answers")
    tasks = spread(answer, questions, processes=count_processes(len(questions)))
    for done, _ in enumerate(tasks, start=1):
        report(done, len(questions), "first answers")
    layout = ColorLayout(Scope(study.dataset.name))
    # which models these are, an answer from above says
    sources = [source for source in _color_sources(study) if answer(layout.of(source))]
    answer(ColorAgreement(Scope(study.dataset.name)).of(*sources))


def _color_sources(study: Study) -> tuple[str, ...]:
    """Return the sources that the page of colors shows at first; none where it has none."""
    try:
        return usual_sources(study.dataset.name, [*ends(study).values()])
    except PlatoscopeError:
        return ()


def _has_answer(store: Path, dataset: str, question: StudyQuestion) -> bool:
    try:
        ask(question, _study(store, dataset, Store(store).digest(dataset)))
    except PlatoscopeError:
        return False
    return True


@lru_cache(maxsize=1)
def _study(store: Path, dataset: str, _: str) -> Study:
    """Return the study of this process, whose spaces and neighbors serve all its questions until
    the store changes.
    """
    return Study(Store(store), dataset)
