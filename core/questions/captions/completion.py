"""Which models the questions about captions mean where they leave them open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.errors import MetricError, NotApplicableError, UnknownNameError
from core.questions.captions.question import (
    CaptionAlignment,
    CaptionFacts,
    CaptionScores,
)
from core.questions.captions.tellings import retold_models
from core.study.comparing import choose_engine
from core.study.models import is_reality, reads, usual
from core.study.spaces import default_language
from core.study.study import Study

OF_THE_CAVE_ALONE = (
    "what a caption tells is known only for the Cave, which makes its own events and words"
)


def default_models(study: Study) -> list[str]:
    """Return the finished, trained language models that are embedded at two levels or more."""
    several = retold_models(study)
    return [name for name in default_language(study) if name in several]


def default_targets(study: Study) -> list[str]:
    """Return the finished, trained vision models, and reality where it is known."""
    models = usual(study.models())
    return models.loc[reads(models, "image") | is_reality(models), "model"].tolist()


def complete_scores(question: CaptionScores, study: Study) -> CaptionScores:
    """Name the models that are meant where none are named; see `_readers` and `_targets`.

    Raises MetricError for layers or parameters that cannot be, and all layer pairs: they would be
    several rows of a model and level.
    """
    comparison = question.comparison
    comparison.read_layers()
    choose_engine(study, comparison)
    return replace(question, x=_readers(study, question.x), y=_targets(study, question.y))


def complete_alignment(question: CaptionAlignment, study: Study) -> CaptionAlignment:
    """Name the models that are meant where none are named; raises as `complete_scores`."""
    scores = complete_scores(question.scores, study)
    return replace(question, x=scores.x, y=scores.y)


def complete_facts(question: CaptionFacts, study: Study) -> CaptionFacts:
    """Name the models that are meant where none are named.

    Raises as `complete_scores`, and NotApplicableError where nobody knows what a caption tells.
    """
    if not study.dataset.knows_factors:
        raise NotApplicableError(f"{OF_THE_CAVE_ALONE}; ask for alignment by level instead")
    scores = complete_scores(question.scores, study)
    return replace(question, x=scores.x, y=scores.y)


def _readers(study: Study, models: Sequence[str]) -> tuple[str, ...]:
    if not study.dataset.levels:
        raise NotApplicableError(f"{study.dataset.name!r} holds no captions")
    readers = retold_models(study)
    named = tuple(dict.fromkeys(models or default_models(study)))
    if not (readers and named):
        raise MetricError(
            "expected a trained language model that is embedded at two or more caption levels;"
            " there is none: embed one with --caption-level, naming several"
        )
    if unknown := [name for name in named if name not in readers]:
        raise UnknownNameError("language model at two or more caption levels", unknown[0], readers)
    return named


def _targets(study: Study, against: Sequence[str]) -> tuple[str, ...]:
    """Check that no language model is among them: it would be compared with itself."""
    models = study.models()
    targets = models.loc[~reads(models, "caption"), "model"].tolist()
    named = tuple(dict.fromkeys(against or default_targets(study)))
    if not named:
        raise MetricError(
            "expected a trained vision model to compare with; there is none: embed or import one"
        )
    if unknown := [name for name in named if name not in targets]:
        raise UnknownNameError("vision model", unknown[0], targets)
    return named
