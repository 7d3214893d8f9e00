"""Alignment across vision and language against competence, and the scores that it predicts."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import streamlit as st

from core.questions.alignment.axes import PLURALS, Side, offered_axes
from core.questions.alignment.question import Alignment
from core.questions.competence.question import (
    CompetenceScores,
    Contenders,
    Downstream,
    TasksSolved,
    find_score,
    unasked,
    usual_target,
)
from core.questions.finding import listed as in_words
from core.study.models import is_measured, is_reality, reads, trained
from core.study.scores import known_scores
from pages._parts.published import listed
from pages._parts.trends import scores
from pages._shared import address, bar, controls, facts, frame, queries, section
from pages._shared.address import fragment
from pages._shared.controls import Look
from pages._shared.queries import Place

MORE = (
    "x",
    "y",
    "axis_models",
    "unfinished",
    "layers",
    "as",
    "null",
    "within",
    "bootstrap",
    "seed",
)
CAPTION = "A point: mean alignment with the models of the other modality, and its 95% CI."
PANELS = """A point is a model: its mean alignment with the models of the panel, with 95% CI. Each
line is one of these. Dashed: linear fit with 95% CI. Dotted: chance."""
UNASKED = "Not counted: {models} (imported, family unknown), unless named under Options."
METHODS = """The fit and Spearman's ρ take one point per recipe: its mean over the compared
recipes. Sizes and seeds of one family count once in p and the interval. Overview instead tests both
modalities, within each architecture and objective. The **ceiling** is the alignment of two runs
that differ only in their seed; across modalities, the geometric mean.

$$p = \\frac{1 + \\#\\{|\\rho_{perm}| \\ge |\\rho|\\}}{1 + permutations}$$"""
HELP = {
    "x": "Models whose competence is on the axis. Default: all fully trained ones.",
    "y": "Models that they are compared with. Default: all of the other modality.",
    "axis_models": "Whose competence is on the axis. Default: language models.",
    "axis": "What alignment is plotted against. Default: competence, if five models have it.",
    "unfinished": "Also show checkpoints and untrained models. They are never fitted.",
    "panels": "Show one panel for each objective or family of the compared models.",
    "null": "Permutations of the images (default 0). With 100 or more, scores are calibrated: 0 is"
    " the 95th percentile of the null, 1 the maximum. Layers are chosen again each time.",
    "bootstrap": "Random halves of the images (default 0) for the 95% CI of each score, on the"
    " hover cards of the panels.",
    "seed": "Seed of permutations and halves. Default 0.",
}
PREDICTS = """A point is a model; color is its rank in competence. Dashed: line. Solid: broken
stick. If an ability emerged at some alignment, the stick would predict better."""
PREDICTS_METHODS = """Both fits are compared on models left out of them: the gain is the difference
of their squared errors, which counts if it exceeds its standard error. The second test holds the
logarithm of the parameters fixed. Source: Huh et al. 2024, figure 4."""
COLUMNS = {
    "title_x": "model x",
    "axis": "axis",
    "title_y": "model y",
    "score": "alignment",
    "chance": "chance",
    "ceiling": "ceiling",
    "share": "share of ceiling",
    "noise_ceiling": "noise ceiling",
    "low": "CI low",
    "high": "CI high",
    "threshold": "threshold",
    "p": "p",
    "p_adjusted": "q",
    "calibrated": "calibrated",
    "layer_x": "layer x",
    "layer_y": "layer y",
    "k": "k",
    "n": "n",
    "reason": "note",
}


def is_offered(at: Place) -> bool:
    """Return whether the store has models of both modalities."""
    models = queries.models(at)
    return bool(reads(models, "caption").any() and reads(models, "image").any())


def show(at: Place) -> None:
    frame.need_stimuli(at)
    with bar.controls_bar():
        question = pick(at)
    at = replace(at, scope=question.scope)
    caption = PANELS if question.panels else CAPTION
    answered = section.draw(
        at, question, key="trend", caption=caption, methods=METHODS, models=True
    )
    table = answered.table if answered else queries.ask(at, question)
    _list_missing(at, table)
    if left := {*unasked(queries.study(at))} - {*question.x, *question.y}:
        titles = queries.models(at).set_index("model")["title"]
        names = frame.plain(in_words([titles[name] for name in sorted(left)]))
        st.caption(UNASKED.format(models=names))
    for reason in dict.fromkeys(table.loc[table["score"].isna(), "reason"]):
        st.caption(f"Left out: {frame.plain(reason)}.")
    show_prediction(at, question)
    kept = [name for name in COLUMNS if name in table]
    pairs = table[kept].rename(columns=COLUMNS)
    frame.fold("All pairs", lambda: st.dataframe(pairs, hide_index=True), key="pairs")
    listed.show(at, "alignment")
    scores.show(at)


def pick(at: Place) -> Alignment:
    """Draw the controls of the question."""
    models = queries.models(at)
    side: Side = "vision" if address.peek("axis_models", "") == "vision" else "language"
    start = usual(at, side)
    axes = offered_axes(queries.ask(at, CompetenceScores(at.scope)), models, side)
    shown = models[models["model"].isin(trained(models)["model"]) | is_measured(models)]
    looks = {
        "x": Look.of_models(shown[shown["modality"] == side], usual=len(start.x)),
        "y": Look.of_models(shown, usual=len(start.y)),
        "axis_models": Look(labels=PLURALS),
        "axis": Look(labels={name: name for name in axes}, start=start.axis),
    }
    named = {name: replace(looks.get(name, Look()), help=text) for name, text in HELP.items()}
    return controls.pick(Alignment, at, named, more=MORE)


@st.cache_data(max_entries=32, show_spinner=False)
def usual(at: Place, side: Side) -> Alignment:
    """Return the question that is asked at first, in full."""
    question = Alignment(at.scope, axis_models=side).complete(queries.study(at))
    assert isinstance(question, Alignment)
    return question


@fragment
def show_prediction(at: Place, question: Alignment) -> None:
    """Draw a score of the models against their alignment with one target, if any score is known."""
    models, known = queries.models(at), queries.ask(at, CompetenceScores(at.scope))
    offered = known_scores(known, set(question.x or usual(at, question.axis_models).x))
    if not offered:
        return

    def draw() -> None:
        seen = models[reads(models, "image") | is_reality(models)]
        names = {score.name: score.name for score in offered}
        looks = {
            "score": Look(labels=names, start=find_score("", offered).name),
            "target": Look(
                labels=seen.set_index("model")["title"].to_dict(),
                start=usual_target(queries.ask(at, TasksSolved(at.scope)), queries.study(at)),
            ),
        }
        with st.container(horizontal=True, vertical_alignment="bottom"):
            chosen = {
                name: controls.pick_option(controls.option_named(Downstream, name), look)
                for name, look in looks.items()
            }
        asked = Downstream(
            at.scope, Contenders(question.x), comparison=question.comparison, **chosen
        )
        answered = section.draw(
            at,
            asked,
            key="downstream",
            caption=PREDICTS,
            methods=PREDICTS_METHODS,
            models=True,
        )
        if answered:
            left_out = answered.table[answered.table["near"].isna()]
            reasons = dict(zip(left_out["model"], left_out["reason"], strict=True))
            frame.list_left_out(models, reasons)

    frame.fold(Downstream.title(), draw, key="downstream", link=("score", "target"))


def _list_missing(at: Place, table: pd.DataFrame) -> None:
    """Say which models have no place on the axis, and why, unless none has one."""
    if "axis" not in table:
        return
    places = table.drop_duplicates("model_x").set_index("model_x")
    missing = places[places["axis"].isna()]
    if missing.empty or len(missing) == len(places):
        return
    reasons = facts.competence(at).set_index("model")["reason"]
    texts = [
        f"{title} ({reasons.get(name) or 'unknown'})" for name, title in missing["title_x"].items()
    ]
    titles = list(missing["title_x"])
    st.caption(f"Not drawn: {frame.plain(in_words(titles))}.", help=frame.plain("; ".join(texts)))
