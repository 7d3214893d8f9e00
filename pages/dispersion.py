"""Dispersion: do vision models that agree on a stimulus agree with language models on it, too?"""

from __future__ import annotations

import math
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.questions.asking import findings_of
from core.questions.dispersion import figures
from core.questions.dispersion.points import effect_points
from core.questions.dispersion.question import (
    DropEffect,
    PartEffect,
    Ranking,
    SetEffect,
    Trial,
)
from core.questions.dispersion.set_effects import PART
from core.study.parts import Measure, Scope
from pages._parts.dispersion import held_out, ranked, why
from pages._parts.dispersion.pick import Choice, choose
from pages._parts.published import listed
from pages._shared import exportbar, frame, prose, queries, spread
from pages._shared.queries import Place

PARTS = 10
READING = """The stimuli are ranked by the dispersion of {who}: the {size:,}
least dispersed of {n:,} make the low set, the {size:,} most dispersed the high set.
Each panel is a vision model, each dot a language model in the layer that aligns best
with it on all stimuli, and the diamond their mean. **Intervals** (95 %) show how far a
score would move with other stimuli of the same kind: from random three quarters of the
low and the high set, and from {repeats} draws of the random set."""
DROP = """The lowest or the highest quarter of the ranking is left out and
alignment is measured again on the rest. Compare it with leaving out a random quarter,
since neighbor metrics change with the number of stimuli. The lone dots on the left
stand for all stimuli. **Intervals** (95 %) as above."""
DECILES = """The stimuli are split into {count} parts by dispersion, and
alignment is measured within each, with neighbors from that part only. **Intervals**
(95 %) come from random three quarters of a part."""
COLUMNS = {
    "title_y": "model",
    "title_x": "language model",
    "set": "set",
    "size": "stimuli",
    "score": "alignment",
    "low": "95 % from",
    "high": "to",
    "p": "p",
    "reason": "what is missing, and why",
}


def show(at: Place) -> None:
    """Draw figure 2 of the published work, supplement 1, the tenths, supplement 2, then what makes
    a stimulus dispersed.
    """
    frame.need_stimuli(at)
    answer = st.container()
    choice = choose(at)
    at = replace(at, scope=choice.effect.scope)
    with frame.part():
        need_tested(at, choice)
        with frame.part():
            show_effect(at, choice, answer)
        with frame.part():
            ranked.show(at, choice)
        for show_part in (show_drop, show_parts):
            with frame.part():
                show_part(at, choice)
    # without captions both of the last would say so
    words = (why.show_words,) if queries.card(at).levels else ()
    for show_part in (held_out.show, why.show_predictors, *words):
        with frame.part():
            show_part(at, choice)
    listed.show(at, "dispersion")


def need_tested(at: Place, choice: Choice) -> None:
    """Raise NeededError where nothing can be aligned with language models, or not by this
    ranking.
    """
    frame.need_readers(at, "caption")
    if not choice.tested:
        raise frame.NeededError(
            "Choose models other than language models under “Consensus of”: these are aligned with"
            " language."
        )
    if choice.effect.trial.cross_fitted and len(choice.spaces) < 3:
        raise frame.NeededError(
            "Choose at least three models, or rank by these models: the others need a consensus of"
            " their own."
        )


def show_effect(at: Place, choice: Choice, answer: DeltaGenerator) -> None:
    """Draw alignment on the low, random and high set with the ratio, and say what is seen."""
    question = choice.effect
    table = queries.ask(at, question)
    points, chance = effect_points(table, queries.models(at)), question.measure.chance(choice.size)
    figure = figures.effect(
        points, label=question.label, chance=chance, mode=frame.mode(), narrow=frame.narrow()
    )
    exportbar.draw(at, question, figure, key="effect", table=points)
    how = READING.format(
        who=choice.rankers, size=choice.size, n=queries.size(at), repeats=question.trial.repeats
    )
    findings = findings_of(question, spread.titled(at, table, "vision"))
    prose.explain(f"{spread.MEANING}\n\n{how}", findings[prose.LEAD :])
    with answer:
        prose.answer(findings[: prose.LEAD])
    with st.expander("The table behind the plot"):
        st.dataframe(
            points[list(COLUMNS)].fillna({"title_x": "mean"}).rename(columns=COLUMNS),
            hide_index=True,
        )


def show_drop(at: Place, choice: Choice) -> None:
    """Draw supplement 1."""
    st.header("What if the most dispersed stimuli are left out?", anchor=False)
    question = DropEffect(*_compared(choice.effect))
    table = queries.ask(at, question)
    points, chance = (
        effect_points(table, queries.models(at)),
        question.measure.chance(queries.size(at)),
    )
    figure = figures.drop(
        points, label=question.label, chance=chance, mode=frame.mode(), narrow=frame.narrow()
    )
    exportbar.draw(at, question, figure, key="drop", table=points)
    prose.explain(DROP, findings_of(question, spread.titled(at, table, "vision")))


def show_parts(at: Place, choice: Choice) -> None:
    """Draw alignment by tenth of dispersion; by fewer parts where a tenth holds too few stimuli for
    their neighbors.
    """
    st.header("Does alignment fall step by step?", anchor=False)
    count = _count_parts(queries.size(at), choice.effect.measure.settings.get("k"))
    question = PartEffect(*_compared(choice.effect), count)
    table = queries.ask(at, question)
    points, chance = (
        effect_points(table, queries.models(at)),
        question.measure.chance(queries.size(at) // count),
    )
    figure = figures.deciles(points, label=question.label, chance=chance, mode=frame.mode())
    exportbar.draw(at, question, figure, key="parts", table=points)
    prose.explain(
        DECILES.format(count=count), findings_of(question, spread.titled(at, table, "vision"))
    )


def _count_parts(n: int, k: int | None) -> int:
    """Return into how many parts n stimuli are split, so that intervals have neighbors, too."""
    least = math.ceil(((spread.LEAST_SET if k is None else k) + 2) / PART)
    count = min(PARTS, n // least)
    if count < 2:
        raise frame.NeededError(
            f"Two parts of at least {least} stimuli are needed; this dataset has {n}. Choose a"
            " smaller k."
        )
    return count


def _compared(question: SetEffect) -> tuple[Scope, Ranking, Trial, Measure]:
    return question.scope, question.ranking, question.trial, question.measure


frame.draw("Does agreement among models carry over to language?", show)
