"""Benefits: what do better models buy?"""

from __future__ import annotations

import streamlit as st

from core.questions.asking import findings_of
from core.questions.benefits import figures
from core.questions.benefits.question import Bias, Hallucination, Transfer
from pages._shared import exportbar, frame, prose, queries
from pages._shared.address import fragment
from pages._shared.queries import Place

BIAS_AXES = {
    "distance from the law": "total variation distance from the world's own colors",
    "amplification": "probability of the most common color, model − world",
}
HALLUCINATION_AXES = {
    "impossible captions": "share of captions that no event can be",
    "no caption": "share of texts that begin with no caption",
}
TRANSFER = """Each line is one learner at three shares of its data, with **transfer** and without;
small dots are the seeds, diamonds their mean. With transfer a learner also predicts, from its
pooled last state through one linear map, what a frozen model of the other modality makes of the
same events: a masked autoencoder that never saw a word, or a language model that never saw an
image. The **exchange rate** is how much more of its own data a learner without transfer needs to
be as good, per event the teacher was shown. It is read off the line without transfer, and never
beyond its ends."""
BIAS = """Each dot is a language model, each line a family through the means over its seeds. Models
complete “There is a car painted”, for every kind of thing, as captions of the Cave do. Their
probabilities of the eight colors are compared with the **law** by which the Cave gives colors to
kinds. The heading says how much a measure changes as parameters grow tenfold; **p** is how often
sizes dealt anew among the recipes of each family change it as much."""
HALLUCINATION = """Each model writes texts by itself, every word drawn from its own probabilities.
The first caption of each is read back by the Cave's grammar. It is impossible if no event can
be so: it counts other things than it names, puts two things in one place, or names a thing again
in another color. Texts that begin with no caption of the grammar are counted apart. Dotted lines
are checks without a model: real captions of held-out events, and the same with their words
shuffled."""


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
        figure = figures.transfer(table, frame.mode(), narrow=frame.narrow())
        exportbar.draw(at, question, figure, key="transfer", table=table)
        prose.explain(TRANSFER, said[prose.LEAD :])


@fragment
def show_bias(at: Place) -> None:
    """Draw how far models' expectations of color are from the world's law."""
    st.header("Are larger language models less biased?", anchor=False)
    _show_sizes(at, Bias(at.scope), BIAS_AXES, BIAS)


@fragment
def show_hallucination(at: Place) -> None:
    """Draw how much of what models write no event can be."""
    st.header("Do larger language models invent less?", anchor=False)
    _show_sizes(at, Hallucination(at.scope), HALLUCINATION_AXES, HALLUCINATION)


def _show_sizes(
    at: Place, question: Bias | Hallucination, axes: dict[str, str], reading: str
) -> None:
    key = question.command.split()[-1]
    with frame.part():
        table = queries.ask(at, question)
        said = findings_of(question, table)
        prose.answer(said[:1])
        title = f"{key.capitalize()} over size"
        figure = figures.over_size(table, axes, frame.mode(), title=title, narrow=frame.narrow())
        exportbar.draw_models(at, question, figure, key=key, table=table)
        prose.explain(reading, said[1:])


frame.draw("What do better models buy?", show)
