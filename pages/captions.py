"""Captions: does a caption that says more align better?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.questions.asking import findings_of
from core.questions.captions import figures, level_figures
from core.questions.captions.completion import default_models, default_targets
from core.questions.captions.points import (
    facts_points,
    language_lines,
    level_points,
    panel_points,
    panel_trends,
    panels,
)
from core.questions.captions.question import CaptionAlignment, CaptionFacts, CaptionLevels
from core.questions.captions.tellings import outdated_sentences
from core.stimuli.levels import offered_levels
from pages._parts.captions import retold
from pages._parts.published import listed
from pages._shared import (
    bar,
    controls,
    exportbar,
    facts,
    frame,
    parts,
    prose,
    queries,
)
from pages._shared.address import bind, fragment, label
from pages._shared.queries import Place

WHY = """A caption cannot tell more than its words hold. If vision and language come to agree
because both describe one world, then the more a caption tells of its picture, the
more alike the two should be."""
READING = """Each line is a model (thick lines are large models): its mean
alignment with language models that read captions of ever more words. **Bars** are one
standard deviation over language models. The heading says how much alignment changes when
the number of words doubles, with the 95 % **interval** over families of language models,
and the p of Page's test that all families rank the levels alike, adjusted for the false
discovery rate over the panels, one test each. The models of a family were made alike, so
their mean counts once. Where models lack levels, the trend covers the levels that most
models have. All this is about these captions: a quirk in how one level was written moves
every model and cannot be distinguished from a trend. {chance}{thin}"""
CHANCE = "The dotted line is chance of one pair of layers; the best of many lies a little above it."
THIN = (
    " **Thin lines** with dots are single language models in the color of their family, each the"
    " mean over the models of a panel."
)
LEVELS = """Means over stimuli; bytes in UTF-8.{told}"""
TOLD = """ A picture is made from factors: scene, time, weather, how many things, and each
thing's kind, color, size, direction and place. A caption mentions the factors that its words
reveal; a word that fits several values counts in part."""
CAP = """Each mark is a group of stimuli whose captions, at one level,
mention about the same share of the factors. Higher means that language models share more of
these stimuli's nearest neighbors with the panel's models. What captions leave out limits
what can be shared, so lines should rise to the right even where captions are equally long.
Marks are means without an interval: small ones stand for few stimuli and vary by chance."""

By = Literal["objective", "model", "modality"]
PANELS: Mapping[By, str] = {
    "objective": "objective",
    "model": "model",
    "modality": "all vision models, as published",
}
READERS = ("--model", "hf:gpt2", "hf:bigscience/bloomz-560m")  # which embed captions, say
WRITER = ("--model", "hf:Qwen/Qwen2.5-0.5B-Instruct", "--words", "5", "10", "20")


def show(at: Place) -> None:
    """Draw alignment by level, what levels are, what captions tell, and one stimulus at all
    levels.
    """
    frame.need_stimuli(at)
    frame.need_readers(at, "caption")
    for sentence in outdated_sentences(queries.study(at)):
        st.warning(frame.plain(sentence), icon=":material/error:")
    need_levels(at)
    frame.need_readers(at, "image")
    answer = st.container()
    with bar.controls_bar():
        question = pick(at)
    whole, at = at, replace(at, scope=question.scope)
    with frame.part():
        show_alignment(at, question, answer)
    with frame.part():
        show_levels(at)
    k = question.comparison.settings.get("k", min(10, queries.size(at) - 1))
    facts = CaptionFacts(at.scope, question.x, question.y, k)
    if queries.card(at).knows_factors:
        with frame.part():
            show_facts(at, facts)
    with frame.part():  # whatever metric is chosen above
        retold.show(whole, queries.ask(whole, replace(facts, scope=whole.scope).scores))
    listed.show(at, "captions")


def need_levels(at: Place) -> None:
    """Raise NeededError where no language model is embedded at two levels: with the command that
    embeds one, or writes levels.
    """
    if facts.tellings(at)["model"].value_counts().max() > 1:
        return
    frame.need_items(queries.card(at), "caption")
    card, one = queries.card(at), "Every language model is embedded at one caption level."
    levels = offered_levels(card.levels, tuple(queries.study(at).store.summaries(at.dataset)))
    if card.has_demo:
        raise frame.NeededError(
            f"{one} Build the demo again: it keeps what is there and adds the other levels of the"
            " Cave, in about a minute:",
            frame.command("demo"),
        )
    if len(levels) > 1:
        raise frame.NeededError(
            f"{one} Embed two models or more at several; here are {', '.join(levels)}, and a trend"
            " needs three:",
            frame.command("embed", "--dataset", at.dataset, *READERS, "--caption-level", *levels),
        )
    raise frame.NeededError(
        "This dataset has one caption level. Put its captions into fewer words, then embed language"
        " models at these levels with embed --caption-level, naming several:",
        frame.command("summarize", "--dataset", at.dataset, *WRITER),
    )


def pick(at: Place) -> CaptionAlignment:
    """Draw the controls."""
    with bar.more():
        at, by = replace(at, scope=parts.pick_scope(at)), _pick_panels()
    study, every = queries.study(at), queries.models(at)
    reading = every[every["model"].isin(default_models(study))]
    seeing = every[every["model"].isin(default_targets(study))]
    if reading.empty:
        raise frame.NeededError("No trained language model is embedded at two caption levels.")
    x, y = (controls.option_named(CaptionAlignment, name) for name in ("x", "y"))
    return CaptionAlignment(
        at.scope,
        controls.pick_models(x, reading),
        controls.pick_models(y, seeing),
        parts.pick_comparison(queries.size(at)),
        by,
    )


def _pick_panels() -> By:
    one = controls.option_named(CaptionAlignment, "by")
    label(one.name, one.label)
    return controls.pick_segment(one.label, PANELS, one.name, start=one.default)


def show_alignment(at: Place, question: CaptionAlignment, answer: DeltaGenerator) -> None:
    """Draw alignment against the number of words, and say what is seen."""
    findings = findings_of(question, queries.ask(at, question))
    with answer:
        prose.answer(findings[: prose.LEAD])
    draw_alignment(at, question, findings[prose.LEAD :])


@fragment
def draw_alignment(at: Place, question: CaptionAlignment, findings: Sequence[str]) -> None:
    """Draw a panel per group; a fragment: nothing else shows the lines of single models."""
    text = "Each line is the mean over the models of a panel."
    each = st.toggle("A line per language model", help=text, **bind("each", False))
    models, spec = queries.models(at), question.comparison.spec
    whole = question.by == "modality"
    # a panel may hold several models: the points are theirs, the trend is the panel's
    per_model = replace(question, by="model")
    points = (
        panel_points(queries.ask(at, question))
        if whole
        else level_points(queries.ask(at, per_model), models, panels(models, question.by))
    )
    lines = language_lines(queries.ask(at, question.scores), models, panels(models, question.by))
    figure = figures.by_words(
        points,
        lines if each else lines.head(0),
        panel_trends(queries.ask(at, question)),
        mode=frame.mode(),
        narrow=frame.narrow(),
        label=question.comparison.label.replace(spec.title, spec.short),
    )
    draw = exportbar.draw if whole else exportbar.draw_models  # a dot may stand for all models
    draw(at, question if whole else per_model, figure, key="levels", table=points)
    chance = question.comparison.chance(queries.size(at))
    how = READING.format(chance="" if math.isnan(chance) else CHANCE, thin=THIN if each else "")
    prose.explain(f"{WHY}\n\n{how}", findings)


def show_levels(at: Place) -> None:
    """Draw what the levels are."""
    question = CaptionLevels(at.scope)
    st.header(question.title(), anchor=False)
    table = queries.ask(at, question)
    figure = level_figures.levels(table, mode=frame.mode(), narrow=frame.narrow())
    exportbar.draw(at, question, figure, key="words", table=table)
    prose.explain(LEVELS.format(told=TOLD if table["facts"].notna().any() else ""))


def show_facts(at: Place, question: CaptionFacts) -> None:
    """Draw alignment of single stimuli against what their captions tell."""
    st.header(question.title(), anchor=False)
    table = queries.ask(at, question)
    points = facts_points(table)
    order = queries.ask(at, CaptionLevels(at.scope))["level"]
    figure = level_figures.facts(
        points,
        [level for level in order if level in set(points["level"])],
        mode=frame.mode(),
        label=f"alignment (mutual k-NN, k = {question.k})",
        narrow=frame.narrow(),
    )
    exportbar.draw(at, question, figure, key="facts", table=points)
    prose.explain(CAP, findings_of(question, table))


frame.draw("Does a caption that says more align better?", show)
