"""What language models read of images through one linear map: trained as a job, since it takes
minutes, and drawn once it is kept.
"""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.options import build
from core.questions.asking import findings_of
from core.questions.prefix import figures
from core.questions.prefix.naming import usual_language, usual_vision
from core.questions.prefix.question import PrefixBits, PrefixCaptions
from core.study.models import codes_text, reads
from pages._shared import bar, controls, exportbar, frame, gallery, prose, queries, runner
from pages._shared.address import bind, fragment
from pages._shared.gallery import Clicks, Note
from pages._shared.queries import Place

READING = """A **prefix** is what a frozen vision model makes of an image, token by token, brought
by one linear map to where a frozen language model has its words. Only the map learns, from the
likelihood of captions of other images than those measured. Dots are the caption's bits per byte
behind its own image, crosses behind another stimulus's image by the same map, strokes behind a
prefix as long, learned without images: what a prefix does as such is not the image's.
The bar is the 95 % **interval** of what the image saves, over other stimuli and other trainings.
Below, the same savings stand against the pair's **alignment** and against both models'
**competence**."""
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


def show(at: Place, question: PrefixBits) -> None:
    """Draw what images save, or offer the job that measures it."""
    st.header("Can a language model read an image?", anchor=False)
    with frame.part():
        answered = runner.ask(at, question, label="Train the maps")
        if answered is None:
            prose.explain(READING)
            return
        table = answered.table
        titles = queries.models(at).set_index("model")["title"].to_dict()
        said = findings_of(question, table.replace({"x": titles, "y": titles}))
        prose.answer(said[: prose.LEAD])
        mode, narrow = frame.mode(), frame.narrow()
        figure = figures.bits(table, titles, mode, narrow=narrow)
        exportbar.draw_models(at, question, figure, key="bits", table=table)
        figure = figures.beside(table, queries.models(at), mode, narrow=narrow)
        exportbar.draw_models(at, question, figure, key="saved", table=table)
        prose.explain(READING, said[prose.LEAD :])
        _show_samples(at, question, table)


@fragment
def _show_samples(at: Place, question: PrefixBits, table: pd.DataFrame) -> None:
    """Draw what one language model writes behind images."""
    finished = table[table["saved"].notna()]
    if finished.empty:
        return
    titles = queries.models(at).set_index("model")["title"].to_dict()
    pairs = {
        f"{y} > {x}": f"{titles[y]} → {titles[x]}"
        for x, y in zip(finished["x"], finished["y"], strict=True)
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
        prose.answer(findings_of(wanted, table)[: prose.LEAD])
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
