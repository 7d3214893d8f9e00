"""Figure 4 of the published work: what alignment with one model says of any score."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd
import streamlit as st

from core.competence.records import BITS, SKILL
from core.figures import tables
from core.figures.theme import wrap
from core.metrics import METRICS
from core.questions.competence import figures as figures
from core.questions.competence.answer import DOWNSTREAM
from core.questions.competence.findings import tell_score
from core.questions.competence.registry import choices, score_of
from core.statistics.correlations import Correlation
from pages._shared import controls, exportbar, frame, queries
from pages._shared.among import Among
from pages._shared.queries import Place

READING = """**How to read it.** Each mark is a model, large ones have more parameters: the
further right, the more aligned with {target}; the higher, the higher its score. The
more its color stands out, the more competent it is: {rank}. Both lines are judged
on models left out of the fit: if the ability emerged at some alignment, a stick
that is flat at first and then steep would win, by more than the standard error of
its win."""
TOTAL = "total bits over total UTF-8 bytes"
MEAN = (
    "of each text its bits over its UTF-8 bytes, then their mean, as in the released code of the"
    " published work"
)
OF_SIGHT = "share of tasks solved"


class Score(NamedTuple):
    """A task of one origin; low is better in bits per byte."""

    task: str
    origin: str
    unit: str

    @property
    def name(self) -> str:
        """Return what the address and the list call it."""
        return f"{self.task} ({self.origin})"


@st.fragment
def show(at: Place, models: pd.DataFrame, asked: Among) -> None:
    """Draw a score of these models against their alignment with one target, and say what is
    seen.
    """
    st.subheader("Does alignment tell what a model can do?", anchor=False)
    with frame.part():
        draw(at, models, asked)


def draw(at: Place, models: pd.DataFrame, asked: Among) -> None:
    """Draw the controls and the scores; raises NeededError where there is no score or no target."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        score = _pick_score(at, models)
        target, title = _pick_target(at)
        values = score_of(queries.scores(at), score.task, origin=score.origin)
        names = [name for name in models["model"] if name in values.index and name != target]
        scored = models[models["model"].isin(names)]
        skill, rank = _pick_rank(at, scored)
    if not names:
        raise frame.NeededError(
            "None of the chosen models has this score, other than the one they are compared with."
        )
    points = tables.score_points(
        queries.alignment(at, names, [target], **asked.compared), values, models, skill
    )
    order, partial, fits = _foretold(points)
    label = wrap(f"{asked.label} with {title}", 44 if frame.narrow() else 100)
    figure = figures.downstream(
        points,
        fits,
        label=label,
        score=_axis(score),
        rank=rank,
        note=_note(order, partial),
        mode=frame.mode(),
    )
    recipe = queries.recipe(
        at,
        "score-and-alignment",
        [*names, target],
        target=target,
        task=score.task,
        origin=score.origin,
        **asked.compared,
    )
    commands = frame.align_command(at, names, [target], **asked.compared), _list_command(at, score)
    exportbar.plot(
        figure,
        key="downstream",
        table=points.drop(columns="reason"),
        recipe=recipe,
        command="\n".join(commands),
    )
    st.markdown(READING.format(target=frame.plain(title), rank=_rank_text(rank)))
    low_aligned = not METRICS[asked.metric].spec.higher_is_more_aligned
    said = tell_score(order, partial, fits, low_aligned=low_aligned, low_better=score.unit == BITS)
    st.markdown(f"**What is seen.** {frame.plain(said)}")
    if "k" in asked.parameters:
        frame.tell_left_out(at, names, asked.parameters["k"])


def _pick_score(at: Place, models: pd.DataFrame) -> Score:
    table = queries.scores(at)
    known = choices(table[table["model"].isin(models["model"])])
    found = {score.name: score for score in map(Score._make, known[list(Score._fields)].to_numpy())}
    if not found:
        how = frame.command("probe", "--dataset", at.dataset)
        raise frame.NeededError(
            "No score of these models is known. Measure some, or give your own below:", how
        )
    first = [name for task in DOWNSTREAM for name, score in found.items() if score.task == task]
    controls.forget("score", found)
    name = st.selectbox(
        "Score",
        list(found),
        index=list(found).index(first[0]) if first else 0,
        key="score",
        bind="query-params",
    )
    return found[name]


def _pick_target(at: Place) -> tuple[str, str]:
    every = queries.models(at)
    titles = every[every["modality"].isin(("vision", "world"))].set_index("model")["title"]
    if titles.empty:
        frame.need_readers(at, "image")
    solved = queries.tasks_solved(at).dropna(subset="solved").set_index("model")["solved"]
    best = solved.idxmax() if len(solved) else titles.index[0]
    controls.forget("target", titles.index)
    target = st.selectbox(
        "Aligned with",
        list(titles.index),
        index=list(titles.index).index(best),
        format_func=titles.get,
        key="target",
        bind="query-params",
    )
    return target, titles[target]


def _pick_rank(at: Place, scored: pd.DataFrame) -> tuple[pd.Series, str]:
    """Choose by which bits per byte language models are ranked; return the competence of all, and
    what it is of these.
    """
    solved = queries.tasks_solved(at).set_index("model")["solved"].astype("float64")
    table = queries.scores(at)
    known = choices(
        table[table["model"].isin(scored.loc[scored["modality"] == "language", "model"])]
    )
    scores = map(Score._make, known[list(Score._fields)].to_numpy())
    coded = {score.name: score for score in scores if score.unit in (BITS, SKILL)}
    if not coded:
        return solved, OF_SIGHT
    usual = next((name for name, score in coded.items() if score.unit == SKILL), next(iter(coded)))
    controls.forget("rank", coded)
    score = coded[
        st.selectbox(
            "Ranked by",
            list(coded),
            index=list(coded).index(usual),
            key="rank",
            bind="query-params",
        )
    ]
    values = score_of(table, score.task, origin=score.origin)
    return pd.concat([values if score.unit == SKILL else 1 - values, solved]), _rank_name(score)


def _rank_name(score: Score) -> str:
    return score.task if score.unit == SKILL else f"1 - {score.task}"


def _rank_text(rank: str) -> str:
    if rank == OF_SIGHT:
        return "its rank in the share of tasks that it solves"
    return f"its rank in {frame.plain(rank)} ({MEAN if 'mean over texts' in rank else TOTAL})"


def _foretold(points: pd.DataFrame) -> tuple[Correlation, Correlation, pd.DataFrame]:
    fits, order, partial = queries.foretold(
        *(tuple(points[column]) for column in ("near", "value", "parameters"))
    )
    return order, partial, fits


def _axis(score: Score) -> str:
    return f"{score.name}, {score.unit}{', lower is better' if score.unit == BITS else ''}"


def _note(order: Correlation, partial: Correlation) -> str:
    parts = [
        f"{name} {_number(found)}"
        for name, found in (("Spearman", order), ("given log size", partial))
    ]
    return ("<br>" if frame.narrow() else " · ").join([*parts, f"{order.n} models"])


def _number(found: Correlation) -> str:
    if pd.isna(found.value):
        return "unknown"
    interval = "" if pd.isna(found.low) else f" ({found.low:.2f} to {found.high:.2f})"
    return f"{found.value:.2f}{interval}".replace("-", "−")


def _list_command(at: Place, score: Score) -> str:
    return frame.command(
        "competence",
        "list",
        "--dataset",
        at.dataset,
        "--task",
        score.task,
        "--origin",
        score.origin,
    )
