"""Objections to an alignment: categories, simple features, a larger gallery, ties of ranks."""

from __future__ import annotations

import math
from typing import Any

import streamlit as st

from core.questions.controls import (
    ControlCategories,
    ControlGallery,
    ControlLadder,
    ControlMarks,
    ControlRanks,
    ControlTrend,
)
from core.questions.finding import Finding
from core.questions.question import StudyQuestion
from core.study.models import reads, usual
from pages._shared import frame, prose, queries, section
from pages._shared.queries import Place

LADDER = "Each with the model of the other modality. Bars: 95% CI over images."
LADDER_METHODS = """Pixels are 16 × 16 in color; histograms have four bins per channel. Lengths are
words and characters; bags of words are weighted by log inverse document frequency. Partial
alignment is the correlation of the two models’ similarities once a control’s similarities and their
squares are regressed out of both (permutations: Freedman, Lane 1983)."""
CATEGORIES = """Bars: a null’s mean to its 95% threshold. Line: the score. Diamond: the
score after regressing out all factors."""
CATEGORIES_METHODS = r"""Two spaces that share nothing but $C$ equal categories reach at most
$k / (n/C - 1)$. Nulls permute stimuli within the values of one factor at a time. The diamond is
the score of the residuals of a regression on all values of all categorical factors, without their
conjunctions. One null permutes within combinations of the hardest factors, as many as leave half
of the images others to change places with. Clusters of the compared models hide structure that
labels do not: read them as a curve."""
TREND = "Bars: 95% CI over setups."
TREND_METHODS = """The headline’s test on the residuals of a linear regression of the best layers of
each pair of models. Regressors are all values of all categorical factors, or the first 16 principal
components of each simple feature. Images that the regression fits exactly are left out."""
GALLERY = "Bars: 95% CI over queries."
GALLERY_METHODS = """The same queries look for neighbors among more and more of the
dataset’s images. With several captions per image a language model’s vectors are averaged."""
DIRECTION_METHODS = """Information imbalance is 2/n times the mean rank, in one model, of an image’s
nearest neighbor in the other: 2/n if nearest neighbors are the same, 1 if they are unrelated
(Glielmo et al. 2022). Noise and unequal scales make it asymmetric, too. The interval, by the
jackknife, is conservative."""
RANKS = "Bars: joint 95% CI of the rank over images."
RANKS_METHODS = """A model ranks below those that are significantly more aligned, by the largest
studentized difference in multiplier draws (Mogstad, Romano, Shaikh, Wilhelm 2024). The test of
two models swaps them image by image."""


def show(at: Place) -> None:
    """Draw the ladder, then the other controls closed, each with its result."""
    frame.need_stimuli(at)
    with frame.part():
        how: dict[str, Any] = {"caption": LADDER, "methods": LADDER_METHODS, "last": -1}
        found = section.draw(at, ControlLadder(at.scope), key="ladder", **how)
        if found is not None:
            direction = found.findings[-1]
            with st.expander(_title("In which direction?", direction)):
                prose.answer([direction.sentence])
                st.caption(DIRECTION_METHODS)
    _draw(at, ControlTrend(at.scope), "Does the trend survive controls?", TREND, TREND_METHODS)
    _draw(at, ControlCategories(at.scope), "More than categories?", CATEGORIES, CATEGORIES_METHODS)
    _draw(at, ControlGallery(at.scope), "In a larger gallery?", GALLERY, GALLERY_METHODS, lead=3)
    for of in ("language", "vision"):
        header, ranks = f"Do ranks of {of} models differ?", ControlRanks(at.scope, of=of)
        _draw(at, ranks, header, RANKS, RANKS_METHODS, models=True, key=f"ranks-{of}")
    with frame.part():
        queries.answer(at, ControlMarks(at.scope))  # which Overview shows


def _draw(
    at: Place, question: StudyQuestion, header: str, caption: str, methods: str, **how: Any
) -> None:
    """Draw a control in a closed part."""
    how = {"key": question.command.split()[-1], "caption": caption, "methods": methods} | how
    with frame.part():
        first = queries.answer(at, question).findings[0]
        section.closed(_title(header, first), at, question, **how)


def _title(header: str, finding: Finding) -> str:
    """Return a question with its verdict, and p if there is one."""
    number = "" if math.isnan(finding.p) else f" ({finding.p_text})"
    return frame.plain(f"{header} {finding.verdict.capitalize()}{number}")


def is_offered(at: Place) -> bool:
    """Return whether trained models of both modalities are there."""
    models = usual(queries.models(at))
    return bool(reads(models, "image").any() and reads(models, "caption").any())
