"""What else can be asked of adapters: what they drop."""

from __future__ import annotations

import streamlit as st

from core.questions.adapters.probe_figures import probes
from core.questions.adapters.probes import AdapterProbes
from core.questions.adapters.question import Adaptation
from core.questions.finding import sentences
from pages._parts.adapters import lessons
from pages._shared import exportbar, frame, prose, queries
from pages._shared.address import bind
from pages._shared.queries import Place

PROBES = """A second claim of the proposal: adapters reduce what one modality alone knows. In the
Cave that is known: palette, light and texture are drawn again for each picture, the frame of the
sentence for each caption, nearly independently of what is the case (frames have to fit the length
of a caption and so depend a little on the number of things: over 20,000 events Cramér's V is 0.06
at most, 0.02 to 0.03 by chance). A linear probe tells what can still be read of them, in any
direction; the nearest stimuli tell how much they weigh in likeness. Hollow is before, filled in the
common space."""


def show(at: Place, question: Adaptation) -> None:
    """Draw what is chosen of all that takes trainings of its own."""
    if queries.study(at).dataset.world and st.toggle(
        "What do adapters drop?", **bind("probes", False)
    ):
        show_probes(at, question)


def show_probes(at: Place, question: Adaptation) -> None:
    """Draw what can be read of factors and nuisances before and after."""
    turned = question.turned(AdapterProbes, pairs=question.pairs)
    found = queries.answer(at, turned)
    table = found.table
    titles = lessons.about(at, question.spaces, "title")
    figure = probes(table, titles, mode=frame.mode(), narrow=frame.narrow())
    exportbar.draw(at, turned, figure, key="probes-drawn", table=table)
    prose.explain(PROBES, sentences(found.findings))
