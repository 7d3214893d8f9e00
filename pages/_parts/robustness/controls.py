"""Objections to an alignment: categories, simple features, a larger gallery, ties of ranks."""

from __future__ import annotations

import streamlit as st

from core.questions.controls import (
    ControlCategories,
    ControlGallery,
    ControlLadder,
    ControlRanks,
)
from core.study.models import reads, usual
from pages._shared import frame, queries, section
from pages._shared.queries import Place

LADDER = "Alignment of simple features and untrained networks with the other modality’s model."
LADDER_METHODS = """Pixels are 16 × 16 in color; histograms have four bins per channel. Lengths are
words and characters; bags of words are weighted by log inverse document frequency. Partial
alignment correlates what a linear regression on a control’s similarities leaves of both models’
(Freedman, Lane 1983, for its permutations)."""
CATEGORIES = "Bars: a null’s mean to its 95% threshold. Line: the score."
CATEGORIES_METHODS = r"""Two spaces that share nothing but $C$ equal categories reach mutual k-NN
$k / (n/C - 1)$. Nulls permute stimuli within a factor’s values only. Clusters of the compared
models hide structure that labels would not: read them as a curve."""
GALLERY = "Bars: 95% CI over queries."
GALLERY_METHODS = """The same queries look for neighbors among ever more images. With several
captions per image a language model’s vectors are averaged."""
RANKS = "Bars: joint 95% CI of the rank over images."
RANKS_METHODS = """A model ranks below those that are surely more aligned, by the largest
studentized difference in multiplier draws (Mogstad, Romano, Shaikh, Wilhelm 2024). The test of two
models exchanges them image by image."""


def show(at: Place) -> None:
    """Draw the four controls, ranks closed."""
    frame.need_stimuli(at)
    with frame.part():
        ladder = ControlLadder(at.scope)
        section.draw(at, ladder, key="ladder", caption=LADDER, methods=LADDER_METHODS)
    with frame.part():
        section.draw(
            at,
            ControlCategories(at.scope),
            key="categories",
            header="More than categories?",
            caption=CATEGORIES,
            methods=CATEGORIES_METHODS,
        )
    with frame.part():
        section.draw(
            at,
            ControlGallery(at.scope),
            key="gallery",
            header="In a larger gallery?",
            caption=GALLERY,
            methods=GALLERY_METHODS,
        )
    with st.expander("Are ranks apart?"), frame.part():
        ranks = ControlRanks(at.scope)
        section.draw(at, ranks, key="ranks", caption=RANKS, methods=RANKS_METHODS, models=True)


def is_offered(at: Place) -> bool:
    """Return whether trained models of both modalities are there."""
    models = usual(queries.models(at))
    return bool(reads(models, "image").any() and reads(models, "caption").any())
