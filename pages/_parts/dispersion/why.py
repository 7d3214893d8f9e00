"""What makes a stimulus dispersed: what predicts it, and which words its captions have."""

from __future__ import annotations

import streamlit as st

from core.questions.asking import findings_of
from core.questions.dispersion.prediction import figures
from core.questions.dispersion.question import DispersionPredictors, DispersionWords
from pages._parts.dispersion.pick import Choice
from pages._shared import exportbar, frame, prose, queries
from pages._shared.queries import Place

IMPORTANCE = """Dispersion is predicted for stimuli that the regression has not
seen; a dot is how much worse the prediction becomes when one predictor is shuffled,
with its 95 % **interval**, filled where that lies above 0. Correlated
predictors can stand in for each other, so each alone looks unimportant; the rows of whole
kinds show what they do together. The consensus is built from the same models as the
dispersion: part of what its density predicts may follow from that alone."""
WORDS = """Words to the right are more frequent in captions of the low set,
words to the left in those of the high set; filled ones after correction for the
false discovery rate over all words. Each distinct caption counts once per set."""


def show_predictors(at: Place, choice: Choice) -> None:
    """Draw the predictors of dispersion."""
    st.header("What makes a stimulus dispersed?", anchor=False)
    question = DispersionPredictors(at.scope, choice.effect.ranking)
    table = queries.ask(at, question)
    figure = figures.importances(table, mode=frame.mode(), narrow=frame.narrow())
    exportbar.draw(at, question, figure, key="predictors", table=table)
    prose.explain(IMPORTANCE, findings_of(question, table))


def show_words(at: Place, choice: Choice) -> None:
    """Draw the words that captions of the low or of the high set have more often."""
    st.header("Which words do captions of the two sets have?", anchor=False)
    question = DispersionWords(at.scope, choice.effect.ranking, choice.size)
    table = queries.ask(at, question)
    figure = figures.words(table, mode=frame.mode(), narrow=frame.narrow())
    exportbar.draw(at, question, figure, key="words", table=table)
    prose.explain(WORDS, findings_of(question, table))
