"""Color: is its geometry the same to eyes, in pixels and in words?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd
import streamlit as st

from core.errors import PlatoscopeError
from core.questions.asking import Answered
from core.questions.color import figures, knowledge_figures
from core.questions.color.agreement import DISSIMILARITIES, LAYOUTS
from core.questions.color.parts import PERCEPTION, kind_of
from core.questions.color.question import finished_correlation
from core.questions.finding import sentences
from pages._parts.color import hues as controlled
from pages._parts.color import spaces
from pages._parts.color.hues import Hues
from pages._parts.color.spaces import Tables
from pages._parts.published import listed
from pages._shared import bar, controls, exportbar, frame, prose, queries
from pages._shared.queries import Place

OF = {DISSIMILARITIES: "the dissimilarities themselves", LAYOUTS: "distances in the layouts"}
AGREEMENT = """Each cell compares two sources over the {colors} colors that all
sources have. τ and ρ correlate the dissimilarities of all pairs of colors; neighbors preserved is
the mean share of a color's three nearest that two sources have in common; disparity is what remains
after the best rotation, scaling and reflection: low means similar. p says how often shuffled colors
agree at least as well, adjusted for all pairs; hover cards show the 95% interval over other
colors."""
ERRORS = """How far each color lies from its place in perception, in ΔE of
CIELAB: 2 is barely visible, 20 is another shade, 60 another color. Where a cell is empty, the
source lacks the color."""
COUNTED = """**What is counted.** Dissimilarity is max PMI − PMI, of pixels that lie close together
or of words in one caption. Colors that were seen too rarely are left out. {unseen}"""
UNSEEN = {
    True: "{0:g} is added to every count, so a pair that was never seen counts {0:g}.",
    False: "A source with a pair that was never seen is refused, since nothing is added to counts.",
}
CAVE = """**Why words can know color here.** Language models of the Cave have read captions and
never seen a pixel; {words} words name colors there. Two things in the captions carry color. The
words for one color (teal, turquoise, aqua and cyan) are interchangeable, so a model places them
together. And each kind of thing comes in a few neighboring hues, and neighbors on the hue circle
share kinds of things, so the eight colors of the Cave form a ring. Choose one word per color under
“Color words” (red, orange, yellow, green, teal, blue, purple, pink) to see the ring alone. Two
color words in one caption belong to two different things, which is why counting them together
reveals less{seen}."""
KNOWLEDGE = """Each mark is a language model, asked with the same sentences;
larger marks have more parameters. Higher means that it finds the same colors similar that
perception does. Abdou et al. (2021), followed by the published figure, saw that similarity to
perception grows as language models grow and get better at text."""


def show(at: Place) -> None:
    """Draw the layouts, then how similar they are, how far off each color is, and what language
    models know of color.
    """
    answer = st.container()
    with bar.controls_bar():
        hues = controlled.pick(at)
    tables = lay_out(at, hues)
    if tables:
        if len(tables) > 1:
            with answer, frame.part():
                prose.answer(sentences(agree(at, hues, tables).findings)[: prose.LEAD])
        spaces.show(at, hues, tables)
        with frame.part():
            show_agreement(at, hues, tables)
        with frame.part():
            show_errors(at, hues, tables)
    with frame.part():
        show_knowledge(at, hues)
    listed.show(at, "color")


def lay_out(at: Place, hues: Hues) -> dict[str, pd.DataFrame]:
    """Return the layout of each source by its name, and say why others have none."""
    tables: dict[str, pd.DataFrame] = {}
    left_out = []
    for name, title in hues.titles.items():
        try:
            table = queries.ask(at, hues.layout(name))
        except PlatoscopeError as error:
            left_out.append(f"Left out: {frame.plain(title)}, {frame.plain(error)}.")
        else:
            tables[name] = table.assign(source=title)
    if left_out:
        with st.expander(f"Sources left out: {len(left_out)}", icon=":material/warning:"):
            for reason in left_out:
                st.caption(reason)
    return tables


def agree(at: Place, hues: Hues, tables: Tables) -> Answered:
    """Return how similar every two sources are, with their titles."""
    found = queries.answer(at, hues.agreement(*tables))
    table = found.table
    titles = dict(zip(dict.fromkeys([*table["x"], *table["y"]]), tables, strict=True))
    names = {title: hues.titles[name] for title, name in titles.items()}
    return replace(found, table=table.assign(x=table["x"].map(names), y=table["y"].map(names)))


def show_agreement(at: Place, hues: Hues, tables: Tables) -> None:
    """Draw how similar every two sources are, and say what is seen."""
    st.header("How similar are they?", anchor=False)
    if len(tables) < 2:
        raise frame.NeededError("Choose a source besides perception: one alone agrees with itself.")
    measure, of = _pick_measure()
    found = agree(at, hues, tables)
    table = found.table
    figure = figures.agreement(
        table, of=of, measure=measure, mode=frame.mode(), narrow=frame.narrow()
    )
    exportbar.draw(at, hues.agreement(*tables), figure, key="agreement", table=table)
    findings = sentences(found.findings)
    how = AGREEMENT.format(colors=table["colors"].iloc[0])
    prose.explain("\n\n".join([how, *counted(at, hues, tables)]), findings[prose.LEAD :])
    with st.expander("The table behind the plot"):
        st.dataframe(table, hide_index=True)


def _pick_measure() -> tuple[str, str]:
    """Choose a measure of agreement, and whether of dissimilarities or layouts."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        measure = controls.pick_segment("Measure", figures.MEASURES, "measure", start="kendall")
        if measure == "disparity":  # which dissimilarities do not have
            return measure, LAYOUTS
        return measure, controls.pick_segment("of", OF, "of", start=DISSIMILARITIES)


def counted(at: Place, hues: Hues, tables: Tables) -> Iterator[str]:
    """Yield what is counted, and how models of a made world can know color."""
    kinds = {name: kind_of(name) for name in tables}
    if {"pixels", "captions"} & set(kinds.values()):
        smoothing = hues.question.counting.smoothing
        yield COUNTED.format(unseen=UNSEEN[smoothing > 0].format(smoothing))
    words = [len(tables[name]) for name, kind in kinds.items() if kind == "language"]
    if queries.card(at).world and words:
        seen = [tables[name]["seen"] for name, kind in kinds.items() if kind == "captions"]
        times = f"{seen[0].min():.0f} to {seen[0].max():.0f}" if seen else ""
        few = f", and each occurs only {times} times" if times else ""
        yield CAVE.format(words=words[0], seen=few)


def show_errors(at: Place, hues: Hues, tables: Tables) -> None:
    """Draw how far each source puts each color from where perception has it."""
    others = {name: table for name, table in tables.items() if name != PERCEPTION}
    if not others:
        return
    st.header("Which colors are where perception has them?", anchor=False)
    figure = figures.errors(list(others.values()), mode=frame.mode(), narrow=frame.narrow())
    spaces.draw(at, hues, figure, others, key="errors")
    prose.explain(ERRORS)


def show_knowledge(at: Place, hues: Hues) -> None:
    """Draw what each language model knows of color against its competence and size."""
    st.header("Do better language models know color better?", anchor=False)
    frame.need_readers(at, "caption")
    found = queries.answer(at, hues.models)
    models = found.table
    measures = {name: title for name, title in figures.MEASURES.items() if name in models}
    measure = controls.pick_segment("Agreement with perception", measures, "known", start="kendall")
    notes = {
        column: knowledge_figures.correlation_text(finished_correlation(models, column, measure))
        for column in ("competence", "parameters")
    }
    figure = knowledge_figures.knowledge(
        models, measure=measure, notes=notes, mode=frame.mode(), narrow=frame.narrow()
    )
    exportbar.draw(at, hues.models, figure, key="knowledge", table=models)
    prose.explain(KNOWLEDGE, sentences(found.findings))


frame.draw("Is the geometry of color the same to eyes and to words?", show)
