"""What makes a stimulus dispersed: what predicts it, and which words its captions have."""

from __future__ import annotations

import streamlit as st

from core.questions.dispersion import prediction_figures as figures
from core.questions.dispersion.explanation import enriched_words, explain
from core.questions.dispersion.findings import tell_predictors, tell_words
from core.questions.dispersion.prediction import verdict
from pages._shared import exportbar, frame, queries, spread
from pages._shared.queries import Place

IMPORTANCE = """**How to read it.** Dispersion is predicted for stimuli that the regression has not
seen; a dot is how much worse the prediction becomes when one predictor is shuffled,
with its 95 % **interval**, filled where that lies above 0. Of predictors that go
together each can stand in for the other, so both look unimportant; the rows of
whole kinds show what they do together. The consensus is made of the same models as
the dispersion: part of what its density predicts may follow from that alone."""
WORDS = """**How to read it.** Words to the right are more frequent in captions of the low set,
words to the left in those of the high set; filled ones after correction for the
false discovery rate over all words. Each distinct caption counts once per set."""


def show_predictors(at: Place, spaces: tuple[str, ...], *, by: str) -> None:
    """Draw the predictors of dispersion."""
    st.subheader("What makes a stimulus dispersed?", anchor=False)
    table = queries.compared(at, explain, spaces, by=by)
    recipe = queries.recipe(
        at, "dispersion-predictors", spread.models(spaces), spaces=list(spaces), by=by
    )
    figure = figures.importances(table, mode=frame.mode(), narrow=frame.narrow())
    exportbar.plot(
        figure,
        key="predictors",
        table=table,
        recipe=recipe,
        command=spread.command(at, spaces, "--explain", *_by(by)),
    )
    st.markdown(
        f"{IMPORTANCE}\n\n**What is seen.**"
        f" {frame.plain(f'{verdict(table)} {tell_predictors(table)}')}"
    )


def show_words(at: Place, spaces: tuple[str, ...], *, by: str, size: int) -> None:
    """Draw the words that captions of the low or of the high set have more often."""
    st.subheader("Which words do captions of the two sets have?", anchor=False)
    table = queries.compared(at, enriched_words, spaces, size=size, by=by)
    recipe = queries.recipe(
        at, "dispersion-words", spread.models(spaces), spaces=list(spaces), by=by, size=size
    )
    figure = figures.words(table, mode=frame.mode(), narrow=frame.narrow())
    exportbar.plot(
        figure,
        key="words",
        table=table,
        recipe=recipe,
        command=spread.command(at, spaces, "--words", "--sets", str(size), *_by(by)),
    )
    st.markdown(f"{WORDS}\n\n**What is seen.** {frame.plain(tell_words(table))}")


def _by(by: str) -> list[str]:
    return ["--by", by] if by != "mean" else []
