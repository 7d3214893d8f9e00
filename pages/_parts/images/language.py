"""Do vision models that agree on an image align better with language models on it?"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

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
from core.study.models import reads
from core.study.parts import Measure
from core.study.spaces import default_language, find_space
from pages._parts.images import common
from pages._parts.published import listed
from pages._shared import address, bar, controls, exportbar, frame, queries, section
from pages._shared.controls import Look
from pages._shared.queries import Place

RANKERS = {"own": "These models", "others": "Other models", "language": "Language models"}
RANKING = """Whose agreement ranks the images (default: these models). Other models: each model is
tested on sets that it had no part in. Language models: images on which language models agree."""
CENTERINGS = {"features": "Feature means", "stimuli": "Image means", "none": "None"}
CENTERING = """What is subtracted from a space first (default: the mean of each feature). The
published work subtracts the mean of each image."""
PARTS = 10
EFFECT = """Images are ranked by the dispersion of {who}; the {size:,} least and the {size:,} most
dispersed of {n:,} are the low and the high set. Each language model is taken in the layer that
aligns best on all images. Intervals: random three quarters of a set, and {repeats} random sets."""
DROP = """The lowest or the highest quarter of the ranking is left out. Compare with leaving out a
random quarter, since metrics of neighbors change with the number of images."""
DECILES = """Neighbors are from the same part; intervals come from random three quarters of it. p:
Spearman's correlation along the parts, adjusted over models."""
HELD_OUT = """The model is rotated onto the consensus of the others. Images far from the middle of
the consensus can be high on both axes, so r is also taken with the model's images shuffled
{shuffles} times (p), and given the consensus's norm."""
IMPORTANCE = """Ridge regression on held-out images; importance is the loss of R² if a predictor is
permuted. Correlated predictors can stand in for each other: rows of whole kinds show what they do
together."""
WORDS = """Fisher's exact test, FDR-adjusted over all words. Each distinct caption counts once per
set."""


@dataclass(frozen=True)
class Choice:
    """What the controls choose: the spaces, those of them that are aligned with language, and the
    question of the first figure, on which the others vary.
    """

    spaces: tuple[str, ...]
    tested: tuple[str, ...]
    effect: SetEffect


def show(at: Place) -> None:
    """Draw figure 2 of the published work, its deciles and predictors; the supplements, rankings
    and words are closed.
    """
    frame.need_stimuli(at)
    choice = choose(at)
    effect, n = choice.effect, queries.size(at)
    at = replace(at, scope=effect.scope)
    ranking, size = effect.ranking, effect.size or 0
    with frame.part():
        need_tested(at, choice)
        who = "these models" if ranking.spaces == choice.spaces else "language models"
        who = "all other models" if effect.trial.cross_fitted else who
        how = EFFECT.format(who=who, size=size, n=n, repeats=effect.trial.repeats)
        with frame.part():
            caption = "Points: language models. Diamonds: their mean with 95% CI."
            methods = f"{common.METHODS}\n\n{how}"
            section.draw(at, effect, key="effect", caption=caption, methods=methods)
        with frame.part():
            count = count_parts(n, effect.measure.settings.get("k"))
            parts = replace(effect, sets="parts", size=None, parts=count)
            head = "Alignment by dispersion decile" if count == PARTS else "Alignment by dispersion"
            caption = "Points: mean over language models with 95% CI."
            section.draw(at, parts, key="parts", header=head, caption=caption, methods=DECILES)
    predictors = DispersionPredictors(at.scope, ranking)
    with st.expander("What predicts disagreement?"), frame.part():
        caption = "Points: loss of R² with 95% CI. Filled: the CI lies above 0."
        section.draw(at, predictors, key="predictors", caption=caption, methods=IMPORTANCE)
    with st.expander("Ablation: without the most dispersed"), frame.part():
        need_tested(at, choice)
        drop = replace(effect, sets="drop", size=None)
        section.draw(at, drop, key="drop", methods=DROP)
    with st.expander("Both rankings, and residuals of two models at a time"), frame.part():
        show_rankings(at, effect)
    with st.expander("Held-out models"), frame.part():
        if len(choice.spaces) < 3:
            raise frame.NeededError(f"Needs 3 models; {len(choice.spaces)} chosen.")
        joint = Spaces(choice.spaces, ranking.centering)
        held = HeldOutFits(at.scope, joint, points=True)
        section.draw(at, held, key="held-out", methods=HELD_OUT.format(shuffles=SHUFFLES))
        tell_sample(n)
    if queries.card(at).levels:
        with st.expander("Words of the low and the high set"), frame.part():
            words = replace(predictors, words=True, size=size)
            section.draw(at, words, key="words", methods=WORDS)
    listed.show(at, "dispersion")


def choose(at: Place) -> Choice:
    """Draw the controls, and return what they choose."""
    if address.take("cross_fitted"):  # a question's link says whose agreement ranks in other words
        address.hand("ranker", ["others"])
    named, ranked = address.take("tested"), address.take("spaces")
    if named and not set(named) & set(ranked):
        address.hand("ranker", ["language"])
        ranked = named
    if ranked:
        address.hand("spaces", ranked)
    with bar.controls_bar():
        rest, study = bar.more(), queries.study(at)
        with rest:
            at = replace(at, scope=controls.pick_scope(at))
            spaces = common.pick_spaces(at)
            look = Look(labels=CENTERINGS, help=CENTERING)
            centering = controls.pick_option(controls.option_named(Spaces, "centering"), look)
            seed = controls.pick_option(controls.option_named(SetEffect, "seed"))
        ranker = st.selectbox(
            "Ranked by",
            list(RANKERS),
            format_func=RANKERS.get,
            help=RANKING,
            **address.bind("ranker", "own", RANKERS),
        )
        if ranker == "language":
            rankers = tuple(str(find_space(study, name)) for name in default_language(study))
        else:
            rankers = spaces
        if len(rankers) < 2:
            raise frame.NeededError(f"Needs 2 language models; {len(rankers)} loaded.")
        with rest:
            by = common.pick_summary(at, rankers, own=ranker != "others")
        size = common.pick_set_size(queries.size(at))
        metric = controls.pick_metric(start="cknna")
        with rest:  # the parts of a set have neighbors, too
            parameters = controls.pick_parameters(metric, int(PART * size))
        measure = Measure.of(metric, parameters)
    models = queries.models(at)
    language = set(models.loc[reads(models, "caption"), "model"])
    # with itself a language model is perfectly aligned
    tested = tuple(space for space in spaces if space.rpartition(":")[0] not in language)
    others = ranker == "others"
    trial = Trial(tested=() if tested == rankers else tested, cross_fitted=others, seed=seed)
    ranking = Ranking(rankers, centering, by)
    return Choice(spaces, tested, SetEffect(at.scope, ranking, trial, measure, size=size))


def need_tested(at: Place, choice: Choice) -> None:
    """Raise NeededError if nothing can be aligned with language models, or not by this ranking."""
    frame.need_readers(at, "caption")
    if not choice.tested:
        raise frame.NeededError("Choose models other than language models under “Consensus”.")
    if choice.effect.trial.cross_fitted and len(choice.spaces) < 3:
        raise frame.NeededError(f"Needs 3 models; {len(choice.spaces)} chosen.")


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
    figure = question.plot_space(answered.table, names).draw(frame.mode(), narrow=frame.narrow())
    exportbar.draw(at, question, figure, key="residual-space", table=answered.table)
    first = f" The first {MOST_AXES} of {len(names)} models." if len(names) > MOST_AXES else ""
    st.caption(f"Dashed: first component of the residuals.{first}")


def tell_sample(n: int) -> None:
    """Say that a figure shows a sample."""
    if n > DRAWN:
        st.caption(f"A random sample of {DRAWN:,} of {n:,}.")


def count_parts(n: int, k: int | None) -> int:
    """Return into how many parts n images are split, so that intervals have neighbors, too."""
    least = math.ceil(((common.LEAST_SET if k is None else k) + 2) / PART)
    count = min(PARTS, n // least)
    if count < 2:
        raise frame.NeededError(f"Needs {2 * least} for two parts; {n} loaded. Choose a smaller k.")
    return count
