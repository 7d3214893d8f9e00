"""What the pages ask first, answered beforehand, so that the first visitor need not wait.

Most answers leave a core idle for long, so several processes answer, each a question at a time. One
that needs another's answer finds it in the store, or makes it itself.
"""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from multiprocessing.connection import wait
from pathlib import Path
from threading import Thread

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
from core.store import Store
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
MOST = 4  # processes; each takes about a gigabyte


def first_questions(dataset: str) -> list[StudyQuestion]:
    """Return what the pages ask of a dataset where a visitor has chosen nothing yet, but for the
    colors, whose sources depend on its models.
    """
    scope = Scope(dataset)
    return [*(kind(scope) for kind in AS_THEY_ARE), CaptionAlignment(scope, by="model")]


def answer_first(study: Study, report: Progress) -> None:
    """Keep the answers to the first questions in the store, with progress; what cannot be answered
    over this dataset is left to its page, which says why.
    """
    place, colors = (study.store.root, study.dataset.name), _color_sources(study)
    layouts = [ColorLayout(Scope(study.dataset.name)).of(source) for source in colors]
    questions: list[StudyQuestion] = [*first_questions(study.dataset.name), *layouts]
    report(0, len(questions), "first answers")
    context = multiprocessing.get_context("spawn")  # torch's threads do not survive a fork
    cores = os.cpu_count() or 1
    jobs = min(cores, MOST)
    with ProcessPoolExecutor(jobs, context, _begin, (cores // jobs,)) as pool:
        tasks = [pool.submit(_has_answer, *place, question) for question in questions]
        for done, _ in enumerate(as_completed(tasks), start=1):
            report(done, len(questions), "first answers")
    laid_out = [task.result() for task in tasks[len(tasks) - len(layouts) :]]
    sources = [source for source, there in zip(colors, laid_out, strict=True) if there]
    _has_answer(*place, ColorAgreement(Scope(study.dataset.name)).of(*sources))


def _color_sources(study: Study) -> tuple[str, ...]:
    """Return the sources that the page of colors shows at first; none where it has none."""
    try:
        return usual_sources(study.dataset.name, [*ends(study).values()])
    except PlatoscopeError:
        return ()


def _has_answer(store: Path, dataset: str, question: StudyQuestion) -> bool:
    try:
        ask(question, _study(store, dataset))
    except PlatoscopeError:
        return False
    return True


@cache
def _study(store: Path, dataset: str) -> Study:
    """Return the study of this process, whose spaces and neighbors serve all its questions."""
    return Study(Store(store), dataset)


def _begin(threads: int) -> None:
    """Prepare a process that shares the cores with others: with so many threads for its arithmetic,
    and so that it ends with the process that began it, however that ends.
    """
    import scipy.linalg  # noqa: F401  its threads are limited where it is loaded
    import torch  # seconds, here alone
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    torch.set_num_threads(threads)
    threadpool_limits(threads)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent:
            wait([parent.sentinel])
            os._exit(1)

    Thread(target=watch, daemon=True).start()
