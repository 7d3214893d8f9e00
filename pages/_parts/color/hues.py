"""Where colors come from and how they are counted and read: what the Color page asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

import streamlit as st

from core.questions.color.geometry.cooccurrence import GRID, GRIDS, PAIRS, RADIUS, SMOOTHING
from core.questions.color.geometry.language import LAST, LAST_FOUR, SENTENCES, SLOT
from core.questions.color.geometry.shipped import NAME as SHIPPED
from core.questions.color.geometry.words import SURVEYS, color_words
from core.questions.color.sources import (
    BEST,
    WORST,
    Captions,
    Cooccurrence,
    Language,
    Perception,
    Source,
    Vectors,
)
from pages._shared import frame, queries
from pages._shared.queries import Place

PERCEPTION, PIXELS, CAPTIONS, HUB = "perception", "pixels:", "captions", "hf:"
TABLES = (
    ".npy",
    ".safetensors",
    ".pt",
    ".parquet",
)  # files of features; an .npz file is one of pictures here
PUBLISHED = {"simcse": "SimCSE, from the hub", "roberta": "RoBERTa, from the hub"}
USUAL = "as published, else last"
KINDS = {
    Perception: PERCEPTION,
    Cooccurrence: "cooccurrence",
    Captions: CAPTIONS,
    Language: "language",
    Vectors: "vectors",
}
NAMED = {"images", "model", "file"}  # what of a source the command line lists
SOURCES = f"""What tells how unlike colors are; perception is always there. Pixels: which colors
are seen close together. Captions: which color words share one. Language models: how
far apart they hold the words. Type {HUB}ID for another model, a folder or an .npz
file for pictures of your own, an .npy file for vectors of your own."""
WORDS = (
    "All that a source has, if none is chosen. A file of vectors has a row for each, in this order."
)
LAYERS = (
    "Of every language model: its last layer, the last four side by side, or one by its name or"
    " number."
)
UNSEEN = (
    "Added to each count, so that a pair that was never seen is as if seen so often. With 0 such a"
    " pair is refused."
)
SHRUNK = "Pictures are shrunk to so many pixels first, and a pixel then means more of a picture."


@dataclass(frozen=True)
class Asked:
    """What the controls choose.

    sources: by what they are called, perception first. reading: of language models, layer and
    sentences. words: some of the color words, None for all. survey: which one tells their colors.
    """

    sources: dict[str, Source]
    reading: dict[str, Any]
    words: tuple[str, ...] | None
    survey: str

    @property
    def chosen(self) -> dict[str, Any]:
        """Return what all sources are asked alike, as `core.questions.color.answer` takes it."""
        return {"words": self.words, "survey": self.survey}

    def command(self, at: Place, sources: Sequence[Source], *more: str) -> str | None:
        """Return the `color` command of these sources with further words; None where no one command
        asks them all.
        """
        given = {name: value for one in sources for name, value in _options(one).items()}
        given |= {"words": self.words} if self.words else {}
        given |= {"survey": self.survey} if self.survey != SURVEYS[0] else {}
        files = [one for one in sources if isinstance(one, Vectors)]
        if len(files) > 1 or any(
            getattr(one, name, value) != value for one in sources for name, value in given.items()
        ):
            return None
        named: dict[str, list[str]] = {}
        for one in sources:
            for name in NAMED & set(vars(one)):
                named.setdefault(name, []).append(getattr(one, name))
        kinds = dict.fromkeys(KINDS[type(one)] for one in sources)
        options = [
            word
            for name, value in (named | given).items()
            for word in (f"--{name}", *_words(value))
        ]
        return frame.command("color", "--dataset", at.dataset, "--source", *kinds, *options, *more)


def _options(source: Source) -> dict[str, Any]:
    """Return a source's choices that are not the usual ones."""
    defaults = {each.name: each.default for each in fields(source) if each.name not in NAMED}  # type: ignore[arg-type]
    given = {name: (getattr(source, name), usual) for name, usual in defaults.items()}
    return {
        name: value for name, (value, usual) in given.items() if usual is MISSING or value != usual
    }


def _words(value: Any) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list | tuple) else [str(value)]


def pick(at: Place) -> Asked:
    """Draw the controls."""
    titles = _titles(at)
    chosen = st.multiselect(
        "Sources",
        list(titles),
        default=_usual(at),
        format_func=lambda each: titles.get(each, each),
        key="source",
        accept_new_options=True,
        help=SOURCES,
        bind="query-params",
    )
    reading = _pick_reading()
    counting = _pick_counting()
    every = list(color_words()["word"])
    words = st.multiselect(
        "Color words",
        every,
        key="word",
        placeholder=f"all {len(every)}",
        help=WORDS,
        bind="query-params",
    )
    text = "The survey that tells which color a word means."
    survey = st.selectbox(
        "Colors of words by", SURVEYS, key="survey", help=text, bind="query-params"
    )
    found: dict[str, Source] = {PERCEPTION: Perception()}
    for each in chosen:
        found[titles.get(each, each)] = _source(at, each, counting, reading, tuple(words or every))
    once = {
        one: title for title, one in reversed(found.items())
    }  # a model may be chosen by its name and as the best
    return Asked(
        {title: one for title, one in found.items() if once[one] == title},
        reading,
        tuple(words) or None,
        survey,
    )


def _titles(at: Place) -> dict[str, str]:
    """Return what sources are called, by what the address and the command line call them."""
    cards = {card.name: card.title for card in queries.store().datasets()}
    pictures = {SHIPPED: "CIFAR-10", **cards}
    models = queries.models(at).query("modality == 'language'").set_index("model")["title"]
    ends = {end: f"{models[name]} ({end})" for end, name in _ends(at).items()}
    named = {PIXELS + name: f"pixels of {title}" for name, title in pictures.items()}
    return {
        **named,
        CAPTIONS: f"captions of {cards[at.dataset]}",
        **ends,
        **models.to_dict(),
        **PUBLISHED,
    }


def _ends(at: Place) -> dict[str, str]:
    """Return the best and the worst language model by competence, where there are any."""
    values = queries.competence(at).dropna(subset="value").set_index("model")["value"]
    ends = {BEST: str(values.idxmax()), WORST: str(values.idxmin())} if len(values) else {}
    return ends if len(values) > 1 else {end: name for end, name in ends.items() if end == BEST}


def _usual(at: Place) -> list[str]:
    return [PIXELS + SHIPPED, PIXELS + at.dataset, CAPTIONS, *_ends(at)]


def _source(
    at: Place,
    each: str,
    counting: Mapping[str, Any],
    reading: Mapping[str, Any],
    words: tuple[str, ...],
) -> Source:
    """Return the source of a name: a listed one, or what was typed. The counts that come along are
    of their own pairs of pixels.
    """
    smoothing, by = counting["smoothing"], counting["by"]
    if each == PIXELS + SHIPPED:
        return Cooccurrence(by=by, smoothing=smoothing)
    if each == CAPTIONS:
        return Captions(smoothing=smoothing)
    name = _ends(at).get(each, each)
    if name in set(queries.models(at)["model"]) or name in PUBLISHED or name.startswith(HUB):
        return Language(name, **reading)
    if Path(each).suffix.lower() in TABLES:
        return Vectors(each, words)
    return Cooccurrence(each.removeprefix(PIXELS), **counting)


def _pick_reading() -> dict[str, Any]:
    """Choose what language models are asked, and where they are read."""
    layer = st.selectbox(
        "Layer",
        [USUAL, LAST, LAST_FOUR],
        key="layer",
        accept_new_options=True,
        help=LAYERS,
        bind="query-params",
    )
    with st.expander("Sentences"):
        text = (
            f"One in a line, {SLOT} where the color stands. A word's vectors are averaged over"
            " them."
        )
        written = st.text_area(
            "Sentences",
            "\n".join(SENTENCES),
            key="sentences",
            help=text,
            label_visibility="collapsed",
            height=130,
            bind="query-params",
        )
    lines = tuple(line.strip() for line in written.splitlines() if line.strip())
    return {"layer": None if layer == USUAL else layer, "sentences": lines}


def _pick_counting() -> dict[str, Any]:
    """Choose how pixels are counted."""
    with st.expander("Pixels"):
        by = {"words": "the nearest color word", "cells": "themselves, on the grid"}
        counts = {
            "by": st.selectbox(
                "Pixels count for", list(by), format_func=by.get, key="by", bind="query-params"
            ),
            "radius": st.number_input(
                "Radius in pixels", 1.0, 64.0, RADIUS, 0.5, key="radius", bind="query-params"
            ),
            "pairs": int(
                st.number_input(
                    "Pairs of pixels",
                    1000,
                    30_000_000,
                    PAIRS,
                    100_000,
                    key="pairs",
                    bind="query-params",
                )
            ),
            "grid": int(
                st.number_input(
                    "Grid, steps per channel", *GRIDS, GRID, key="grid", bind="query-params"
                )
            ),
            "smoothing": st.number_input(
                "Smoothing",
                0.0,
                1000.0,
                SMOOTHING,
                0.5,
                key="smoothing",
                help=UNSEEN,
                bind="query-params",
            ),
        }
        side = st.selectbox(
            "Pictures of",
            [0, 32, 64, 128],
            format_func=lambda n: f"{n} pixels" if n else "their own size",
            key="side",
            help=SHRUNK,
            bind="query-params",
        )
        st.caption(
            "The counts of CIFAR-10 that come along have a radius, pairs and grid of their own: 4,"
            " 30 million and 8."
        )
    return {**counts, "side": side or None}
