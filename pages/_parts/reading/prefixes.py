"""What language models read of images through one linear map: trained as a job, since it takes
minutes, and drawn once it is kept.
"""

from __future__ import annotations

import math

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

METHODS = """A **prefix** is what a frozen vision model makes of an image, token by token, brought
by one linear map to where a frozen language model has its words; only the map learns, from
captions of other images than those measured. Dots are the caption's bits per byte behind its own
image, crosses behind another's by the same map, strokes behind a prefix as long that was learned
without images. Bars are 95% **intervals** of what the image saves, over other stimuli and other
trainings."""
SAMPLES = """What the language model writes by itself behind each image, the likeliest word each
time, by the map of the first training. The stimuli are the first of those that are measured; none
was picked by hand."""
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


def show(at: Place) -> None:
    """Draw what images save, or offer the job that measures it."""
    if queries.models(at).empty:
        frame.need_readers(at, "caption", "image")
    frame.need_stimuli(at)
    with bar.controls_bar():
        question = pick(at)
    st.header("Can a language model read an image?", anchor=False)
    with frame.part():
        answered = section.draw(
            at, question, key="bits", models=True, seconds=math.inf, label="Train the maps"
        )
        if answered is None:
            return
        figure = saving_plot(answered.table).draw(frame.mode(), narrow=frame.narrow())
        exportbar.draw_models(at, question, figure, key="saved", table=answered.table)
        prose.explain(METHODS, sentences(answered.findings)[1:])
        _show_samples(at, question, answered.table)


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
        "What it writes behind images",
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
        st.markdown(SAMPLES)
