"""Which spaces, models and sets the questions about dispersion mean where they leave them open."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from core.questions.dispersion import trials
from core.questions.dispersion.consensus import check_summary
from core.questions.dispersion.prediction.stimuli import name_level
from core.questions.dispersion.question import (
    DispersionFindings,
    DispersionPredictors,
    DispersionRankings,
    DispersionWords,
    DropEffect,
    JointQuestion,
    PartEffect,
    RankingQuestion,
    SetEffect,
    StimulusDispersion,
)
from core.study.selections import check_ends, check_parts, count_share
from core.study.spaces import check_several, name_spaces
from core.study.study import Study

QUARTER = 4  # of all stimuli: a set is one over it where no size is named

J = TypeVar("J", bound=JointQuestion)
R = TypeVar("R", bound=RankingQuestion)


def name_joint(question: J, study: Study) -> J:
    """Name the spaces that are meant."""
    spaces = name_spaces(study, question.joint.spaces)
    return replace(question, joint=replace(question.joint, spaces=spaces))


def name_ranked(question: StimulusDispersion, study: Study) -> StimulusDispersion:
    """Name the spaces that are meant; raises what cannot rank the stimuli, or mark their ends."""
    question = name_joint(question, study)
    check_summary(question.by or "mean", question.joint.spaces)
    if question.size is not None:
        check_ends(study.size, question.size)
    return question


def name_rankings(question: DispersionRankings, study: Study) -> DispersionRankings:
    """Name the spaces that are meant and the sets' size; raises MetricError for two spaces, which
    all summaries rank alike.
    """
    question = name_joint(question, study)
    check_several(question.joint.spaces)
    return replace(question, size=_size(question.size, study))


def name_ranking(question: R, study: Study) -> R:
    """Name the spaces that rank the stimuli; raises what cannot rank them."""
    ranking, spaces = question.ranking, name_spaces(study, question.ranking.spaces)
    check_summary(ranking.by, spaces)
    return replace(question, ranking=replace(ranking, spaces=spaces))


def name_predictors(question: DispersionPredictors, study: Study) -> DispersionPredictors:
    """Name the spaces and the caption level."""
    return replace(name_ranking(question, study), level=name_level(study, question.level))


def name_words(question: DispersionWords, study: Study) -> DispersionWords:
    """Name the spaces, the caption level and the sets' size."""
    question = name_ranking(question, study)
    size = _size(question.size, study)
    return replace(question, level=name_level(study, question.level), size=size)


def name_effect(question: SetEffect, study: Study) -> SetEffect:
    """Name the spaces, the language models and the sets' size."""
    size = _size(question.size, study)
    return replace(trials.complete_trial(question, study), size=size)


def name_parts(question: PartEffect, study: Study) -> PartEffect:
    """Name the spaces and the language models."""
    check_parts(study.size, question.parts)
    return trials.complete_trial(question, study)


def name_drop(question: DropEffect, study: Study) -> DropEffect:
    """Name the spaces and the language models."""
    count_share(question.share, study.size)
    return trials.complete_trial(question, study)


def name_findings(question: DispersionFindings, study: Study) -> DispersionFindings:
    """Name the spaces, the language models and the sets' size."""
    size = _size(question.size, study)
    return replace(trials.complete_trial(question, study), size=size)


def _size(size: int | None, study: Study) -> int:
    """Return the sets' size, a quarter of all stimuli where none is named; raises StimuliError."""
    size = study.size // QUARTER if size is None else size
    check_ends(study.size, size)
    return size
