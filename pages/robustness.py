"""Metrics: does the answer depend on how alignment is measured?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from core.metrics import METRICS
from core.metrics.catalog import printed_table
from core.questions.metrics.question import (
    LARGEST,
    MetricAgreement,
    MetricPair,
    MetricTrends,
    sample_sizes,
)
from core.study.models import reads, usual, without_variants
from pages._parts.published import listed
from pages._shared import bar, controls, facts, frame, prose, queries, section
from pages._shared.address import bind
from pages._shared.controls import pick_pair
from pages._shared.queries import Place

AGREEMENT = """Each metric ranks all pairs of trained models by alignment in their last layers; a
cell says how far two rankings agree: 1 is the same order, 0 unrelated, −1 the opposite. Metrics
that are low for aligned models are turned first; those that are not symmetric are averaged over
both directions. Linear predictivity takes longer than all others together, so it is not among the
usual ones."""
TRENDS = """Each line is one size of the neighborhood: mean alignment with the vision models, in
standard deviations over the language models. If small k rise and large k do not, models agree on
which stimuli are near each other before they agree on all distances."""
BY_METRIC = """A thin line is one vision model, wider if it is larger; the dashed one is their mean.
The layers are those chosen here, above they were the last ones. Compare shapes, not heights: each
metric has its own scale."""
OVER_K = """Mutual k-NN reaches 1 at k = n − 1 for any two models, and chance climbs with it: only
the gap to the dotted line counts. CKNNA weighs the same neighbors by similarity and ends near
CKA."""
OVER_N = """The two layers stay the same; only fewer stimuli are drawn. Mutual k-NN falls with n,
since k neighbors among more stimuli are harder to share; at a fixed share k/n it stays. CKA falls
toward its value from above, unbiased CKA is there from the start."""
CHANCE = """What counts is the distance between a dot and the gray mark, the score of the same
layers with their stimuli shuffled. Calibrated scores can be compared."""
PRINTED = """The properties of eight metrics as Huh et al. 2024 print them (table 11; the marks are
from a public HTML copy of the paper). Global: every stimulus is compared with every other; ✓* means
global, and still meaningful, if k is all stimuli. Ordinal: the order of the neighbors counts.
Batchable: feasible in reasonable time."""
DRAWS = (100, 200, 1000)
KS, RANKS = (2, 5, 10, 20, 50, 100), (2, 5, 10, 20, 50)
BANDWIDTHS = (0.1, 0.25, 0.5, 1.0, 2.0)


def show(at: Place) -> None:
    """Draw how far metrics agree, what k does to a trend, then one pair of layers under every
    metric, then what metrics see.
    """
    frame.need_stimuli(at)
    every = queries.models(at)
    if (~every["copy"]).sum() < 2:
        frame.need_readers(at, "caption", "image")
    with bar.controls_bar():
        with bar.more():
            at = replace(at, scope=controls.pick_scope(at))
        k = controls.pick_k(min(queries.size(at), LARGEST))
        null = controls.pick_draws(controls.option_named(MetricPair, "null"), DRAWS)
    models = comparable(at, without_variants(every[~every["copy"]]), k=k)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        agreement = pick_variants(at, k)
    section.draw(at, agreement, key="agreement", methods=AGREEMENT)
    show_trends(at, usual(models), k)
    st.header("One pair of layers by every metric", anchor=False)
    left, right = st.columns(2)
    pair = MetricPair(at.scope, pick_pair(at, models, k=k, left=left, right=right), k=k)
    section.draw(at, replace(pair, null=null), key="calibrated", methods=CHANCE)
    over_k = replace(pair, over="k", k=MetricPair.k)
    section.draw(at, over_k, key="over-k", header="As the neighborhood grows", methods=OVER_K)
    over_n = replace(pair, over="stimuli")
    section.draw(at, over_n, key="over-n", header="On fewer stimuli", methods=OVER_N)
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


def pick_variants(at: Place, k: int) -> MetricAgreement:
    """Choose the metrics that are compared, with which parameters, on how many stimuli."""
    sizes = [size for size in sample_sizes(queries.size(at)) if size > k]
    chosen = _pick("size", sizes)
    smallest = min(chosen or sizes)
    ks = [one for one in sorted({*KS, k}) if one < smallest]
    return MetricAgreement(
        at.scope,
        metrics=_pick("metric", list(METRICS)),
        ks=_pick("k", ks, (k,)) or (k,),
        ranks=_pick("rank", [one for one in RANKS if 2 * one < smallest]),
        bandwidths=_pick("bandwidth", BANDWIDTHS),
        sizes=chosen,
    )


def _pick(name: str, offered: Sequence[Any], start: tuple[int, ...] = ()) -> tuple[Any, ...]:
    """Choose some values of an option of metrics' agreement; none means the usual ones."""
    titles = {each: METRICS[each].spec.short if name == "metric" else f"{each}" for each in offered}
    one = replace(controls.option_named(MetricAgreement, name), name=f"compared_{name}")
    at_first = [each for each in start if each in titles]
    chosen: tuple[Any, ...] = controls.pick_option(
        one, controls.Look(labels=titles, start=at_first, empty="the usual ones")
    )
    return chosen


def show_trends(at: Place, models: pd.DataFrame, k: int) -> None:
    """Draw how language models' alignment with vision models changes with competence, for
    neighborhoods of every size and, since it takes long only if it is wanted, by every metric.
    """
    skill = facts.competence(at).set_index("model")["value"]
    language = reads(models, "caption") & models["model"].map(skill).notna()
    if not language.any() or not reads(models, "image").any():
        return
    trends, header = MetricTrends(at.scope, over="k"), "Does the trend depend on k?"
    section.draw(at, trends, key="trends", header=header, methods=TRENDS, models=True)
    if not st.toggle("Does the trend depend on the metric?", **bind("by_metric", False)):
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        question = MetricTrends(at.scope, k=k, rule=controls.pick_rule())
    section.draw(at, question, key="by-metric", methods=BY_METRIC, models=True)


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
