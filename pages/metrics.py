"""Metrics: does the answer depend on how alignment is measured?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.metrics import METRICS
from core.metrics.catalog import printed_table
from core.questions.alignment.axes import find_axis
from core.questions.alignment.question import COMPETENCE
from core.questions.asking import findings_of
from core.questions.metrics import curve_figures, figures
from core.questions.metrics.answer import LARGEST, sample_sizes, smallest_scored
from core.questions.metrics.findings import trend_findings
from core.questions.metrics.question import (
    CalibratedMetrics,
    MetricAgreement,
    Neighborhoods,
    NeighborhoodSweep,
    SampleSize,
)
from core.questions.question import StudyQuestion
from core.study.models import is_reality, language_basis, lines, reads, usual, without_variants
from pages._parts.metrics import many
from pages._parts.published import listed
from pages._shared import bar, controls, exportbar, facts, frame, prose, queries
from pages._shared.chosen.pair import pick_pair
from pages._shared.queries import Place

AGREEMENT = """Each metric ranks all {pairs} pairs of {models} trained models
by alignment, each in its last layer. A cell says how far two metrics agree on that
ranking: 1 is the same order, 0 unrelated, −1 the opposite. Metrics that are low where
models are aligned are reversed first; metrics that are not symmetric are averaged over
both directions. Point at an empty cell to see why it is empty. Linear predictivity is
left out here: it takes longer than all other metrics together."""
TRENDS = """Each line is one size of the neighborhood. Higher means more
aligned with the {vision} trained vision models (the mean over them, last layers) than
{smallest} is, in standard deviations over the language models. Where the lines of small
k rise and those of large k do not, models agree on which stimuli are near each other
before they agree on all distances."""
OVER_K = """Mutual k-NN reaches 1 at k = n − 1 for any two models, and
chance climbs with it: only the gap between line and dots counts. CKNNA weighs the
same neighbors by similarity and ends near CKA."""
CHANCE = """A raw score says little by itself: what counts is the distance
between the dot and the gray mark, the score of the same layers with their stimuli
shuffled ({null} times). Calibrated scores can be compared. Orange metrics see
neighborhoods only, the others all pairs of stimuli."""
OVER_N = """The two layers stay the same; only fewer stimuli are drawn.
Mutual k-NN falls with n although nothing else changes, since k neighbors among more
stimuli are harder to share; at a fixed share k/n it stays. CKA falls toward its
value from above, unbiased CKA is there from the start. The dotted line is chance."""
PRINTED = """The properties of eight metrics as Huh et al. 2024 print them (table 11; the
marks are from a public HTML copy of the paper). Global: every stimulus is compared with
every other; ✓* means global, and still meaningful, where k is all stimuli. Ordinal: the
order of the neighbors counts, so mutual k-NN is not ordinal. Batchable: feasible in
reasonable time."""
DRAWS = (100, 200, 1000)


def show(at: Place) -> None:
    """Draw how far metrics agree, what k does to a trend, then one pair of layers under every
    metric, then what metrics see.
    """
    frame.need_stimuli(at)
    answer = st.container()
    every = queries.models(at)
    if (~every["copy"]).sum() < 2:
        frame.need_readers(at, "caption", "image")
    with bar.controls_bar():
        with bar.more():
            at = replace(at, scope=controls.pick_scope(at))
        k = controls.pick_k(min(queries.size(at), LARGEST))
        null = controls.pick_draws(controls.option_named(CalibratedMetrics, "null"), DRAWS)
    models = comparable(at, without_variants(every[~every["copy"]]), k=k)
    finished = usual(models)
    show_agreement(at, finished[~is_reality(finished)], k, answer)
    many.show_matrix(at)
    show_trends(at, finished)
    many.show_by_metric(at, finished, k)
    show_pair(at, models, k=k, null=null)
    show_specs()
    listed.show(at, "metrics")


def comparable(at: Place, models: pd.DataFrame, *, k: int) -> pd.DataFrame:
    """Return the models that have neighbors, and say why the others have none.

    Raises NeededError for fewer than two.
    """
    names = models["model"].tolist()
    refused = facts.without_neighbors(at, names, k=k)
    frame.tell_left_out(at, names, k)
    if len(names) - len(refused) < 2:
        raise frame.NeededError(
            "Metrics are compared on at least two models that have neighbors: embed another one.",
            frame.command("embed", "--dataset", at.dataset, "--model", "hf:gpt2"),
        )
    return models[~models["model"].isin(refused)]


def show_agreement(at: Place, models: pd.DataFrame, k: int, answer: DeltaGenerator) -> None:
    """Draw how far every two metrics rank all pairs of models alike, and say so."""
    place, total, count = st.container(), queries.size(at), len(models)
    sizes = [size for size in sample_sizes(total) if size > k]
    size = controls.pick_size(sizes, total)
    with place:
        question = MetricAgreement(at.scope, size=size, k=k)
        points = queries.ask(at, question)
        figure = figures.agreement(points, size=size, mode=frame.mode(), narrow=frame.narrow())
        exportbar.draw(at, question, figure, key="agreement", table=points)
        prose.explain(AGREEMENT.format(pairs=count * (count - 1) // 2, models=count))
    with answer:
        prose.answer(findings_of(question, points))


def show_trends(at: Place, models: pd.DataFrame) -> None:
    """Draw how language models' alignment with vision models grows with competence, for
    neighborhoods of every size.
    """
    competent = models.merge(facts.competence(at)[["model", "value"]], on="model").rename(
        columns={"value": "competence"}
    )
    language = competent[reads(competent, "caption") & competent["competence"].notna()]
    vision = int(reads(models, "image").sum())
    if language.empty or not vision:
        return
    question = Neighborhoods(at.scope)
    st.header(question.title(), anchor=False)
    scores = queries.ask(at, question)
    language = language.assign(line=language["model"].map(lines(models)))
    columns = ["model", "title", "parameters", "competence", "line"]
    points = scores.merge(language[columns], on="model")
    smallest = language.set_index("model")["title"][smallest_scored(scores)]
    ruler = find_axis(COMPETENCE, unit=language_basis(models, facts.competence(at)))
    figure = curve_figures.trends_over_k(
        points, smallest=smallest, ruler=ruler, mode=frame.mode(), narrow=frame.narrow()
    )
    exportbar.draw_models(at, question, figure, key="trends", table=points)
    how = TRENDS.format(vision=vision, smallest=frame.plain(smallest))
    prose.explain(how, trend_findings(points))


def show_pair(at: Place, models: pd.DataFrame, *, k: int, null: int) -> None:
    """Draw one pair of layers over k, over the number of stimuli, and under every metric beside its
    chance: the slowest is last.
    """
    st.header("One pair of layers as the neighborhood grows", anchor=False)
    left, right = st.columns(2)
    pair = pick_pair(at, models, k=k, left=left, right=right)
    _plot(at, NeighborhoodSweep(at.scope, pair), curve_figures.over_k, "over-k")
    prose.explain(OVER_K)
    st.header("The same pair on fewer stimuli", anchor=False)
    _plot(at, SampleSize(at.scope, pair, k), curve_figures.over_size, "over-n")
    prose.explain(OVER_N)
    st.header("The same pair under every metric", anchor=False)
    question = CalibratedMetrics(at.scope, pair, k, null=null)
    _plot(at, question, figures.calibrated, "calibrated")
    prose.explain(CHANCE.format(null=null))


def _plot(at: Place, question: StudyQuestion, draw: Callable[..., go.Figure], key: str) -> None:
    table = queries.ask(at, question)
    figure = draw(table, mode=frame.mode(), narrow=frame.narrow())
    exportbar.draw(at, question, figure, key=key, table=table)


def show_specs() -> None:
    """Offer what each metric can and cannot see, its formula and its source."""
    st.header("What each metric can and cannot see", anchor=False)
    printed = printed_table().drop(columns="metric").rename(columns={"title": "metric"})
    narrow = {"metric": st.column_config.TextColumn(width=150)}  # a phone shows marks, too
    st.dataframe(printed, hide_index=True, column_config=narrow)
    prose.explain(PRINTED)
    with st.expander("Every metric: what it sees and misses, its formula and its source"):
        for metric in METRICS.values():
            spec = metric.spec
            st.markdown(f"**{spec.title}** ({spec.scope}). {spec.sees} **Misses.** {spec.misses}")
            st.latex(spec.formula)
            st.markdown(frame.plain(spec.reference))


frame.draw("Does the answer depend on the metric?", show)
