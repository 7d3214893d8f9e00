"""Do vision models that agree on an image align better with language models on it?"""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from core.questions.dispersion.effect import PART, SetEffect, Trial
from core.questions.dispersion.question import (
    DRAWN,
    MOST_AXES,
    DispersionPredictors,
    HeldOutFits,
    Ranking,
    Spaces,
    StimulusDispersion,
)
from core.questions.dispersion.residuals import SHUFFLES
from core.study.parts import Measure
from pages._parts.images import common
from pages._parts.published import listed
from pages._shared import bar, controls, exportbar, frame, queries, section
from pages._shared.controls import Look
from pages._shared.queries import Place

CENTERINGS = {"features": "Feature means", "stimuli": "Image means"}
CENTERING = """What is subtracted from a space first (default: the mean of each feature). The
published work subtracts the mean of each image."""
EFFECT = """Images are ranked by dispersion; the {size:,} least and the {size:,} most dispersed of
{n:,} are the low and the high set. Each language model is taken in the layer that aligns best on
all images. Intervals: random three quarters of a set, and {repeats} random sets."""
DROP = """The lowest or the highest quarter of the ranking is left out. Compare with leaving out a
random quarter, since metrics of neighbors change with the number of images."""
HELD_OUT = """The model is rotated onto the consensus of the others. Images far from the middle of
the consensus can be high on both axes, so r is also taken with the model's images shuffled
{shuffles} times (p)."""
PREDICTORS = """Tests: Spearman's ρ for numbers, Kruskal–Wallis for texts. The share of the
variance of ranks is corrected for chance, p for the false discovery rate."""


def show(at: Place) -> None:
    """Draw figure 2 of the published work; predictors, supplements and rankings are closed."""
    frame.need_stimuli(at)
    effect = choose(at)
    n, ranking = queries.size(at), effect.ranking
    at = replace(at, scope=effect.scope)
    with frame.part():
        frame.need_readers(at, "caption")
        how = EFFECT.format(size=effect.size or 0, n=n, repeats=effect.trial.repeats)
        caption = "Points: language models. Diamonds: their mean with 95% CI."
        methods = f"{common.METHODS}\n\n{how}"
        section.draw(at, effect, key="effect", caption=caption, methods=methods)

    def show_predictors() -> None:
        caption = "Points: predictors. Filled: significant."
        predictors = DispersionPredictors(at.scope, ranking)
        section.draw(at, predictors, key="predictors", caption=caption, methods=PREDICTORS)

    def show_drop() -> None:
        frame.need_readers(at, "caption")
        drop = replace(effect, sets="drop", size=None)
        section.draw(at, drop, key="drop", methods=DROP)

    def show_held_out() -> None:
        held = HeldOutFits(at.scope, ranking.joint, points=True)
        section.draw(at, held, key="held-out", methods=HELD_OUT.format(shuffles=SHUFFLES))
        tell_sample(n)

    frame.fold("What predicts dispersion?", show_predictors, key="predictors")
    frame.fold("Without the most dispersed", show_drop, key="drop")
    frame.fold("Rankings and residuals", lambda: show_rankings(at, effect), key="rankings")
    frame.fold("Held-out models", show_held_out, key="held-out")
    listed.show(at, "dispersion")


def choose(at: Place) -> SetEffect:
    """Draw the controls, and return the question of the first figure."""
    with bar.controls_bar():
        rest = bar.more()
        with rest:
            at = replace(at, scope=controls.pick_scope(at))
            spaces = common.pick_spaces(at)
            look = Look(labels=CENTERINGS, help=CENTERING)
            centering = controls.pick_option(controls.option_named(Spaces, "centering"), look)
            seed = controls.pick_option(controls.option_named(SetEffect, "seed"))
        by = common.pick_summary()
        size = common.pick_set_size(queries.size(at))
        metric = controls.pick_metric(start="cknna")
        with rest:  # the parts of a set have neighbors, too
            parameters = controls.pick_parameters(metric, int(PART * size))
    ranking, measure = Ranking(spaces, centering, by), Measure.of(metric, parameters)
    return SetEffect(at.scope, ranking, Trial(seed=seed), measure, size=size)


def show_rankings(at: Place, effect: SetEffect) -> None:
    """Draw both rankings and the space of residuals: figures 1C, 2A and 2F as published."""
    joint = effect.ranking.joint
    seed = effect.trial.seed
    question = StimulusDispersion(at.scope, joint, rank=True, size=effect.size, seed=seed)
    how = "The low and the high set lie at either end; ticks below are a random set."
    answered = section.draw(at, question, key="rankings", methods=how)
    if answered is None:
        return
    tell_sample(queries.size(at))
    names = common.titles(at, joint.spaces)
    drawn = question.plot_space(answered.table, names).draw
    exportbar.draw(at, question, drawn, key="residual-space", table=answered.table)
    first = f" The first {MOST_AXES} of {len(names)} models." if len(names) > MOST_AXES else ""
    st.caption(f"Dashed: first component of the residuals.{first}")


def tell_sample(n: int) -> None:
    """Say that a figure shows a sample."""
    if n > DRAWN:
        st.caption(f"A random sample of {DRAWN:,} of {n:,}.")
