"""Color: is its geometry shared by perception, pixels, words and vision models?"""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from core.options import build, values_of
from core.questions.color import figures
from core.questions.color.agreement import DISSIMILARITIES, LAYOUTS
from core.questions.color.parts import (
    BEST,
    CAPTIONS,
    LARGEST,
    PERCEPTION,
    PIXELS,
    SHIPPED,
    WORST,
)
from core.questions.color.perception import color_words
from core.questions.color.question import ColorAgreement, ColorLayout, ColorModels, usual_sources
from core.questions.color.sources import LAST, LAST_FOUR, ends, typed_source
from core.study.models import reads
from pages._parts.published import listed
from pages._shared import bar, controls, frame, queries, section
from pages._shared.address import bind, fragment, named_by
from pages._shared.controls import Look
from pages._shared.queries import Place

PUBLISHED = {"simcse": "SimCSE, from the hub", "roberta": "RoBERTa, from the hub"}
OF = {DISSIMILARITIES: "Dissimilarities", LAYOUTS: "Layouts"}
SOURCES = """What says how far apart colors are. Perception is always shown. Type hf:ID for
another model, a folder or an .npz file for your own images, an .npy file for your own vectors."""
LOOKS = {
    "words": Look(
        labels={word: word for word in color_words()["word"]},
        empty="all 24",
        help="The color words that are laid out. Choose one word per hue to see a ring.",
    ),
    "survey": Look(help="The survey that says which color a word means (default xkcd)."),
    "layer": Look(
        start=LAST,
        labels={LAST: "Last", LAST_FOUR: "Last four"},
        help="The layers of models that are read (default: the last).",
    ),
    "sentences": Look(
        help="One per line, with <col> where the color goes. A word's vector is their mean."
    ),
    "by": Look(
        labels={"words": "Color words", "cells": "Grid cells"},
        help="What pixels count for: the nearest color word, or a cell of the grid.",
    ),
    "radius": Look(most=64, step=0.5, help="The farthest that two pixels of a pair lie apart."),
    "pairs": Look(least=1000, step=100_000, help="How many pairs of pixels are drawn."),
    "grid": Look(help="Steps per channel of the color grid (default 8)."),
    "smoothing": Look(step=0.5, help="Added to each count, so that unseen pairs have a value."),
}
MORE = ("words", "survey", "layer", "sentences", "by", "radius", "pairs", "grid", "smoothing")
CLOUDS = """Each point is a color in that color; near points are similar to the source. Clouds are
rotated onto CIELAB (L* dark to light, a* green to red, b* blue to yellow) and turn together."""
POINTS = "Each point is a language model; hollow points are checkpoints; the dotted line is chance."
LAYOUT = """A layout is three-dimensional metric scaling of a source's dissimilarities, rotated,
scaled and, if it fits better, mirrored onto CIELAB. Pixels and captions: max PMI − PMI of colors
that occur together. Language models: distances of their vectors of three sentences about each
color; vision models: of plain images."""
AGREEMENT = """τ and ρ correlate the dissimilarities of all pairs of colors; neighbors shared is the
mean share of a color's three nearest in common; disparity is what the best rotation and scaling
leave. p: permutations of colors, adjusted for all pairs."""
KNOWLEDGE = """All models are asked with the same sentences. ρ is over finished models, its interval
over families. Abdou et al. (2021) found that similarity to perception grows with model size."""


def show(at: Place) -> None:
    """Draw the clouds, the agreement of all sources, and model size against agreement."""
    with bar.controls_bar():
        question = pick(at)
    values = values_of(question)
    layout = build(ColorLayout, {name: values[name] for name in values_of(ColorLayout())})
    with frame.part():
        section.draw(at, layout, key="layouts", caption=CLOUDS, methods=LAYOUT)
    if len(question.source) > 1:
        with frame.part():
            _agreement(at, question)
    models = build(ColorModels, {name: values[name] for name in values_of(ColorModels())})
    embedded = queries.models(at)
    if embedded.empty or reads(embedded, "caption").any():
        with frame.part():
            frame.need_readers(at, "caption")
            section.draw(
                at,
                models,
                key="knowledge",
                header="Do larger models know color better?",
                caption=POINTS,
                methods=KNOWLEDGE,
                models=True,
            )
    listed.show(at, "color")


def pick(at: Place) -> ColorAgreement:
    """Draw the controls."""
    titles, known = _titles(at)
    start = [one for one in usual_sources(queries.study(at)) if one != PERCEPTION]
    with st.container(width=760):  # wider than other controls, for six names
        chosen = st.multiselect(
            "Sources",
            list(titles),
            format_func=named_by(titles),
            accept_new_options=True,
            help=SOURCES,
            **bind("source", start),
        )
    names = [known.get(each, each if each in titles else typed_source(each)) for each in chosen]
    leave = ("source", "side", "least", "starts", "permutations", "seed", "bootstrap", "k")
    question = controls.pick(ColorAgreement, None, LOOKS, more=MORE, leave=leave)
    reading = question.reading
    if reading.layer == LAST:
        reading = replace(reading, layer=None)  # as published
    sources = tuple(dict.fromkeys((PERCEPTION, *names)))
    return replace(question, scope=at.scope, source=sources, reading=reading)


def _titles(at: Place) -> tuple[dict[str, str], dict[str, str]]:
    """Return what people call the sources of this store, by name, and what best, worst and vision
    mean.
    """
    cards = {card.name: card.title for card in queries.store().datasets()}
    models, known = queries.models(at), ends(queries.study(at))
    named = models.set_index("model")["title"]
    reading = models[reads(models, "caption") | reads(models, "image")]
    roles = {BEST: "best", WORST: "worst", LARGEST: "largest vision model"}
    titles = {
        PIXELS + SHIPPED: "pixels of CIFAR-10",
        **{PIXELS + name: f"pixels of {title}" for name, title in cards.items()},
        CAPTIONS: "captions",
        **{end: f"{named[name]} ({roles[end]})" for end, name in known.items()},
        **reading.set_index("model")["title"].to_dict(),
        **PUBLISHED,
    }
    return titles, known


@fragment
def _agreement(at: Place, question: ColorAgreement) -> None:
    st.header("How similar are they?", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        measure = controls.pick_segment("Measure", figures.MEASURES, "measure", start="kendall")
        of = LAYOUTS  # which alone has a disparity
        if measure != "disparity":
            of = controls.pick_segment("Of", OF, "of", start=DISSIMILARITIES)
    found = queries.answer(at, question)
    plot = figures.agreement(found.table, of=of, measure=measure)
    section.draw(at, question, key="agreement", methods=AGREEMENT, plot=plot)


frame.draw("Is color geometry shared by perception, pixels and words?", show)
