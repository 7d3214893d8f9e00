"""Pixels in CIELAB, and the layout of their co-occurrences next to them: figure 8, left."""

from __future__ import annotations

import streamlit as st

from core.questions.color import space_figures as figures
from core.questions.color.parts import SHIPPED, PairCounting
from core.questions.color.question import CLOUD, LAYOUT, ColorPixels
from core.questions.finding import sentences
from pages._parts.color.hues import Hues
from pages._shared import controls, exportbar, frame, prose, queries
from pages._shared.address import bind
from pages._shared.queries import Place

READING = """First, {pixels} where CIELAB has them, each in its own color. Then the colors of a
grid in RGB, laid out only by how often they lie close together in pictures, and rotated onto
CIELAB. The published figure 8 begins with these two."""
SINGLE, COUNTED = "pixels", "the cells of a grid in RGB that CIFAR-10’s counted pixels fall in,"


def show(at: Place, hues: Hues) -> None:
    """Draw both panels."""
    st.header("Pixels, and the layout of their co-occurrences", anchor=False)
    question = pick(at, hues)
    found = queries.answer(at, question)
    table = found.table
    panels = [table[table["source"] == source] for source in (CLOUD, LAYOUT)]
    figure = figures.layouts(panels, mode=frame.mode(), narrow=frame.narrow())
    exportbar.draw(at, question, figure, key="cloud", table=table)
    pixels = COUNTED if question.images == SHIPPED else SINGLE
    prose.explain(READING.format(pixels=pixels), sentences(found.findings))


def pick(at: Place, hues: Hues) -> ColorPixels:
    """Choose the pictures; those of one's own are counted as the bar says."""
    options = controls.options_by_name(ColorPixels)
    images = st.text_input(
        options["images"].label,
        help=controls.tip_of(options["images"]),
        **bind("images", SHIPPED),
    )
    if images.strip() in ("", SHIPPED):  # whose counting and colors are given
        return ColorPixels(at.scope)
    chosen = vars(hues.question.counting)
    return ColorPixels(
        at.scope,
        images.strip(),
        int(controls.pick_between(options["drawn"], 100, 5000, 100)),
        PairCounting(**{name: chosen[name] for name in vars(PairCounting())}),
    )
