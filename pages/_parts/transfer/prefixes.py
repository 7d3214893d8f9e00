"""Soft prompts: what a frozen language model reads of an image through one linear map."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from core.options import build
from core.questions.finding import sentences
from core.questions.prefix.question import (
    PrefixBits,
    PrefixCaptions,
    caption_findings,
    saving_plot,
    usual_language,
    usual_vision,
)
from core.study.models import codes_text, reads
from pages._shared import bar, controls, exportbar, frame, gallery, prose, queries, section
from pages._shared.address import bind, fragment
from pages._shared.gallery import Clicks, Note
from pages._shared.queries import Place

TRAINING = 60.0  # seconds, about, for each pair of models and seed
OFFER = "Map frozen vision tokens into a frozen language model: does it predict captions better?"
BITS = """A point is a pair of models: bits per byte of a caption behind its own image (filled),
another image (×), and an image-free prefix of equal length (▎)."""
SAVED = "What the image saves over the image-free prefix, with its 95% CI."
METHODS = """A linear map turns frozen vision tokens into a soft prompt (prefix) for a frozen
language model; only the map learns, from captions of other images than those measured. The control
is a prefix of equal length that is learned without images. Intervals cover images and
trainings."""
SAMPLES = """Greedy continuations behind each image, by the first training's map. The images are the
first of those measured."""
OPTIONS = controls.options_by_name(PrefixBits)
NUMBERS = ("events", "passes", "seeds", "seed")
SHOWN = 12  # stimuli with what is written behind them


def pick(at: Place) -> PrefixBits:
    """Choose the models, and how maps are trained."""
    models, study = queries.models(at), queries.study(at)
    coding, seeing = models[codes_text(models)], models[reads(models, "image")]
    vision = usual_vision(study)
    language = usual_language(study, vision)
    x = controls.pick_models(OPTIONS["x"], coding, usual=len(language))
    y = controls.pick_models(OPTIONS["y"], seeing, usual=len(vision))
    with bar.more():
        numbers = {name: controls.pick_number(OPTIONS[name]) for name in NUMBERS}
        levels = ["", *queries.card(at).levels]
        level = controls.pick_choice(OPTIONS["level"], levels, labels=_level_names(levels))
        shuffled = controls.pick_switch(OPTIONS["shuffled"])
    chosen = {"x": x, "y": y, "level": level, "shuffled": shuffled, **numbers}
    return build(PrefixBits, {"dataset": at.dataset, **chosen})


def _level_names(levels: list[str]) -> dict[str, str]:
    return {level: level or "the first" for level in levels}


def offered(at: Place) -> bool:
    """Return whether the dataset has images and captions."""
    card = queries.card(at)
    return bool(card.has_images and card.levels)


def show(at: Place) -> None:
    """Draw what images save, or offer the job that measures it."""
    if queries.models(at).empty:
        frame.need_readers(at, "caption", "image")
    frame.need_stimuli(at)
    with bar.controls_bar():
        question = pick(at)
    with frame.part():
        answered = section.draw(
            at,
            question,
            key="bits",
            caption=BITS,
            methods=METHODS,
            models=True,
            seconds=partial(_seconds, at, question),
            label="Train the maps",
            offer=OFFER,
        )
        if answered is None:
            return
        plot = saving_plot(answered.table)
        section.draw(at, question, key="saved", caption=SAVED, plot=plot, models=True, lead=0)
        with st.expander("What the language model writes"):
            _show_samples(at, question, answered.table)


def _seconds(at: Place, question: PrefixBits) -> float:
    study = queries.study(at)
    vision = question.y or usual_vision(study)
    pairs = len(vision) * len(question.x or usual_language(study, vision))
    return TRAINING * pairs * question.lessons.seeds


@fragment
def _show_samples(at: Place, question: PrefixBits, table: pd.DataFrame) -> None:
    """Draw what one language model writes behind images."""
    finished = table[table["saved"].notna()]
    if finished.empty:
        return
    pairs = {
        f"{row['y']} > {row['x']}": f"{row['y_title']} → {row['x_title']}"
        for row in finished.to_dict("records")
    }
    first = finished.sort_values("saved", kind="stable").iloc[-1]
    chosen = st.selectbox(
        "Models",
        list(pairs),
        format_func=pairs.get,
        **bind("writes", f"{first['y']} > {first['x']}", pairs),
    )
    y, x = chosen.split(" > ")
    wanted = PrefixCaptions(question.scope, x, y, question.shuffled, question.lessons)
    with frame.part():
        table = queries.ask(at, wanted)
        prose.answer(sentences(caption_findings(table)))
        written = dict(zip(table["index"], table["written"], strict=True))
        indices = [int(index) for index in table["index"][:SHOWN]]
        gallery.grid(
            at,
            indices,
            key="written",
            width=150,
            note=lambda index: Note(text=written[index]),
            clicks=Clicks(None),
        )
        st.caption(f"Without an image it always writes: “{frame.plain(table['without'].iloc[0])}”")
        exportbar.draw_table(at, wanted, table, key="written-table")
        st.caption(SAMPLES)
