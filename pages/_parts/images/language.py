"""Dispersion: do vision models that agree on a stimulus agree with language models on it, too?"""

from __future__ import annotations

import math
from dataclasses import replace

import streamlit as st

from core.questions.asking import Answered
from core.questions.dispersion.effect import PART, SetEffect
from core.questions.dispersion.question import (
    DRAWN,
    MOST_AXES,
    DispersionPredictors,
    HeldOutFits,
    Spaces,
    StimulusDispersion,
)
from core.questions.dispersion.residuals import SHUFFLES
from pages._parts.images.choice import Choice, choose
from pages._parts.published import listed
from pages._shared import exportbar, frame, queries, section, spread
from pages._shared.queries import Place

PARTS = 10
EFFECT = """The stimuli are ranked by the dispersion of {who}: the {size:,}
least dispersed of {n:,} make the low set, the {size:,} most dispersed the high set. Each dot is a
language model in the layer that aligns best with the panel's model on all stimuli. 95% intervals:
random three quarters of the low and the high set, and {repeats} draws of the random set."""
RANKED = """Each dot is a stimulus, ranked by the mean of its residuals, and by the first component
of all residuals. The {size:,} at either end are the low and the high set of that ranking; the ticks
below are a random set of as many."""
SPACE = "How far the models lie from the consensus, two at a time"
DROP = """The lowest or the highest quarter of the ranking is left out. Compare with leaving out a
random quarter, since neighbor metrics change with the number of stimuli; the dots on the left stand
for all stimuli."""
DECILES = """The stimuli are split into {count} parts by dispersion. Neighbors are from the same
part, and 95% intervals come from random three quarters of it."""
HELD_OUT = """The model, turned onto the consensus of the others, deviates from it. Chance is not 0,
since stimuli far from the middle of that consensus can be high on both axes: r is also taken with
the model's stimuli shuffled {shuffles} times (p), and given the consensus's norm. Intervals are
Fisher's, over stimuli."""
IMPORTANCE = """A dot is how much worse held-out stimuli are predicted if one predictor is permuted,
filled if its 95% interval lies above 0. Correlated predictors can stand in for each other; rows of
whole kinds show what they do together. The consensus is that of the dispersion, from which part of
what its density predicts may follow."""
WORDS = """Filled words differ after correction for the false discovery rate over all words. Each
distinct caption counts once per set."""


def show(at: Place) -> None:
    """Draw figure 2 of the published work, supplement 1, the tenths, supplement 2, then what makes
    a stimulus dispersed.
    """
    frame.need_stimuli(at)
    choice = choose(at)
    effect, n = choice.effect, queries.size(at)
    at = replace(at, scope=effect.scope)
    ranking, size = effect.ranking, effect.size or 0
    with frame.part():
        need_tested(at, choice)
        with frame.part():
            how = EFFECT.format(who=choice.rankers, size=size, n=n, repeats=effect.trial.repeats)
            section.draw(at, effect, key="effect", methods=f"{spread.MEANING}\n\n{how}", lead=3)
        with frame.part():
            show_rankings(at, effect)
        with frame.part():
            head = "What if the most dispersed stimuli are left out?"
            drop = replace(effect, sets="drop", size=None)
            section.draw(at, drop, key="drop", header=head, methods=DROP)
        with frame.part():
            count = count_parts(n, effect.measure.settings.get("k"))
            parts = replace(effect, sets="parts", size=None, parts=count)
            head = "Does alignment fall step by step?"
            section.draw(at, parts, key="parts", header=head, methods=DECILES.format(count=count))
    with frame.part():
        head = "Is it a property of the stimulus, or of these models?"
        if len(choice.spaces) < 3:
            st.header(head, anchor=False)
            st.markdown("Choose at least three models: the others need a consensus of their own.")
        else:
            joint = Spaces(choice.spaces, ranking.centering)
            held, how = (
                HeldOutFits(at.scope, joint, points=True),
                HELD_OUT.format(shuffles=SHUFFLES),
            )
            sampled(section.draw(at, held, key="held-out", header=head, methods=how), n)
    predictors = DispersionPredictors(at.scope, ranking)
    with frame.part():
        head = predictors.title()
        section.draw(at, predictors, key="predictors", header=head, methods=IMPORTANCE)
    if queries.card(at).levels:  # without captions both of the last would say so
        with frame.part():
            words = replace(predictors, words=True, size=size)
            head = "Which words do captions of the two sets have?"
            section.draw(at, words, key="words", header=head, methods=WORDS)
    listed.show(at, "dispersion")


def need_tested(at: Place, choice: Choice) -> None:
    """Raise NeededError if nothing can be aligned with language models, or not by this ranking."""
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


def show_rankings(at: Place, effect: SetEffect) -> None:
    """Draw both rankings and the space of residuals: figures 1C, 2A and 2F as published."""
    joint, size = effect.ranking.joint, effect.size or 0
    question = StimulusDispersion(at.scope, joint, size=size, rank=True, seed=effect.trial.seed)
    head, how = "How are the stimuli ranked?", RANKED.format(size=size)
    answered = section.draw(at, question, key="rankings", header=head, methods=how)
    sampled(answered, queries.size(at))
    if answered is None:
        return
    looks = spread.described(at, joint.spaces)
    titles = dict(zip(looks["space"], looks["title"], strict=True))
    figure = question.plot_space(answered.table, titles).draw(frame.mode(), narrow=frame.narrow())
    exportbar.draw(at, question, figure, key="residual-space", table=answered.table)
    first = f": the first {MOST_AXES} of {len(titles)}" if len(titles) > MOST_AXES else ""
    st.caption(f"{SPACE}{first}; the dashed line is the first component.")


def sampled(answered: Answered | None, n: int) -> None:
    """Say that a figure shows a sample of the stimuli."""
    if answered is not None and n > DRAWN:
        st.caption(f"The plot shows {DRAWN:,} of {n:,} stimuli, drawn at random.")


def count_parts(n: int, k: int | None) -> int:
    """Return into how many parts n stimuli are split, so that intervals have neighbors, too."""
    least = math.ceil(((spread.LEAST_SET if k is None else k) + 2) / PART)
    count = min(PARTS, n // least)
    if count < 2:
        raise frame.NeededError(
            f"Two parts of at least {least} stimuli are needed; this dataset has {n}. Choose a"
            " smaller k."
        )
    return count
