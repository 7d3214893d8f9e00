"""Kernels of the encoders, of the reference and, once there are adapters, of the common space, over
the same test stimuli.
"""

from __future__ import annotations

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.questions.adapters import kernel_figures as figures
from core.questions.adapters.findings import kernel_findings
from core.questions.adapters.kernels import AFTER, BEFORE, Compared, compare_kernels, tabulate
from core.questions.adapters.kernels import Kernel as Compare
from core.questions.adapters.lesson import Lesson
from core.questions.adapters.maps.model import Adapters
from core.questions.adapters.measures import MEAN
from core.questions.adapters.question import Adaptation, Kernels
from core.questions.finding import sentences
from pages._parts.adapters import lessons
from pages._shared import exportbar, frame, prose, queries
from pages._shared.queries import Place

READING = """Each square is one space: rows and columns are {n} of the {test:,}
test stimuli, in one order that groups what is similar for the reference; the more a cell stands
out, the more similar the space finds the two, each square on its own color scale. A space near to
the reference shows the same blocks. Alignment with the reference is over all test
stimuli{chance}."""


def show(
    at: Place,
    question: Adaptation,
    lesson: Lesson,
    adapters: Adapters | None,
    answer: DeltaGenerator,
) -> None:
    """Draw the kernels, and say what this one training changed."""
    st.header("Kernels before and after" if adapters else "Kernels before", anchor=False)
    reference = queries.reference(at, question.ref[0], seed=question.seed)
    name, test = question.ref[0], len(lesson.parts.test)
    products = question.fitting.products
    compared = compare_kernels(
        lesson, name, reference, question.measure, adapters, products=products
    )
    kernels = question.turned(Kernels, pairs=question.pairs, before=adapters is None)
    columns = 2 if frame.narrow() else 1 + len(question.spaces)
    figure = figures.kernels(
        _shown(at, question, compared),
        columns=columns,
        mode=frame.mode(),
        unit="cosine" if products == "cosine" else "inner product",
    )
    table = tabulate(compared)
    exportbar.draw(at, kernels, figure, key="kernels", table=table)
    with answer:
        prose.answer(sentences(kernel_findings(table, None)))
    level = question.measure.chance(test)
    chance = "" if np.isnan(level) else f"; chance is {level:.3f}"
    prose.explain(READING.format(n=len(compared.stimuli), test=test, chance=chance))


def _shown(at: Place, question: Adaptation, compared: Compared) -> list[figures.Kernel]:
    titles = lessons.about(at, question.spaces, "title")
    return [
        figures.Kernel(
            _title(one, titles, lessons.reference_title(at, question)),
            "" if np.isnan(one.alignment) else f"alignment {one.alignment:.3f}",
            one.products,
        )
        for one in compared.kernels
    ]


def _title(one: Compare, titles: dict[str, str], reference: str) -> str:
    if one.when == BEFORE:
        return titles[one.what]
    if one.when == AFTER:
        mean = one.what == MEAN
        return "Common space: mean of all" if mean else f"{titles[one.what]}, adapted"
    return f"Reference: {reference}"
