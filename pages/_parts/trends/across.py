"""Alignment: do better language models look more like vision models?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd
import streamlit as st

from core.encoders.encoder import REALITY
from core.metrics import METRICS, MetricSpec
from core.modalities import find_modality
from core.options import options_of
from core.questions.alignment.axes import (
    PLURALS,
    USUAL,
    Axis,
    By,
    Side,
    axis_labels,
    offered_axes,
)
from core.questions.alignment.calibration import replicates_of
from core.questions.alignment.figures import layer_profiles, trend
from core.questions.alignment.points import calibrated_points, group_points, shared_points
from core.questions.alignment.question import Alignment
from core.questions.asking import completed
from core.questions.competence.question import CompetenceScores, TasksSolved
from core.study.layers import ALL, LayerChoice, layer_matrix
from core.study.layers import pick as pick_best
from core.study.models import (
    basis_of,
    is_measured,
    is_reality,
    language_basis,
    reads,
    trained,
    without_variants,
)
from core.study.noise import bound_of
from core.study.parts import Calibration
from pages._parts.published import listed
from pages._shared import address, bar, controls, facts, frame, queries, section, selection
from pages._shared.address import bind
from pages._shared.queries import Place

COLUMNS = {
    "title_y": "compared with",
    "score": "alignment",
    "published": "published",
    "chance": "chance",
    "ceiling": "ceiling",
    "share": "share of the way",
    "noise_ceiling": "noise ceiling",
    "low": "95% from",
    "high": "to",
    "threshold": "95% of chance",
    "p": "p",
    "p_adjusted": "p adjusted",
    "calibrated": "calibrated",
    "reason": "what is missing, and why",
    "layer_x": "layer",
    "layer_y": "its layer",
    "k": "k",
    "n": "stimuli",
}
READING = """Each dot is a pair, placed by {axis}; each line is a model compared with, thick if
large. The dashed line, with its 95% band, is fitted to the diamonds, each the mean of one recipe
over the panel. {levels} A cross is a published value. **Click a dot** to choose its two models."""
NULL = """Shuffles the stimuli of one model, which breaks their pairing with the other's, and
rescales each score: 0 is the null's 95% threshold, 1 the metric's best value. The best pair of
layers is chosen again for each permutation."""
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
COPIES = "*Why* compares models with their own fine-tuned copies, by language model:"
COST = "Does fine-tuning cost alignment?"
FIXED = "a fixed pair of layers is no pair of two seeds’ layers"
ONE_SEED = "no recipe of these models was trained with several seeds"
SHARED = "share of the way from chance (0) to the ceiling (1)"
DRAWS = (
    "Draws random halves of the stimuli and shows the 95% interval of each score, in the table and"
    " on the hover card: where it would lie for as many other stimuli of the same kind. Layers are"
    " taken as chosen. Of CKNNA, cycle k-NN and the ordered k-NN metrics it may be up to 1.4 times"
    " too wide."
)


Vertical = Literal["score", "share"]
VERTICALS: Mapping[Vertical, str] = {
    "score": "alignment",
    "share": "share of the way from chance to the ceiling",
}
PANELS: Mapping[By, str] = {
    "objective": "objective",
    "family": "family",
    "size": "size",
    "none": "one panel",
}
COLORS: Mapping[By, str] = {"family": "family", "objective": "objective", "size": "size"}
SYMBOLS: Mapping[By, str] = {"none": "the color's group", **COLORS}
SHARE = """(alignment − chance) / (ceiling − chance): 0 is chance, 1 the ceiling, which is how alike
two trainings are that differ only in their seed."""
VIEWS = {"map": "All pairs", "profiles": "Profiles over depth"}
LAYERS = """Lighter or darker cells are aligned layers; the star marks the best pair."""


@dataclass(frozen=True)
class Look:
    """How the trend is looked at. vertical: what is on the other axis."""

    axis: Axis
    vertical: Vertical
    panels: By
    color: By
    symbol: By


def show(at: Place) -> None:
    """Draw the trend, then the layers of one pair, then the table."""
    frame.need_readers(at, "caption", "image")
    frame.need_stimuli(at)
    with bar.controls_bar():
        question, look = pick(at)
    at = replace(at, scope=question.scope)
    table, spec = queries.ask(at, question), question.comparison.spec
    points = group_points(
        table, queries.models(at), panels=look.panels, color=look.color, symbol=look.symbol
    )
    if look.vertical == "share":
        points = shared_points(points)
    elif question.calibration.null:
        points = calibrated_points(points)
    label = SHARED if look.vertical == "share" else question.label
    plot = trend(points, look.axis, label=label, bound=bound_of(question.comparison))
    methods = READING.format(axis=look.axis.title, levels=_levels(table, question, look))
    section.draw(at, question, key="trend", methods=methods, plot=plot, models=True)
    _list_missing(at, points, look)
    _link_copies(points)
    for reason in dict.fromkeys(table.loc[table["score"].isna(), "reason"]):
        st.caption(f"Left out: {frame.plain(reason)}.")
    scored = points.dropna(subset="score")
    if len(scored):
        st.header("Which layers agree?", anchor=False)
        show_layers(at, question, pick_pair(at, scored, spec))
    with st.expander("The metric"):
        st.latex(spec.formula)
        st.markdown(
            f"**Sees.** {spec.sees} **Misses.** {spec.misses} {frame.plain(spec.reference)}."
        )
    with st.expander("The table behind the plot"):
        names = {"title_x": find_modality(look.axis.side).title, "axis": look.axis.title} | COLUMNS
        kept = [name for name in names if name in table]
        st.dataframe(table[kept].rename(columns=names), hide_index=True)
    listed.show(at, "alignment")


def pick(at: Place) -> tuple[Alignment, Look]:
    """Draw the controls of the question, and of how its answer is looked at."""
    options = {one.name: one for one in options_of(Alignment)}
    every = queries.models(at)
    with bar.more():
        name, axis = pick_axis(at)
        look = pick_look(axis)
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


def pick_axis(at: Place) -> tuple[str, Axis]:
    """Draw the controls of what is on the horizontal axis; return its name, too."""
    side = controls.pick_labeled(controls.option_named(Alignment, "axis_models"), PLURALS)
    scores, models = queries.ask(at, CompetenceScores(at.scope)), queries.models(at)
    if side == "vision":
        basis = basis_of(queries.ask(at, TasksSolved(at.scope)))
    else:
        basis = language_basis(models, facts.competence(at))
    axes = offered_axes(scores, models, side, basis)
    one = replace(controls.option_named(Alignment, "axis"), default=usual_axis(at, side))
    name = controls.pick_labeled(one, axis_labels(axes))
    return name, axes[name]


@st.cache_data(max_entries=32, show_spinner=False)
def usual_axis(at: Place, side: Side) -> str:
    """Return what is on the axis at first, as the command has it."""
    question = completed(Alignment(at.scope, axis_models=side), queries.study(at))
    assert isinstance(question, Alignment)
    return question.axis


def pick_look(axis: Axis) -> Look:
    """Draw the controls of how the trend is looked at."""

    def pick_groups(label: str, key: str, groups: Mapping[By, str], start: By) -> By:
        return st.selectbox(
            label, list(groups), format_func=groups.get, **bind(key, start, groups, follow=True)
        )

    vertical = st.selectbox(
        "Vertical axis",
        list(VERTICALS),
        format_func=VERTICALS.get,
        help=SHARE,
        **bind("vertical", "score", VERTICALS),
    )
    others: Side = "vision" if axis.side == "language" else "language"
    colored = f"{axis.models.capitalize()} colored by"
    return Look(
        axis,
        vertical,
        pick_groups("Compared models in panels by", "panels", PANELS, USUAL[others]),
        pick_groups(colored, "color", COLORS, USUAL[axis.side]),
        pick_groups("Symbols by", "symbol", SYMBOLS, "none"),
    )


def pick_models(models: pd.DataFrame, axis: Axis) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Choose the models on the axis, and what they are compared with: anyone."""
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


def pick_pair(at: Place, points: pd.DataFrame, spec: MetricSpec) -> tuple[str, str]:
    """Choose two models: at first those that were chosen anywhere, else the best-aligned ones;
    points: that have a score.
    """
    ordered = points.sort_values("score", ascending=spec.higher_is_more_aligned)
    best = ordered.sort_values("panel", key=lambda panel: panel != REALITY, kind="stable").iloc[-1]
    models = queries.models(at)
    sides = [models[models["model"].isin(points[side])] for side in ("model_x", "model_y")]
    pair = selection.pair(sides[0], sides[1], (best["model_x"], best["model_y"]))
    follow = bool(selection.chosen())
    kinds = sides[0]["modality"].unique()
    on_axis = find_modality(kinds[0]).title.capitalize() if len(kinds) == 1 else "One model"
    with st.container(horizontal=True, vertical_alignment="bottom"):
        x = controls.pick_model(on_axis, sides[0], "pair_x", default=pair[0], follow=follow)
        y = controls.pick_model("Compared with", sides[1], "pair_y", default=pair[1], follow=follow)
    return x, y


def show_layers(at: Place, question: Alignment, chosen: tuple[str, str]) -> None:
    """Draw how the layers of the chosen pair agree, and offer two of them for all models."""
    (x, y), comparison = chosen, question.comparison
    pair = replace(
        question,
        x=(x,),
        y=(y,),
        calibration=Calibration(),
        unfinished=False,
        comparison=replace(comparison, layers=ALL),
    )
    view = controls.pick_segment("View", VIEWS, "layer_view", start="map", hidden=True)
    table, bound = queries.ask(at, pair), bound_of(comparison)
    plot = layer_profiles(table, comparison.spec, bound) if view == "profiles" else None
    section.draw(at, pair, key="layer-map", plot=plot, lead=0)
    models = queries.models(at).set_index("model")
    layers = [models.loc[name, "layers"] for name in chosen]
    scores = layer_matrix(table).to_numpy()[: len(layers[0]), : len(layers[1])]
    start = tuple(len(names) - 1 for names in layers)
    if not np.isnan(scores).all():
        start = pick_best(scores, LayerChoice(), spec=comparison.spec)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        places = [
            st.selectbox(
                f"Layer of {frame.plain(models.loc[name, 'title'])}",
                range(len(names)),
                format_func=names.__getitem__,
                **bind(key, place, range(len(names)), kind="layer"),
            )
            for key, name, names, place in zip(
                ("layer_x", "layer_y"), chosen, layers, start, strict=True
            )
        ]
        st.button(
            "Compare all models in these layers",
            on_click=st.session_state.__setitem__,
            args=("layers", ":".join(map(str, places))),
        )


def _levels(points: pd.DataFrame, question: Alignment, look: Look) -> str:
    """Say what the lines of chance and both ceilings are, or why there are none."""
    formula = METRICS[question.comparison.metric].chance
    if look.vertical == "share":
        chance = "The dotted line, 0, is chance."
    elif question.calibration.null:
        chance = "The dotted line is chance, after calibration."
    elif formula is not None:
        chance = f"The dotted line is chance for one pair of layers, {formula.text}."
    elif points["chance"].isna().all():
        chance = "Calibrate by permutations to see chance for this metric."
    else:
        chance = "Hover cards show chance."
    if "ceiling" in points:
        ceiling = CEILING
    else:
        ceiling = f"No ceiling: {FIXED if replicates_of(question) is None else ONE_SEED}."
    noise = ""
    if "noise_ceiling" in points:
        noise = f"{NOISE} {AS_HALVES if bound_of(question.comparison) else CORRECTED}"
    return " ".join(filter(None, (chance, ceiling, noise)))


def _link_copies(points: pd.DataFrame) -> None:
    """Link to the paired test of models and their fine-tuned copies, where there are any."""
    groups = pd.concat([points["panel"], points["group_x"]])
    if groups.str.contains("fine-tuned").any():
        along = [address.chosen(key) for key in ("dataset", "metric", "k", "layers", "as")]
        query = {key: texts for each in along for key, texts in each.items()}
        st.caption(COPIES)
        st.page_link("why.py", label=COST, icon=":material/arrow_forward:", query_params=query)


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
