"""Figure 4 of the published work: what alignment with one model says of any score."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.questions.competence.question import (
    CompetenceScores,
    Contenders,
    Downstream,
    contending,
    find_score,
    usual_target,
)
from core.study.models import is_reality, reads
from core.study.parts import Comparison
from core.study.scores import TaskScore, known_scores
from pages._shared import controls, frame, queries, section
from pages._shared.address import bind, fragment
from pages._shared.queries import Place

METHODS = """Each mark is a model, larger ones have more parameters; a stronger color means more
competent (language models: 1 − bits per byte, for each text its bits over its UTF-8 bytes, then the
mean). Both lines are judged on models left out of the fit: if the ability emerged at some
alignment, a broken stick would win by more than a standard error."""


@fragment
def show(at: Place, contenders: Contenders, comparison: Comparison) -> None:
    """Draw a score of these models against their alignment with one target, and say what is
    seen.
    """
    st.header("Does alignment predict what a model can do?", anchor=False)
    with frame.part():
        models = contending(queries.models(at), contenders)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            score = _pick_score(at, models)
            target = _pick_target(at)
        question = Downstream(at.scope, contenders, score.name, target, comparison)
        section.draw(at, question, key="downstream", methods=METHODS, models=True)
        table = queries.ask(at, question)
        left_out = table[table["near"].isna()]
        reasons = dict(zip(left_out["model"], left_out["reason"], strict=True))
        frame.list_left_out(queries.models(at), reasons)


def _scores(at: Place) -> pd.DataFrame:
    return queries.ask(at, CompetenceScores(at.scope))


def _pick_score(at: Place, models: pd.DataFrame) -> TaskScore:
    offered = known_scores(_scores(at), set(models["model"]))
    if not offered:
        own = [] if queries.card(at).world else ["--task", "vtab"]
        how = frame.command("probe", "--dataset", at.dataset, *own)
        raise frame.NeededError(
            "No score of these models is known. Measure some, or import your own below:", how
        )
    names = list({score.name: score for score in offered})
    one = controls.option_named(Downstream, "score")
    name = st.selectbox(one.label, names, **bind(one.name, find_score("", offered).name, names))
    return find_score(name, offered)


def _pick_target(at: Place) -> str:
    every = queries.models(at)
    seen = every[reads(every, "image") | is_reality(every)]
    if seen.empty:
        frame.need_readers(at, "image")
    best = usual_target(at.scope, queries.study(at))
    one = controls.option_named(Downstream, "target")
    return controls.pick_model(one.label, every, one.name, default=best)
