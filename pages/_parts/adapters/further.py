"""What else can be asked of adapters: what each choice brings, what they drop, and whether one goes
through another.
"""

from __future__ import annotations

import streamlit as st

from core.options.declaring import Option
from core.questions.adapters.ablation.figures import ablation
from core.questions.adapters.ablation.question import MOST_TRIED, Ablation
from core.questions.adapters.composition.figures import composition
from core.questions.adapters.composition.question import Composition
from core.questions.adapters.nuisances.figures import probes
from core.questions.adapters.nuisances.question import AdapterProbes
from core.questions.adapters.question import Adaptation
from core.questions.asking import findings_of
from pages._parts.adapters import lessons
from pages._shared import controls, exportbar, frame, prose, queries
from pages._shared.address import bind
from pages._shared.queries import Place

CHOICES = """Each row trains anew with one choice changed; bars are 95 % **interval**s over
trainings. Dashed and dotted lines are canonical correlation and ridge regression on the same
stimuli. Cosines are compared in every row, whatever the loss compares. Of three encoders or
more, the baselines see two at a time: their recall is the mean over pairs, their alignment is left
out."""
THROUGH = """x is {x}, y is {y}, z is {z}. One pair of adapters brings x and y together, another y
and z; a least-squares map of y in the first common space to y in the second leads from one to the
other. Direct adapters bring x and z together. Bars are 95 % **interval**s over trainings."""
PROBES = """A second claim of the proposal: adapters reduce what one modality alone knows. In the
Cave that is known: palette, light and texture are drawn anew for each picture, the frame of the
sentence for each caption, nearly independently of what is the case (frames have to fit the length
of a caption and so depend a little on the number of things: over 20,000 events Cramér's V is 0.06
at most, 0.02 to 0.03 by chance). A linear probe tells what can still be read of them, in any
direction; the nearest stimuli tell how much they weigh in likeness. Hollow is before, filled in the
common space."""

TRIED = controls.options_by_name(Ablation)


def show(at: Place, question: Adaptation) -> None:
    """Draw what is chosen of all that takes trainings of its own."""
    if st.toggle("What does each choice bring?", **bind("choices", False)):
        show_choices(at, question)
    if len(question.z) == 1 and st.toggle("Does one go through another?", **bind("through", False)):
        show_composition(at, question)
    if queries.study(at).dataset.knows_factors and st.toggle(
        "What do adapters drop?", **bind("probes", False)
    ):
        show_probes(at, question)


def show_choices(at: Place, question: Adaptation) -> None:
    """Draw what adapters reach with one choice changed at a time."""
    widths, temperatures = (_pick_numbers(TRIED[name]) for name in ("widths", "temperatures"))
    turned = question.turned(
        Ablation, pairs=question.pairs, widths=widths, temperatures=temperatures
    )
    table = queries.ask(at, turned)
    figure = ablation(table, label=turned.label, mode=frame.mode(), narrow=frame.narrow())
    exportbar.draw(at, turned, figure, key="choices-drawn", table=table)
    prose.explain(CHOICES, findings_of(turned, table))


def _pick_numbers(one: Option) -> tuple[float, ...]:
    """Draw several numbers and read "16, 64"; raises InputError for what is none."""
    shown = ", ".join(map(str, one.default))
    text = st.text_input(
        one.label, help=controls.sentence(one.help), **bind(one.name, shown, joint=", ")
    )
    assert one.range
    return controls.read_numbers(text, one.range, most=MOST_TRIED)


def show_composition(at: Place, question: Adaptation) -> None:
    """Draw what two adapters give that are put one after the other."""
    turned = question.turned(Composition, pairs=question.pairs)
    table = queries.ask(at, turned)
    x, y, z = (lessons.about(at, question.spaces, "title")[space] for space in question.spaces)
    figure = composition(table, label=turned.label, mode=frame.mode(), narrow=frame.narrow())
    exportbar.draw(at, turned, figure, key="composed", table=table)
    named = THROUGH.format(x=frame.plain(x), y=frame.plain(y), z=frame.plain(z))
    prose.explain(named, findings_of(turned, table))


def show_probes(at: Place, question: Adaptation) -> None:
    """Draw what can be read of factors and nuisances before and after."""
    turned = question.turned(AdapterProbes, pairs=question.pairs)
    table = queries.ask(at, turned)
    titles = lessons.about(at, question.spaces, "title")
    figure = probes(table, titles, mode=frame.mode(), narrow=frame.narrow())
    exportbar.draw(at, turned, figure, key="probes-drawn", table=table)
    prose.explain(PROBES, findings_of(turned, table.replace({"space": titles})))
