"""Benefits: what do better models buy?"""

from __future__ import annotations

from core.questions.benefits import SizeEffects, Transfer
from pages._shared import frame, queries, section
from pages._shared.address import fragment
from pages._shared.queries import Place

TRANSFER = """Each line is one learner at three shares of its data, with **transfer** and without;
small dots are seeds, diamonds their means. With transfer, a learner also predicts, through one
linear map, how a frozen model of the other modality represents the same events. The **exchange
rate** is how much more of its own data a learner without transfer would need to do as well, per
event shown to the teacher, read off the line without transfer."""
BIAS = """Models complete “There is a car painted” for every kind of thing, and their probabilities
of the eight colors are compared with the **law** by which this world colors things of that kind.
Each line joins a family's means over seeds; **p** exchanges sizes within families."""
HALLUCINATION = """Each model writes freely, and the first caption of each text is parsed by the
world's grammar. A caption is impossible if no event can match it. Horizontal lines are controls:
captions of held-out events, and the same with their words shuffled."""


def show(at: Place) -> None:
    """Draw section 5 of the published work: transfer, bias and hallucination."""
    if queries.models(at).empty:
        frame.need_readers(at, "caption", "image")
    _transfer(at)
    _bias(at)
    _hallucination(at)


@fragment
def _transfer(at: Place) -> None:
    header = "Does one modality help the other?"
    with frame.part():
        section.draw(at, Transfer(at.scope), key="transfer", header=header, methods=TRANSFER)


@fragment
def _bias(at: Place) -> None:
    header, question = "Are larger language models less biased?", SizeEffects(at.scope)
    with frame.part():
        section.draw(at, question, key="bias", header=header, methods=BIAS, models=True)


@fragment
def _hallucination(at: Place) -> None:
    header, question = (
        "Do larger language models invent less?",
        SizeEffects(at.scope, "hallucination"),
    )
    with frame.part():
        section.draw(
            at, question, key="hallucination", header=header, methods=HALLUCINATION, models=True
        )


frame.draw("What do better models buy?", show)
