"""The sources of colors that the Color page asks about, and how they are counted and read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from core.questions.color.parts import (
    BEST,
    CAPTIONS,
    GRIDS,
    PERCEPTION,
    PIXELS,
    SENTENCES,
    SHIPPED,
    SLOT,
    VECTORS,
    WORST,
    Counting,
    Palette,
    Reading,
    Survey,
)
from core.questions.color.perception import color_words
from core.questions.color.question import ColorAgreement, ColorLayout, ColorModels, usual_sources
from core.questions.color.sources import LAST, LAST_FOUR, PRESETS
from core.study.models import reads
from pages._shared import bar, controls, facts, queries
from pages._shared.address import bind, named_by
from pages._shared.queries import Place

HUB = "hf:"
FEATURES = (".npy", ".safetensors", ".pt", ".parquet")  # files of vectors
PUBLISHED = {"simcse": "SimCSE, from the hub", "roberta": "RoBERTa, from the hub"}
USUAL = "as published, otherwise last"
SIDES = {None: "their own size", 32: "32 pixels", 64: "64 pixels", 128: "128 pixels"}
SOURCES = f"""Where the dissimilarities of colors come from; perception is always shown. Pixels:
which colors are seen close together. Captions: which color words appear in one caption. Language
models: how far apart they place the words. Type {HUB}ID for another model, a folder or an .npz file
for your own pictures, an .npy file for your own vectors."""
OWN_COUNTS = """The counts of CIFAR-10 ship with the project and have their own radius, pairs and
grid: 4, 30 million and 8."""

OPTIONS = controls.options_by_name(ColorAgreement)


@dataclass(frozen=True)
class Hues:
    """What the controls choose: the question about all sources, and what people call each source,
    perception first.
    """

    question: ColorAgreement
    titles: dict[str, str]

    def layout(self, *sources: str) -> ColorLayout:
        """Return the question about the layouts of some of the sources."""
        one = self.question
        layout = ColorLayout(one.scope, sources, one.counting, one.reading, one.palette, one.dims)
        return layout.of(*sources)

    def agreement(self, *sources: str) -> ColorAgreement:
        """Return the question about the agreement of some of the sources."""
        return self.question.of(*sources)

    @property
    def models(self) -> ColorModels:
        """Return the question about all language models."""
        return ColorModels(self.question.scope, self.question.reading, self.question.palette)


def pick(at: Place) -> Hues:
    """Draw the controls."""
    titles, layer = _pick_sources(at), _pick_layer()
    palette = _pick_palette()
    with bar.more():
        sentences, counting = _pick_sentences(), _pick_counting()
    question = ColorAgreement(
        scope=at.scope,
        source=tuple(titles),
        reading=Reading(layer, sentences),
        counting=counting,
        palette=palette,
        dims=controls.pick_segment(
            OPTIONS["dims"].label, {3: "3-D", 2: "2-D"}, "dims", start=OPTIONS["dims"].default
        ),
    )
    return Hues(question, titles)


def _pick_sources(at: Place) -> dict[str, str]:
    """Choose sources; return what people call each, by its name, perception first."""
    titles, best = _titles(at), _ends(at)
    chosen = st.multiselect(
        OPTIONS["source"].label,
        list(titles),
        format_func=named_by(titles),
        accept_new_options=True,
        help=SOURCES,
        **bind(
            "source",
            [one for one in usual_sources(at.dataset, [*best]) if one != PERCEPTION],
        ),
    )
    sources = {PERCEPTION: PERCEPTION}
    for each in chosen:
        name = best.get(each) or (each if each in titles else _read_typed(each))
        sources.setdefault(name, titles.get(each, each))
    return sources


def _read_typed(text: str) -> str:
    """Return the source that a typed text means: a model of the hub, a file of vectors, or pictures
    in a folder or file.
    """
    if text == PERCEPTION or text in PRESETS or text.startswith((HUB, PIXELS, VECTORS)):
        return text
    return f"{VECTORS if Path(text).suffix.lower() in FEATURES else PIXELS}{text}"


def _titles(at: Place) -> dict[str, str]:
    """Return what people call the sources of this store, by their names."""
    cards = {card.name: card.title for card in queries.store().datasets()}
    models = queries.models(at)
    readers = models[reads(models, "caption")].set_index("model")["title"]
    pictures = {SHIPPED: "CIFAR-10", **cards}
    return {
        **{PIXELS + name: f"pixels of {title}" for name, title in pictures.items()},
        CAPTIONS: f"captions of {cards[at.dataset]}",
        **{end: f"{readers[name]} ({end})" for end, name in _ends(at).items()},
        **readers.to_dict(),
        **PUBLISHED,
    }


def _ends(at: Place) -> dict[str, str]:
    """Return the best and the worst language model by competence, where there are any."""
    values = facts.competence(at).dropna(subset="value").set_index("model")["value"]
    if values.empty:
        return {}
    best = {BEST: str(values.idxmax())}
    return {**best, WORST: str(values.idxmin())} if len(values) > 1 else best


def _pick_layer() -> str | None:
    """Choose where language models are read out."""
    layer = st.selectbox(
        OPTIONS["layer"].label,
        [USUAL, LAST, LAST_FOUR],
        accept_new_options=True,
        help=controls.tip_of(OPTIONS["layer"]),
        **bind("layer", USUAL),
    )
    return None if layer == USUAL else layer


def _pick_sentences() -> tuple[str, ...]:
    """Write what language models are asked."""
    written = st.text_area(
        OPTIONS["sentences"].label,
        help=f"One per line, with {SLOT} where the color goes. A word's vectors are averaged over"
        " them.",
        height=130,
        **bind("sentences", "\n".join(SENTENCES), joint="\n"),
    )
    return tuple(line.strip() for line in written.splitlines() if line.strip())


def _pick_counting() -> Counting:
    """Choose how colors that occur together are counted."""
    with st.expander("Pixels"):
        counting = Counting(
            by=controls.pick_labeled(
                OPTIONS["by"],
                {"words": "the nearest color word", "cells": "themselves, on the grid"},
            ),
            radius=controls.pick_between(OPTIONS["radius"], 1, 64, 0.5),
            pairs=int(controls.pick_between(OPTIONS["pairs"], 1000, 30_000_000, 100_000)),
            grid=int(controls.pick_between(OPTIONS["grid"], *GRIDS, 1)),
            smoothing=controls.pick_between(OPTIONS["smoothing"], 0, 1000, 0.5),
            side=controls.pick_labeled(OPTIONS["side"], SIDES),
        )
        st.caption(OWN_COUNTS)
    return counting


def _pick_palette() -> Palette:
    """Choose color words, and the survey that says which colors they are."""
    every = list(color_words()["word"])
    words = st.multiselect(
        OPTIONS["words"].label,
        every,
        placeholder=f"all {len(every)}",
        help=controls.tip_of(OPTIONS["words"]),
        **bind("words", [], every),
    )
    surveys: dict[Survey, str] = {"xkcd": "xkcd", "uw": "uw"}
    survey = controls.pick_labeled(OPTIONS["survey"], surveys)
    return Palette(tuple(words), survey)
