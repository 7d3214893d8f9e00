"""Metrics: does the answer depend on how alignment is measured?"""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.metrics import METRICS
from core.questions.metrics import answer as comparison
from core.questions.metrics import figures as figures
from core.questions.metrics.agreement import COMPARED, rank_agreement, with_k
from core.questions.metrics.answer import Pair
from core.questions.metrics.neighborhoods import scale_trends
from core.study.models import trained
from core.study.parts import Calibration
from pages._shared import controls, exportbar, frame, queries
from pages._shared.pair import pick_pair
from pages._shared.queries import Place

AGREEMENT = """**How to read it.** Each metric ranks all {pairs} pairs of {models} trained models
by alignment, each in its last layer. A cell says how far two metrics agree on that
ranking: 1 is the same order, 0 unrelated. Metrics where low is aligned are turned
first; of those that are not symmetric both directions are averaged. An empty cell
says why when it is pointed at. Linear predictivity is left out of this page's
comparisons: it takes longer than all others together."""
TRENDS = """**How to read it.** Each line is one size of the neighborhood. Up means: aligned
more with the {vision} trained vision models (the mean over them, last layers) than
{smallest} is, in standard deviations over the language models. Where lines of small
k rise and those of large k do not, models agree on who is near whom before they
agree on all distances."""
OVER_K = """**How to read it.** Mutual k-NN must reach 1 at k = n − 1, whatever the models, and
chance climbs with it: only the gap between line and dots counts. CKNNA weighs the
same neighbors by similarity and ends near CKA."""
CHANCE = """**How to read it.** A raw score says little by itself: the dot counts by its
distance from the gray mark, which is what the same layers reach with their stimuli
shuffled ({null} times). Calibrated scores can be compared. Orange metrics see
neighborhoods only, the others all pairs of stimuli."""
OVER_N = """**How to read it.** The two layers stay the same, only fewer stimuli are drawn.
Mutual k-NN falls with n although nothing else changes, since k neighbors among more
stimuli are harder to share; at a fixed share k/n it stays. CKA falls toward its
value from above, unbiased CKA is there from the start. Dotted is chance."""
NULL = "How often the stimuli of one model are shuffled to see what unrelated models would reach."


def show(at: Place) -> None:
    """Draw how far metrics agree, what k does to a trend, then one pair of layers under every
    metric, then what metrics see.
    """
    frame.need_stimuli(at)
    every = queries.models(at)
    if (~every["copy"]).sum() < 2:
        frame.need_readers(at, "caption", "image")
    with st.sidebar:
        k = controls.pick_k(min(queries.size(at), comparison.LARGEST))
        null = controls.pick_draws(
            controls.option_named(Calibration, "null"), (100, 200, 1000), text=NULL
        )
    names = list(every.loc[~every["copy"], "model"])
    models = every[
        every["model"].isin(names) & ~every["model"].isin(queries.without_neighbors(at, names, k=k))
    ]
    frame.tell_left_out(at, names, k)
    if len(models) < 2:
        raise frame.NeededError(
            "Metrics are compared on at least two models that have neighbors: embed another one.",
            frame.command("embed", "--dataset", at.dataset, "--model", "hf:gpt2"),
        )
    show_agreement(at, trained(models).query("modality != 'world'"), k)
    show_trends(at, trained(models))
    show_pair(at, models, k=k, null=null)
    show_specs()


def show_agreement(at: Place, models: pd.DataFrame, k: int) -> None:
    """Draw how far every two metrics rank all pairs of models alike."""
    place, names = st.container(), tuple(models["model"])
    size = controls.pick_size(
        [size for size in comparison.sample_sizes(queries.size(at)) if size > k], queries.size(at)
    )
    with place:
        points = rank_agreement(
            queries.compared(at, comparison.compare_metrics, names, size=size, k=k)
        )
        figure = figures.agreement(points, size=size, mode=frame.mode(), narrow=frame.narrow())
        recipe = queries.recipe(at, "metrics", names, layers="last", size=size, k=k, seed=0)
        exportbar.plot(figure, key="agreement", table=points, recipe=recipe)
        st.markdown(AGREEMENT.format(pairs=len(names) * (len(names) - 1) // 2, models=len(names)))


def show_trends(at: Place, models: pd.DataFrame) -> None:
    """Draw how language models' alignment with vision models grows with competence, for
    neighborhoods of every size.
    """
    competent = models.merge(queries.competence(at)[["model", "value"]], on="model").rename(
        columns={"value": "competence"}
    )
    language = competent[competent["modality"].eq("language") & competent["competence"].notna()]
    vision = tuple(models.loc[models["modality"] == "vision", "model"])
    if language.empty or not vision:
        return
    st.subheader("Does the trend depend on the size of the neighborhood?", anchor=False)
    smallest = language.sort_values(["parameters", "competence"]).iloc[0]
    scores = queries.compared(
        at, comparison.compare_neighborhoods, tuple(language["model"]), vision
    )
    points = scale_trends(scores, smallest=smallest["model"]).merge(
        language[["model", "title", "parameters", "competence"]], on="model"
    )
    figure = figures.trends_over_k(
        points, smallest=smallest["title"], mode=frame.mode(), narrow=frame.narrow()
    )
    recipe = queries.recipe(
        at,
        "neighborhoods",
        [*language["model"], *vision],
        layers="last",
        smallest=smallest["model"],
        seed=0,
    )
    exportbar.plot(figure, key="trends", table=points, recipe=recipe)
    st.markdown(TRENDS.format(vision=len(vision), smallest=frame.plain(smallest["title"])))


def show_pair(at: Place, models: pd.DataFrame, *, k: int, null: int) -> None:
    """Draw one pair of layers over k, over the number of stimuli, and under every metric beside its
    chance: the slowest is last.
    """
    st.subheader("One pair of layers as the neighborhood grows", anchor=False)
    left, right = st.columns(2)
    pair = pick_pair(at, models, k=k, left=left, right=right)
    mode, narrow = frame.mode(), frame.narrow()
    table = queries.compared(at, comparison.sweep_neighborhood, pair)
    recipe = queries.recipe(at, "neighborhood", [pair.x, pair.y], **vars(pair), seed=0)
    exportbar.plot(
        figures.over_k(table, mode=mode, narrow=narrow), key="over-k", table=table, recipe=recipe
    )
    st.markdown(OVER_K)
    st.subheader("The same pair on fewer stimuli", anchor=False)
    table = queries.compared(at, comparison.grow_sample, pair, k=k)
    recipe = queries.recipe(at, "sample-size", [pair.x, pair.y], **vars(pair), k=k, seed=0)
    exportbar.plot(
        figures.over_size(table, mode=mode, narrow=narrow), key="over-n", table=table, recipe=recipe
    )
    st.markdown(OVER_N)
    st.subheader("The same pair under every metric", anchor=False)
    table = queries.compared(at, comparison.calibrate_pair, pair, k=k, null=null)
    recipe = queries.recipe(
        at, "calibrated-metrics", [pair.x, pair.y], **vars(pair), k=k, null=null, seed=0
    )
    exportbar.plot(
        figures.calibrated(table, mode=mode, narrow=narrow),
        key="calibrated",
        table=table,
        recipe=recipe,
        command=_commands(at, pair, k=k, null=null),
    )
    st.markdown(CHANCE.format(null=null))


def _commands(at: Place, pair: Pair, *, k: int, null: int) -> str | None:
    """Return a command per metric; none where the page draws some of the stimuli and the command
    line takes all.
    """
    if queries.size(at) > comparison.LARGEST:
        return None
    layers = f"{pair.layer_x}:{pair.layer_y}"
    return "\n".join(
        frame.align_command(
            at, [pair.x], [pair.y], metric=metric, layers=layers, null=null, **with_k(metric, k)
        )
        for metric in COMPARED
    )


def show_specs() -> None:
    """Say what each metric can and cannot see; its formula and source are one click away."""
    st.subheader("What each metric can and cannot see", anchor=False)
    for metric in METRICS.values():
        spec = metric.spec
        with st.expander(
            f"**{spec.title}** ({spec.scope}). Sees: {spec.sees} Misses: {spec.misses}"
        ):
            st.latex(spec.formula)
            st.markdown(frame.plain(spec.reference))


frame.draw("Does the answer depend on the metric?", show)
