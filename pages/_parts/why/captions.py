"""Captions: do longer captions align better?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

import streamlit as st

from core.questions.captions import (
    CaptionAlignment,
    CaptionFacts,
    CaptionLevels,
    default_models,
    default_targets,
    outdated_sentences,
)
from core.stimuli.captions import offered_levels
from pages._parts.published import listed
from pages._parts.why import retold
from pages._shared import bar, controls, facts, frame, queries, section
from pages._shared.address import fragment
from pages._shared.controls import Look
from pages._shared.queries import Place

METHODS = """Bars are one standard deviation over language models. The heading gives the change of
alignment when the number of words doubles, with the 95% interval over families of language models,
and the p of Page's test, adjusted over the panels. The models of a family count once, and a quirk
in how one level was written can pass for a trend."""
LEVELS = """Means over stimuli. A caption mentions the factors that its words reveal; a word that
fits several values counts in part."""
FACTS = """Each mark is a group of stimuli whose captions, at one level, mention about the same
share of the factors; small marks hold few stimuli. Higher: language
models share more of these stimuli's nearest neighbors with the panel's models."""

By = Literal["objective", "model", "modality", "pair"]
PANELS: Mapping[By, str] = {
    "objective": "objective",
    "model": "model",
    "modality": "all vision models, as published",
    "pair": "pair of models",
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
    with bar.controls_bar():
        question = pick(at)
    whole, at = at, replace(at, scope=question.scope)
    with frame.part():
        show_alignment(at, question)
    with frame.part():
        levels = CaptionLevels(at.scope)
        section.draw(at, levels, key="words", header=levels.title(), methods=LEVELS)
    k = question.comparison.settings.get("k", min(10, queries.size(at) - 1))
    facts = CaptionFacts(at.scope, question.x, question.y, k)
    if queries.card(at).world:
        with frame.part():
            section.draw(at, facts, key="facts", header=facts.title(), methods=FACTS)
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
    if card.world:
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
    study, every = queries.study(at), queries.models(at)
    reading = every[every["model"].isin(default_models(study))]
    seeing = every[every["model"].isin(default_targets(study))]
    if reading.empty:
        raise frame.NeededError("No trained language model is embedded at two caption levels.")
    looks = {
        "x": Look.of_models(reading),
        "y": Look.of_models(seeing),
        "by": Look(labels=PANELS, row=True),
    }
    return controls.pick(CaptionAlignment, at, looks, more=("by",))


@fragment
def show_alignment(at: Place, question: CaptionAlignment) -> None:
    """Draw alignment against the number of words."""
    section.draw(at, question, key="levels", methods=METHODS, models=question.by == "model")
