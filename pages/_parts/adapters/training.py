"""One training of adapters, which takes seconds: its curve moves as it goes, and what it gives is
held for all visitors.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from core.figures.numbers import counted
from core.questions.adapters import figures
from core.questions.adapters.course import follow
from core.questions.adapters.lesson import Lesson
from core.questions.adapters.maps import files
from core.questions.adapters.maps.model import DEFAULTS, Adapters, settings_of
from core.questions.adapters.provenance import Provenance, adapters_recipe
from core.questions.adapters.question import Adaptation, Course
from pages._parts.adapters import lessons
from pages._shared import exportbar, frame, queries
from pages._shared.queries import Place

REDRAWN = 0.5  # seconds between two looks at the curve
READING = """The loss falls as the encoders' vectors of one stimulus come
nearer to each other than to those of other stimuli. It starts where canonical correlation ends,
unless the start is random. Kept are the adapters by which validation stimuli come highest in each
other's lists: those of the start unless others lead it by two standard errors, which in up to
{passes} passes can happen by chance. Training ends after {patience} passes without better ones.
Recall and alignment are theirs, on the {validation:,} validation stimuli; what counts are the
{test:,} test stimuli below. This curve shows alignment with {reference}."""
SEEN = """After {last} the best adapters are those of pass {epoch:.0f}:
validation loss {validation:.3f}, recall at 10 of {recall_10:.2f} (chance {chance:.2f}),
alignment of {alignment:.3f}."""


class Trained(NamedTuple):
    """The best adapters of a training, and its course, a row per pass."""

    adapters: Adapters
    course: pd.DataFrame


def show(at: Place, question: Adaptation, lesson: Lesson) -> Adapters | None:
    """Draw the button that trains or, once adapters are trained, the course of their training with
    the button that saves them; return them.
    """
    held, key = queries.computed(), (at, question.turned(Course, pairs=question.pairs))
    if key not in held:
        if not st.button(
            "Train the adapters", icon=":material/play_arrow:", type="primary", key="train"
        ):
            return None
        held[key] = _train(at, question, lesson)
    trained: Trained = held[key]
    rows, validation = trained.course, len(lesson.parts.validation)
    course = question.turned(Course, pairs=question.pairs)
    exportbar.draw(at, course, _curve(question, rows, lesson), key="course", table=rows)
    reading = READING.format(
        passes=DEFAULTS.epochs,
        patience=DEFAULTS.patience,
        validation=validation,
        test=len(lesson.parts.test),
        reference=frame.plain(lessons.reference_title(at, question)),
    )
    st.markdown(reading)
    best, chance = rows.iloc[int(rows["best"].iloc[-1])], min(1.0, 10 / validation)
    passes = counted(rows["epoch"].iloc[-1], "pass", "passes")
    st.markdown(SEEN.format(last=passes, chance=chance, **best))
    provenance = Provenance(
        question.spaces, settings_of(question.fitting), len(lesson.parts.train), question.seed
    )
    recipe = adapters_recipe(queries.study(at), provenance)
    st.download_button(
        "Download the adapters",
        lambda: files.dump(trained.adapters, recipe),
        f"adapters-{recipe.digest}.safetensors",
        "application/octet-stream",
        key="take-adapters",
        on_click="ignore",
        icon=":material/download:",
    )
    return trained.adapters


def _train(at: Place, question: Adaptation, lesson: Lesson) -> Trained:
    """Train, and draw the curve as it goes."""
    reference = queries.reference(at, question.ref[0], seed=question.seed)
    settings, device = settings_of(question.fitting), queries.study(at).device
    place, drawn, rows = st.empty(), time.monotonic(), []
    with queries.bar() as report:
        for epoch, row in follow(lesson, reference, question.measure, settings, device=device):
            rows.append(row)
            report(epoch.number, epoch.most, "passes at most")
            if time.monotonic() - drawn > REDRAWN:
                drawn = time.monotonic()
                figure = _curve(question, pd.DataFrame(rows), lesson)
                place.plotly_chart(figure, theme=None, key=f"curve-{epoch.number}")
    place.empty()
    return Trained(epoch.best, pd.DataFrame(rows))


def _curve(question: Adaptation, rows: pd.DataFrame, lesson: Lesson) -> go.Figure:
    validation = len(lesson.parts.validation)
    chances = {
        "recall_10": min(1.0, 10 / validation),
        "alignment": question.measure.chance(validation),
    }
    mode, narrow = frame.mode(), frame.narrow()
    return figures.curve(rows, label=question.label, chances=chances, mode=mode, narrow=narrow)
