"""Figure 4 of the published work: what alignment with one model says of any score."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.competence.records import BITS, SKILL
from core.figures.theme import plain, wrap
from core.questions.asking import findings_of
from core.questions.competence import figures
from core.questions.competence.answer import contending, find_score, usual_target
from core.questions.competence.points import ranked
from core.questions.competence.prediction import Prediction, predict
from core.questions.competence.question import (
    CompetenceScores,
    Contenders,
    Downstream,
    TasksSolved,
)
from core.statistics.correlations import Correlation
from core.study.models import basis_of, is_reality, reads, skill_values
from core.study.parts import Comparison
from core.study.scores import TaskScore, known_scores, score_of
from pages._shared import controls, exportbar, facts, frame, prose, queries
from pages._shared.address import bind, fragment
from pages._shared.queries import Place

READING = """Each mark is a model, large ones have more parameters: the
further right, the more aligned with {target}; the higher, the higher its score. The
more its color stands out, the more competent it is: {rank}. Both lines are judged
on models left out of the fit: if the ability emerged at some alignment, a broken
stick, flat at first and then steep, would win by more than the standard error of the
difference."""
TOTAL = "total bits over total UTF-8 bytes"
MEAN = (
    "for each text its bits over its UTF-8 bytes, then their mean, as in the released code of the"
    " published work"
)


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
            skill, rank = _pick_rank(at, _scored(at, models, score, target))
        question = Downstream(at.scope, contenders, score.name, target, comparison)
        draw(at, question, score, skill, rank)


def draw(at: Place, question: Downstream, score: TaskScore, skill: pd.Series, rank: str) -> None:
    """Draw the scores, models colored by their rank in skill; rank: what skill measures."""
    table = queries.ask(at, question)
    points, prediction = ranked(table, skill), predict(table)
    title = queries.models(at).set_index("model").loc[question.target, "title"]
    label = wrap(plain(f"{question.comparison.label} with {title}"), 44 if frame.narrow() else 100)
    figure = figures.downstream(
        points,
        prediction.fits,
        label=label,
        score=_axis(score),
        rank=rank,
        note=_note(prediction),
        mode=frame.mode(),
    )
    csv = points.drop(columns="reason")
    exportbar.draw_models(at, question, figure, key="downstream", table=csv)
    prose.explain(
        READING.format(target=frame.plain(title), rank=_rank_text(rank)),
        findings_of(question, table),
    )
    left_out = table[table["near"].isna()]
    reasons = dict(zip(left_out["model"], left_out["reason"], strict=True))
    frame.list_left_out(queries.models(at), reasons)


def _scores(at: Place) -> pd.DataFrame:
    return queries.ask(at, CompetenceScores(at.scope))


def _scored(at: Place, models: pd.DataFrame, score: TaskScore, target: str) -> pd.DataFrame:
    """Return the models that have a score, without the target."""
    values = score_of(_scores(at), score.task, origin=score.origin)
    return models[models["model"].isin(values.index) & (models["model"] != target)]


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


def _pick_rank(at: Place, scored: pd.DataFrame) -> tuple[pd.Series, str]:
    """Choose which bits per byte rank language models; return the competence of all models, and
    what it measures.
    """
    answer = queries.ask(at, TasksSolved(at.scope))
    solved = answer.set_index("model")["solved"].astype("float64")
    reading = set(scored.loc[reads(scored, "caption"), "model"])
    coded = {
        score.name: score
        for score in known_scores(_scores(at), reading)
        if score.unit in (BITS, SKILL)
    }
    if not coded:
        return skill_values(facts.competence(at), answer), basis_of(answer)
    usual = next((name for name, score in coded.items() if score.unit == SKILL), next(iter(coded)))
    name = st.selectbox("Ranked by", list(coded), **bind("rank", usual, coded))
    score = coded[name]
    values = score_of(_scores(at), score.task, origin=score.origin)
    return pd.concat([values if score.unit == SKILL else 1 - values, solved]), _rank_name(score)


def _rank_name(score: TaskScore) -> str:
    return score.task if score.unit == SKILL else f"1 - {score.task}"


def _rank_text(rank: str) -> str:
    if not rank.startswith(("1 - ", "1 − ")):
        return f"its rank in {frame.plain(rank)}"
    return f"its rank in {frame.plain(rank)} ({MEAN if 'mean over texts' in rank else TOTAL})"


def _axis(score: TaskScore) -> str:
    return f"{score.name}, {score.unit}{', lower is better' if score.unit == BITS else ''}"


def _note(prediction: Prediction) -> str:
    order, partial = prediction.order, prediction.partial
    parts = (
        f"Spearman {_number(order)}",
        f"given log size {_number(partial)}",
        f"{order.n} models",
    )
    return ("<br>" if frame.narrow() else " · ").join(parts)


def _number(correlation: Correlation) -> str:
    if pd.isna(correlation.value):
        return "unknown"
    low, high = correlation.low, correlation.high
    interval = "" if pd.isna(low) else f" ({low:.2f} to {high:.2f})"
    return f"{correlation.value:.2f}{interval}".replace("-", "−")
