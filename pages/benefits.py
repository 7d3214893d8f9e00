"""Benefits: what do better models buy?"""

from __future__ import annotations

import streamlit as st

from core.figures.grammar import Plot
from core.questions.asking import findings_of
from core.questions.benefits import figures
from core.questions.benefits.question import Bias, Hallucination, Transfer
from pages._shared import exportbar, frame, prose, queries
from pages._shared.address import fragment
from pages._shared.queries import Place

TRANSFER = """Each line is one learner at three shares of its data, with **transfer** and without;
small dots are seeds, diamonds their means. With transfer, a learner also predicts, from its pooled
last state through one linear map, how a frozen model of the other modality represents the same
events: a masked autoencoder that never saw a word, or a language model that never saw an image.
The **exchange rate** is how much more of its own data a learner without transfer would need to do
as well, per event shown to the teacher. It is read off the line without transfer and never
extrapolated."""
BIAS = """Each dot is a language model; each line joins a family's means over seeds. Models complete
“There is a car painted” for every kind of thing, as the Cave's captions do, and their probabilities
of the eight colors are compared with the **law** by which the Cave colors things of that kind. The
heading gives the change as parameters grow tenfold; **p** is how often a change at least as large
appears when sizes are shuffled among the recipes of each family."""
HALLUCINATION = """Each model writes freely, every word drawn from its own probabilities, and the
first caption of each text is parsed by the Cave's grammar. A caption is impossible if no event can
match it: it miscounts the things it names, puts two things in one place, or names a thing again in
another color. Texts that do not begin with a caption of the grammar are counted apart. Horizontal
lines are checks without a model: real captions of held-out events, and the same captions with
their words shuffled."""


def show(at: Place) -> None:
    """Draw section 5 of the published work: transfer, bias and hallucination."""
    if queries.models(at).empty:
        frame.need_readers(at, "caption", "image")
    show_transfer(at)
    show_bias(at)
    show_hallucination(at)


@fragment
def show_transfer(at: Place) -> None:
    """Draw what a model of the other modality is worth in data."""
    st.header("Does one modality help the other?", anchor=False)
    with frame.part():
        question = Transfer(at.scope)
        table = queries.ask(at, question)
        said = findings_of(question, table)
        prose.answer(said[: prose.LEAD])
        figure = figures.transfer(table).draw(frame.mode(), narrow=frame.narrow())
        exportbar.draw(at, question, figure, key="transfer", table=table)
        prose.explain(TRANSFER, said[prose.LEAD :])


@fragment
def show_bias(at: Place) -> None:
    """Draw how far models' expectations of color are from the world's law."""
    st.header("Are larger language models less biased?", anchor=False)
    _show_sizes(at, Bias(at.scope), figures.BIAS, BIAS)


@fragment
def show_hallucination(at: Place) -> None:
    """Draw how much of what models write no event can be."""
    st.header("Do larger language models invent less?", anchor=False)
    _show_sizes(at, Hallucination(at.scope), figures.HALLUCINATION, HALLUCINATION)


def _show_sizes(at: Place, question: Bias | Hallucination, plot: Plot, reading: str) -> None:
    key = question.command.split()[-1]
    with frame.part():
        table = queries.ask(at, question)
        said = findings_of(question, table)
        prose.answer(said[:1])
        figure = figures.over_size(plot, table).draw(frame.mode(), narrow=frame.narrow())
        exportbar.draw_models(at, question, figure, key=key, table=table)
        prose.explain(reading, said[1:])


frame.draw("What do better models buy?", show)
