"""Do longer captions align better?"""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from core.questions.captions import CaptionAlignment, CaptionLevels, outdated_sentences
from core.study.models import is_reality, reads, usual
from core.study.parts import Comparison
from pages._parts.published import listed
from pages._parts.why import retold
from pages._shared import bar, controls, facts, frame, queries, section
from pages._shared.address import fragment
from pages._shared.controls import Look
from pages._shared.queries import Place

CAPTION = """Lines: means over language models, ± 1 SD; dotted: chance. Above: change per doubling
of words."""
METHODS = """The first q is the largest of those supported. p is of Page's trend test. A family of
language models counts once. The interval is Student's t over families; p is FDR-adjusted over the
panels. An artifact in one caption set could mimic a trend. Source: Huh et al. 2024, figure 9."""
FACTS = """Points: images whose captions mention about the same share of the factors, by caption
level; small points hold few images."""
LINES = {
    "objective": "objective",
    "model": "model",
    "modality": "all vision models",
}
HELP = {
    "x": "Language models at two caption levels or more. Default: all trained ones.",
    "y": "Models that they are compared with. Default: all trained vision models.",
    "by": "What each line averages over. Default: an objective.",
}


def is_offered(at: Place) -> bool:
    """Return whether a language model is embedded at two caption levels, next to vision models."""
    models = queries.models(at)
    if not (reads(models, "caption").any() and (reads(models, "image") | is_reality(models)).any()):
        return False
    return bool(facts.embedded_levels(at)["model"].value_counts().max() > 1)


def show(at: Place) -> None:
    frame.need_stimuli(at)
    for sentence in outdated_sentences(queries.study(at)):
        st.warning(frame.plain(sentence), icon=":material/error:")
    several = facts.embedded_levels(at)["model"].value_counts()
    models = usual(queries.models(at))
    reading = models[models["model"].isin(several.index[several > 1])]
    seeing = models[reads(models, "image") | is_reality(models)]
    looks = {
        "x": Look.of_models(reading),
        "y": Look.of_models(seeing),
        "by": Look(labels=LINES),
    }
    looks = {name: replace(look, help=HELP[name]) for name, look in looks.items()}
    with bar.controls_bar():
        more = ("x", "y", "layers", "as")
        question = controls.pick(CaptionAlignment, at, looks, more=more, leave=("over",))
    whole, at = at, replace(at, scope=question.scope)
    with frame.part():
        show_alignment(at, question)
    k = question.comparison.settings.get("k", min(10, queries.size(at) - 1))
    mutual = replace(question, comparison=Comparison(k=k), by="objective", over="facts")
    if queries.card(at).world:
        title = "Captions of one length that mention more"
        section.closed(title, at, mutual, key="facts", caption=FACTS)

    def show_levels() -> None:
        table = queries.ask(at, CaptionLevels(at.scope)).dropna(axis=1, how="all")
        st.dataframe(table.drop(columns="reason", errors="ignore"), hide_index=True)

    def show_one() -> None:
        retold.show(whole, queries.ask(whole, replace(mutual, scope=whole.scope).scores))

    frame.fold("Caption levels", show_levels, key="levels-table")
    link = ("reader", "seer", "stimulus")
    frame.fold("One image at every caption level", show_one, key="retold", link=link)
    listed.show(at, "captions")


@fragment
def show_alignment(at: Place, question: CaptionAlignment) -> None:
    section.draw(
        at,
        question,
        key="levels",
        caption=CAPTION,
        methods=METHODS,
        lead=0,
        say=lambda found: [question.verdict(found.table, found.findings).line],
        models=question.by == "model",
    )
