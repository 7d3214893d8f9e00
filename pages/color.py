"""Color: is its geometry the same to eyes, in pixels and in words?"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import streamlit as st

from core.errors import PlatoscopeError
from core.questions.color import answer as coloring
from core.questions.color import figures as figures
from core.questions.color import findings as verdicts
from core.questions.color.geometry.agreement import DISSIMILARITIES, LAYOUTS
from core.questions.color.sources import Captions, Cooccurrence, Language
from core.statistics.correlations import spearman_interval
from core.study.models import UNTRAINED
from pages._parts.color import hues, spaces
from pages._parts.color.hues import PERCEPTION, Asked
from pages._shared import exportbar, frame, queries
from pages._shared.queries import Place

DIMS = {3: "3-D", 2: "2-D"}
OF = {DISSIMILARITIES: "the dissimilarities themselves", LAYOUTS: "distances in the layouts"}
AGREEMENT = """**How to read it.** Each two sources over the {colors} colors that all of them have.
τ and ρ correlate how unlike all pairs of colors are; neighbors preserved is the
mean share of a color's three nearest that two sources share; disparity is what no
turn, scale or mirror image takes away, and low is alike. p: how often shuffled
colors agree as much, adjusted for all pairs; the hover card has the 95 % interval
for other colors."""
ERRORS = """**How to read it.** How far from its place in perception each color lies, in ΔE of
CIELAB: 2 is barely seen, 20 is another shade, 60 another color. Empty: the source
has no such color."""
COUNTED = """**What is counted.** Unlike is max PMI − PMI, of pixels that lie close together or
of words of one caption. Colors that were seen too seldom are left out. {unseen}"""
UNSEEN = {
    True: "Every count is raised by {0:g}, so that a pair that was never seen has {0:g}.",
    False: (
        "A source with a pair that was never seen is refused, since nothing is added to its counts."
    ),
}
CAVE = """**Why words can know color here.** Language models of the Cave have read captions
and never seen a pixel; {words} words name colors there. Two things in the captions
carry color. The words of one color (teal, turquoise, aqua and cyan) are used for
each other, so that a model lays them on one spot. And each kind of thing comes in
hues around one of its own, and neighbors on the hue circle share kinds of things,
so that the eight colors of the Cave form a ring. Choose one word per color under
“Color words” (red, orange, yellow, green, teal, blue, purple, pink) to see the ring
alone. Two color words of one caption belong to two different things; that is why
counting them together tells less{seen}."""
KNOWLEDGE = """**How to read it.** Each mark is a language model, asked by the same sentences;
larger marks have more parameters. Up means that it finds the same colors alike as
perception does. Abdou et al. (2021), whom the published figure follows, saw that
similarity to perception grows as language models grow and get better at text."""


def show(at: Place) -> None:
    """Draw the layouts, then how alike they are, how far off each color is, and what language
    models know of color.
    """
    with st.sidebar:
        asked = hues.pick(at)
        dims = st.segmented_control(
            "Layouts in",
            list(DIMS),
            default=3,
            required=True,
            format_func=DIMS.get,
            key="dims",
            bind="query-params",
        )
    tables = lay_out(at, asked, dims)
    if tables:
        spaces.show(at, asked, tables, dims)
        with frame.part():
            show_agreement(at, asked, tables, dims)
        with frame.part():
            show_errors(at, asked, tables, dims)
    with frame.part():
        show_knowledge(at, asked)


def lay_out(at: Place, asked: Asked, dims: int) -> dict[str, pd.DataFrame]:
    """Return the layout of each source by what it is called, and say why others have none."""
    tables: dict[str, pd.DataFrame] = {}
    for title, source in asked.sources.items():
        try:
            table = queries.compared(at, coloring.lay_out_colors, source, dims=dims, **asked.chosen)
        except PlatoscopeError as error:
            st.caption(f"Left out: {frame.plain(title)}, {frame.plain(error)}.")
        else:
            tables[title] = table.assign(source=title)
    return tables


def show_agreement(at: Place, asked: Asked, tables: Mapping[str, pd.DataFrame], dims: int) -> None:
    """Draw how alike every two sources are, and say what is seen."""
    st.subheader("How alike are they?", anchor=False)
    sources = tuple(asked.sources[title] for title in tables)
    if len(sources) < 2:
        raise frame.NeededError("Choose a source beside perception: one alone agrees with itself.")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        measure = st.segmented_control(
            "Measure",
            list(figures.MEASURES),
            default="kendall",
            required=True,
            wrap=True,
            format_func=figures.MEASURES.get,
            key="measure",
            bind="query-params",
        )
        of = LAYOUTS
        if measure != "disparity":  # which dissimilarities do not have
            of = st.segmented_control(
                "of",
                list(OF),
                default=DISSIMILARITIES,
                required=True,
                wrap=True,
                format_func=OF.get,
                key="of",
                bind="query-params",
            )
    table = queries.compared(at, coloring.compare_colors, sources, dims=dims, **asked.chosen)
    kept = dict.fromkeys([*table["x"], *table["y"]])  # in the order of the sources
    if len(kept) < len(sources):
        raise frame.NeededError("Two of these sources have the same name; rename one of the files.")
    names = dict(zip(kept, tables, strict=True))
    table = table.assign(x=table["x"].map(names), y=table["y"].map(names))
    figure = figures.agreement(
        table, of=of, measure=measure, mode=frame.mode(), narrow=frame.narrow()
    )
    given = [source.choices(queries.study(at)) for source in sources]
    recipe = queries.recipe(at, "color-agreement", [], sources=given, dims=dims, **asked.chosen)
    command = asked.command(at, sources, "--dims", str(dims))
    exportbar.plot(figure, key="agreement", table=table, recipe=recipe, command=command)
    st.markdown(AGREEMENT.format(colors=table["colors"].iloc[0]))
    told = (
        f"{verdicts.tell_perception(table, PERCEPTION)} {verdicts.tell_others(table, PERCEPTION)}"
    )
    st.markdown(f"**What is seen.** {frame.plain(told)}")
    explain(at, asked, tables)
    with st.expander("The table behind the plot"):
        st.dataframe(table, hide_index=True)


def explain(at: Place, asked: Asked, tables: Mapping[str, pd.DataFrame]) -> None:
    """Say what is counted, and where the models of a made world have color from."""
    drawn = {title: asked.sources[title] for title in tables}
    counted = [source for source in drawn.values() if isinstance(source, Cooccurrence | Captions)]
    if counted:
        smoothing = counted[0].smoothing
        st.markdown(COUNTED.format(unseen=UNSEEN[smoothing > 0].format(smoothing)))
    language = [tables[title] for title, source in drawn.items() if isinstance(source, Language)]
    if queries.card(at).has_demo and language:
        seen = [
            tables[title]["seen"] for title, source in drawn.items() if isinstance(source, Captions)
        ]
        few = (
            f", and each is there {seen[0].min():.0f} to {seen[0].max():.0f} times only"
            if seen
            else ""
        )
        st.markdown(CAVE.format(words=len(language[0]), seen=few))


def show_errors(at: Place, asked: Asked, tables: Mapping[str, pd.DataFrame], dims: int) -> None:
    """Draw how far each source has each color from where perception has it."""
    others = {title: table for title, table in tables.items() if title != PERCEPTION}
    if not others:
        return
    st.subheader("Which colors are where perception has them?", anchor=False)
    figure = figures.errors(list(others.values()), mode=frame.mode(), narrow=frame.narrow())
    sources = [asked.sources[title] for title in others]
    given = [source.choices(queries.study(at)) for source in sources]
    commands = [asked.command(at, [source], "--dims", str(dims)) for source in sources]
    exportbar.plot(
        figure,
        key="errors",
        table=pd.concat(list(others.values()), ignore_index=True),
        recipe=queries.recipe(at, "color-errors", [], sources=given, dims=dims, **asked.chosen),
        command="\n".join(line for line in commands if line),
    )
    st.markdown(ERRORS)


def show_knowledge(at: Place, asked: Asked) -> None:
    """Draw what each language model knows of color against its competence and size."""
    st.subheader("Do better language models know color better?", anchor=False)
    frame.need_readers(at, "caption")
    named = {key: value for key, value in asked.reading.items() if value is not None}
    points = queries.compared(at, coloring.compare_models, **named, **asked.chosen)
    points = points.assign(untrained=points["group"] == UNTRAINED)
    known = {name: title for name, title in figures.MEASURES.items() if name in points}
    measure = st.segmented_control(
        "Agreement with perception",
        list(known),
        default="kendall",
        required=True,
        wrap=True,
        format_func=known.get,
        key="known",
        bind="query-params",
    )
    whole = points[~points["copy"] & ~points["untrained"]]
    found = {
        column: spearman_interval(
            whole[column].to_numpy(np.float64), whole[measure].to_numpy(np.float64)
        )
        for column in ("competence", "parameters")
    }
    notes = {column: figures.correlation_text(one) for column, one in found.items()}
    figure = figures.knowledge(
        points, measure=measure, notes=notes, mode=frame.mode(), narrow=frame.narrow()
    )
    recipe = queries.recipe(
        at, "color-models", list(points["model"]), **asked.reading, **asked.chosen
    )
    command = asked.command(at, [Language("all", **asked.reading)])
    exportbar.plot(figure, key="knowledge", table=points, recipe=recipe, command=command)
    st.markdown(KNOWLEDGE)
    by_kendall = spearman_interval(
        whole["competence"].to_numpy(np.float64), whole["kendall"].to_numpy(np.float64)
    )
    st.markdown(f"**What is seen.** {verdicts.tell_models(points, by_kendall)}")


frame.draw("Is the geometry of color the same to eyes and to words?", show)
