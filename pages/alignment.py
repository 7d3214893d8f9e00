"""Alignment: do better language models look more like vision models?"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import streamlit as st

from core.encoders.encoder import REALITY
from core.errors import LONGEST
from core.metrics import METRICS
from core.modalities import find_modality
from core.options import options_of
from core.questions.alignment import figures
from core.questions.alignment.axes import Axis, find_axis
from core.questions.alignment.findings import (
    name_kinds,
    noise_findings,
    pair_findings,
    trend_findings,
)
from core.questions.alignment.points import calibrated_points, fits, shared_points, trend_points
from core.questions.alignment.question import COMPETENCE, Alignment, Side
from core.questions.alignment.shares import replicates_of
from core.study.models import is_measured, is_reality, reads, trained, without_variants
from core.study.noise import bound_of
from core.study.parts import Calibration
from pages._parts.alignment import layers, looks
from pages._parts.alignment.looks import Look
from pages._parts.published import listed
from pages._shared import address, bar, controls, exportbar, facts, frame, prose, queries
from pages._shared.queries import Place

RISING = {"parameters": "size", "step": "training"}  # in the page's question
COLUMNS = {
    "title_y": "compared with",
    "score": "alignment",
    "published": "published",
    "chance": "chance",
    "ceiling": "ceiling",
    "share": "share of the way",
    "noise_ceiling": "noise ceiling",
    "low": "95 % from",
    "high": "to",
    "threshold": "95 % of chance",
    "p": "p",
    "p_adjusted": "p adjusted",
    "calibrated": "calibrated",
    "reason": "what is missing, and why",
    "layer_x": "layer",
    "layer_y": "its layer",
    "k": "k",
    "n": "stimuli",
}
READING = """Each dot is one of the {models}, placed by {axis}; “More” puts other models or
another score on the axis. Each line is a model they are compared with; large dots and thick lines
are large models. The dashed line, with its 95 % band, is fitted to the diamonds, each the mean of
one recipe over the recipes of the panel; fewer than five recipes have no line. {levels} A cross is
what others published of these models and stimuli, whatever layers and clamping are chosen here.
**Click a dot** to choose its two models: a ring marks them, and their layers are shown below."""
NULL = """Shuffles the stimuli of one model, which breaks their pairing with the other's, and
rescales each score: 0 is the null's 95 % threshold, 1 the metric's best value. All layers
share each permutation, and the best pair of layers is chosen anew each time."""
CEILING = """The **ceiling** is how alike two trainings are that differ only in their seed; for a
vision and a language model, it is the geometric mean of the two. Models of different recipes can
hardly be expected to agree more."""
NOISE = """The **noise ceiling** is how far a model without noise could come: what is measured
several times is compared with itself, half of its repeats with the other half."""
CORRECTED = """This metric is a correlation over pairs of stimuli, so that is corrected for the
number of repeats (Spearman–Brown), and its root is drawn."""
AS_HALVES = """This metric has no correction for the number of repeats: the agreement of the two
halves is drawn as it is, which is the least that the ceiling can be: half of the repeats are
noisier than all of them, and a good model may come above it."""
COPIES = "*Convergence* compares models with their own fine-tuned copies, by language model:"
COST = "Does fine-tuning cost alignment?"
FIXED = "a fixed pair of layers is no pair of two seeds’ layers"
ONE_SEED = "no recipe of these models was trained with several seeds"
SHARED = "share of the way from chance (0) to the ceiling (1)"
DRAWS = (
    "Draws random halves of the stimuli and shows the 95 % interval of each score, in the table and"
    " on the hover card: where it would lie for as many other stimuli of the same kind. Layers are"
    " taken as chosen. Of CKNNA, cycle k-NN and the ordered k-NN metrics it may be up to 1.4 times"
    " too wide."
)


def ask_in_words() -> str:
    """Return the page's question for what is on the axis."""
    side: Side = "vision" if address.peek("axis_models", "") == "vision" else "language"
    axis = address.peek("axis", "") or _usual_axis(side)
    if axis != COMPETENCE:
        return f"Does alignment rise with {RISING.get(axis) or frame.plain(axis[:LONGEST])}?"
    placed = find_axis(axis, side)
    return f"Do better {placed.models} agree more with {_targets(placed)}?"


def _usual_axis(side: Side) -> str:
    if not queries.store().datasets():
        return COMPETENCE
    return looks.usual_axis(queries.place(st.session_state["dataset"]), side)


def _targets(side: Axis) -> str:
    """Return what those are called that are compared with: the usual ones, unless others are
    chosen.
    """
    chosen = address.peek("y", list[str]())
    if not chosen or not queries.store().datasets():
        return side.targets
    models = queries.models(queries.place(st.session_state["dataset"]))
    models = models[models["model"].isin(chosen)]
    return name_kinds(models[~is_reality(models)]) or (REALITY if len(models) else side.targets)


def show(at: Place) -> None:
    """Draw the trend, then the layers of one pair, then the table."""
    frame.need_readers(at, "caption", "image")
    frame.need_stimuli(at)
    answer = st.container()
    with bar.controls_bar():
        question, look = pick(at)
    at = replace(at, scope=question.scope)
    models, table = queries.models(at), queries.ask(at, question)
    points = trend_points(table, models)
    show_trend(at, question, points, look)  # a browser draws it while the rest is found
    with answer:
        high = question.comparison.spec.higher_is_more_aligned
        prose.answer(
            [
                *trend_findings(points, models, aligned_high=high, axis=look.axis),
                *pair_findings(points, aligned_high=high, axis=look.axis),
                *noise_findings(points, bound=bound_of(question.comparison)),
            ]
        )
    for reason in dict.fromkeys(table.loc[table["score"].isna(), "reason"]):
        st.caption(f"Left out: {frame.plain(reason)}.")
    scored = points.dropna(subset="score")
    if len(scored):
        st.header("Which layers agree?", anchor=False)
        pair = layers.pick_pair(at, scored, question.comparison.spec)
        layers.show(at, question, pair, scored["chance"].iloc[0])
    with st.expander("The table behind the plot"):
        names = {"title_x": find_modality(look.axis.side).title, "axis": look.axis.title} | COLUMNS
        kept = [name for name in names if name in points]
        st.dataframe(points[kept].rename(columns=names), hide_index=True)
    listed.show(at, "alignment")


def show_trend(at: Place, question: Alignment, points: pd.DataFrame, look: Look) -> None:
    """Draw alignment against competence, or what else is on the axis."""
    calibrated = question.calibration.null > 0
    drawn = look.apply(at, points)
    if look.vertical == "share":
        drawn = shared_points(drawn)
    elif calibrated:
        drawn = calibrated_points(drawn)
    figure = figures.trend(
        drawn,
        fits(drawn, queries.models(at), look.axis),
        label=SHARED if look.vertical == "share" else question.label,
        mode=frame.mode(),
        narrow=frame.narrow(),
        axis=look.axis,
        bound=bound_of(question.comparison),
    )
    csv = drawn.assign(metric=question.comparison.metric)
    exportbar.draw_models(at, question, figure, key="trend", table=csv)
    _explain(points, question, look)
    _list_missing(at, drawn, look)
    _link_copies(points)


def pick(at: Place) -> tuple[Alignment, Look]:
    """Draw the controls of the question, and of how its answer is looked at."""
    options = {one.name: one for one in options_of(Alignment)}
    every = queries.models(at)
    with bar.more():
        name, axis = looks.pick_axis(at)
        look = looks.pick(axis)
        unfinished = controls.pick_unfinished(options["unfinished"], every)
        studied = controls.pick_scope(at)
        calibration = Calibration(
            null=controls.pick_draws(options["null"], (0, 100, 200, 1000), text=NULL),
            bootstrap=controls.pick_draws(options["bootstrap"], (0, 200, 1000), text=DRAWS),
        )
    models = (
        every
        if unfinished
        else every[every["model"].isin(trained(every)["model"]) | is_measured(every)]
    )
    x, y = pick_models(models, axis)
    question = Alignment(
        x=x,
        y=y,
        axis_models=axis.side,
        axis=name,
        unfinished=unfinished,
        scope=studied,
        comparison=controls.pick_comparison(queries.size(replace(at, scope=studied))),
        calibration=calibration,
    )
    return question, look


def pick_models(models: pd.DataFrame, axis: Axis) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Choose the models on the axis, and whom they are compared with: anyone."""
    x, y = (controls.option_named(Alignment, name) for name in ("x", "y"))
    on_axis = models["modality"] == axis.side
    usual = without_variants(models)
    seen, others = usual["modality"] == axis.side, reads(usual, "image") | reads(usual, "caption")
    compared = (others & ~seen) | is_reality(usual)
    names = replace(x, label=axis.models.capitalize())
    return (
        controls.pick_models(names, models[on_axis], usual=int(seen.sum())),
        controls.pick_models(y, models, usual=int(compared.sum())),
    )


def _explain(points: pd.DataFrame, question: Alignment, look: Look) -> None:
    metric = question.comparison.metric
    notes = (_chance_note, _ceiling_note, _noise_note)
    levels = " ".join(filter(None, (note(points, question, look) for note in notes)))
    about = {"models": look.axis.models, "axis": look.axis.title}
    prose.explain(READING.format(levels=levels, **about))
    with st.expander("The metric"):
        spec = METRICS[metric].spec
        st.latex(spec.formula)
        st.markdown(
            f"**Sees.** {spec.sees} **Misses.** {spec.misses} {frame.plain(spec.reference)}."
        )


def _link_copies(points: pd.DataFrame) -> None:
    """Link to the paired test of models and their fine-tuned copies, where there are any."""
    groups = pd.concat([points["facet"], points["group_x"]])
    if groups.str.contains("fine-tuned").any():
        along = [address.chosen(key) for key in ("dataset", "metric", "k", "layers", "as")]
        query = {key: texts for each in along for key, texts in each.items()}
        st.caption(COPIES)
        st.page_link(
            "convergence.py", label=COST, icon=":material/arrow_forward:", query_params=query
        )


def _chance_note(points: pd.DataFrame, question: Alignment, look: Look) -> str:
    """Say what the line of chance is, or where chance is seen instead."""
    formula = METRICS[question.comparison.metric].chance
    if look.vertical == "share":
        return "The dotted line, 0, is chance."
    if question.calibration.null:
        return "The dotted line is chance, after calibration."
    if formula is not None:
        return (
            f"The dotted line is chance for one pair of layers, {formula.text}; the best of many"
            " pairs lies a little above it."
        )
    if points["chance"].isna().all():
        return "Calibrate by permutations to see chance for this metric."
    return "Hover cards show chance."


def _ceiling_note(points: pd.DataFrame, question: Alignment, look: Look) -> str:
    """Say what the ceiling is, or why none is drawn."""
    if "ceiling" not in points:
        fixed = replicates_of(question) is None
        return f"There is no ceiling: {FIXED if fixed else ONE_SEED}."
    if question.calibration.null and look.vertical == "score":
        return "Calibrated scores have no ceiling; the share of the way to it is on hover cards."
    return CEILING


def _noise_note(points: pd.DataFrame, question: Alignment, _: Look) -> str:
    """Say what the noise ceiling is, where anything was measured several times."""
    if "noise_ceiling" not in points:
        return ""
    return f"{NOISE} {AS_HALVES if bound_of(question.comparison) else CORRECTED}"


def _list_missing(at: Place, points: pd.DataFrame, look: Look) -> None:
    """Say which models have no place on the axis, and why, unless none has one."""
    places = points.drop_duplicates("model_x").set_index("model_x")
    missing = places[places["axis"].isna()]
    if missing.empty or len(missing) == len(places):
        return
    measured = facts.competence(at).set_index("model")["reason"]
    reasons = measured if look.axis.is_competence and look.axis.side == "language" else {}
    left_out = "; ".join(
        f"{title} ({reasons.get(name, f'its {look.axis.short} is not known')})"
        for name, title in missing["title_x"].items()
    )
    st.caption(f"Not drawn: {frame.plain(left_out)}.")


frame.draw(ask_in_words(), show)
