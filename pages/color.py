"""Color: is its geometry shared by perception, pixels, words and vision models?"""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from core.competence.records import can_measure
from core.options import build, values_of
from core.questions.color.question import ColorAgreement, ColorLayout, ColorModels
from core.questions.color.sources import (
    BEST,
    CAPTIONS,
    LARGEST,
    LAST,
    LAST_FOUR,
    PERCEPTION,
    PIXELS,
    SHIPPED,
    WORST,
    color_words,
    ends,
    usual_sources,
)
from core.study.models import reads
from pages._parts.published import listed
from pages._shared import address, bar, controls, frame, queries, section
from pages._shared.address import bind, named_by
from pages._shared.controls import Look
from pages._shared.queries import Place

PUBLISHED = {"simcse": "SimCSE, from the hub", "roberta": "RoBERTa, from the hub"}
SOURCES = """Sources of color distances. Perception is always shown. Type
hf:ID for another model."""
LOOKS = {
    "words": Look(
        labels={word: word for word in color_words()["word"]},
        empty="all 24",
        help="The color words shown. Choose one word per hue to see a ring.",
    ),
    "layer": Look(
        start=LAST,
        labels={LAST: "Last", LAST_FOUR: "Last four"},
        help="The layers of models that are read (default: the last).",
    ),
    "by": Look(
        labels={"words": "Color words", "cells": "Grid cells"},
        help="What a pixel counts as: the nearest color word, or a cell of the grid.",
    ),
    "radius": Look(most=64, step=0.5, help="Largest distance between the two pixels of a pair."),
    "pairs": Look(least=1000, step=100_000, help="How many pairs of pixels are drawn."),
    "grid": Look(help="Steps per channel of the color grid (default 8)."),
}
CLOUDS = "Axes: CIELAB (L* light, a* red, b* yellow)."
POINTS = "Hollow: checkpoints."
LAYOUT = """A layout is three-dimensional metric scaling of a source's dissimilarities, rotated,
scaled and, if it fits better, mirrored onto CIELAB. Pixels and captions: max PMI − PMI of colors
that occur together. Language models: distances of their vectors of three sentences about each
color; vision models: of plain images. Competence, not
color, says which language models are shown; p is adjusted for the number of sources."""
AGREEMENT = """τ is Kendall's correlation of the dissimilarities of all pairs of colors; p:
permutations of colors, adjusted for all pairs of sources; interval: draws of colors."""
IMPORTED = """Imported features cannot be asked about colors. Embed a model to compare it with
perception:"""
KNOWLEDGE = """All models read the same sentences. ρ is over finished models, its interval over
families. Abdou et al. (2021) found that similarity to perception grows with model size."""


def show(at: Place) -> None:
    """Draw the clouds, model size against agreement, and, closed, the agreement of all sources."""
    with bar.controls_bar():
        question = pick(at)
    values = values_of(question)
    layout = build(ColorLayout, {name: values[name] for name in values_of(ColorLayout())})
    with frame.part():
        section.draw(at, layout, key="layouts", caption=CLOUDS, methods=LAYOUT)
    models = build(ColorModels, {name: values[name] for name in values_of(ColorModels())})
    embedded = queries.models(at)
    reading, study = embedded[reads(embedded, "caption")], queries.study(at)
    if not embedded.empty and not any(can_measure(study.entry(one)) for one in embedded["model"]):
        st.markdown(IMPORTED)
        how = frame.command("embed", "--dataset", at.dataset, "--model", "hf:gpt2")
        st.code(how, language="bash", wrap_lines=True)
    if embedded.empty or any(can_measure(study.entry(name)) for name in reading["model"]):
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
    if len(question.source) > 1:
        title = "How similar are the sources?"
        section.closed(title, at, question, key="agreement", methods=AGREEMENT)
    listed.show(at, "color")


def pick(at: Place) -> ColorAgreement:
    """Draw the controls."""
    titles, known = _titles(at)
    start = [one for one in usual_sources(queries.study(at)) if one != PERCEPTION]
    address.label("source", "Sources")
    with st.container(width=760):  # wider than other controls, for six names
        chosen = st.multiselect(
            "Sources",
            list(titles),
            format_func=named_by(titles),
            accept_new_options=True,
            help=SOURCES,
            **bind("source", start),
        )
    leave = ("source", "starts", "permutations", "seed", "bootstrap")
    question = controls.pick(ColorAgreement, None, LOOKS, more=(*LOOKS,), leave=leave)
    reading = question.reading
    if reading.layer == LAST:
        reading = replace(reading, layer=None)  # as published
    sources = tuple(dict.fromkeys((PERCEPTION, *(known.get(each, each) for each in chosen))))
    return replace(question, scope=at.scope, source=sources, reading=reading)


def _titles(at: Place) -> tuple[dict[str, str], dict[str, str]]:
    """Return the titles of this store's sources, by name, and what best, worst and vision mean."""
    cards = {card.name: card.title for card in queries.store().datasets() if card.has_images}
    models, known = queries.models(at), ends(queries.study(at))
    named = models.set_index("model")["title"]
    reading = models[reads(models, "caption") | reads(models, "image")]
    roles = {BEST: "most competent", WORST: "least competent", LARGEST: "largest"}
    titles = {
        PIXELS + SHIPPED: "pixels of CIFAR-10",
        **{PIXELS + name: f"pixels of {title}" for name, title in cards.items()},
        CAPTIONS: "captions",
        **{end: f"{named[name]} ({roles[end]})" for end, name in known.items()},
        **reading.set_index("model")["title"].to_dict(),
        **PUBLISHED,
    }
    return titles, known


frame.draw("Is color geometry shared?", show)
