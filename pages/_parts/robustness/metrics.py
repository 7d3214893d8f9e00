"""How far metrics agree, whether the trend depends on them, and what each sees."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from core.metrics import METRICS
from core.metrics.catalog import printed_table
from core.questions.asking import Answered
from core.questions.headline import Specifications, by_metric, metrics_plot
from core.questions.metrics.question import (
    MetricAgreement,
    MetricTrends,
    compare_metrics,
    sample_sizes,
    usual_size,
)
from core.questions.metrics.scores import COMPARED
from core.study.models import is_reality, usual
from pages._parts.published import listed
from pages._parts.robustness.pair import has_trend
from pages._shared import bar, controls, frame, queries, runner, section
from pages._shared.controls import Look
from pages._shared.queries import Place

KS, RANKS = (2, 5, 10, 20, 50, 100), (2, 5, 10, 20, 50)
BANDWIDTHS = (0.1, 0.25, 0.5, 1.0, 2.0)
RANKED = """A cell is Spearman's ρ between two metrics' rankings of all pairs of models; similar
metrics are adjacent. Last layers of fully trained models. Metrics that are low for aligned models
are negated; asymmetric ones are averaged over both directions. Pairs share models, so ρ has no
interval. Rows are ordered by average linkage over 1 − ρ; linear predictivity is left out because it
is slow."""
PAIRS = "A cell: how similarly two metrics rank all pairs of models."
TRENDS = """ρ: rank correlation of competence with alignment across vision and language. A row is a
metric with its k; faint points: other layers or clamping."""
TRENDS_METHODS = """ρ is Spearman's, of setups within each modality, in the best layers, clamped.
The test permutes ranks within an architecture and objective; intervals draw these groups; q is
adjusted for the metrics."""
BY_METRIC = """A thin line is a vision model, wider if larger; dashed: their mean. Compare
shapes, not heights: each metric has its own scale."""
PRINTED = """Properties of eight metrics as Huh et al. 2024 print them (table 11, read off an
HTML copy). ✓*: global if k is all images."""


def show(at: Place) -> None:
    """Draw the trend by metric and the agreement of metrics; all else is closed."""
    frame.need_stimuli(at)
    models = usual(queries.models(at))
    models = models[~is_reality(models)]
    if len(models) < 3:
        how = frame.command("embed", "--dataset", at.dataset, "--model", "hf:gpt2")
        raise frame.NeededError(f"Needs 3 models to rank their pairs; {len(models)} loaded.", how)
    n = queries.size(at)
    k = min(10, n - 1)
    usual_rank, usual_bandwidth = (
        f"{METRICS[name].spec.defaults[parameter]:g}"
        for name, parameter in (("svcca", "rank"), ("rbf_cka", "bandwidth"))
    )
    metrics = {name: metric.spec.short for name, metric in METRICS.items()}
    look = {
        "model": Look.of_models(models),
        "metric": _look(metrics, "Metrics", f"{len(COMPARED)} metrics"),
        "k": replace(_look({k: f"{k}" for k in KS if k < n}, "Neighbors k", ""), start=(k,)),
        "rank": _look(
            {one: f"{one}" for one in RANKS if 2 * one < n}, "Ranks of SVCCA", usual_rank
        ),
        "bandwidth": _look(
            {one: f"{one:g}" for one in BANDWIDTHS}, "Bandwidths of Gaussian CKA", usual_bandwidth
        ),
        "size": _look(
            {size: f"{size:,}" for size in sample_sizes(n)},
            "Numbers of images drawn",
            f"{usual_size(n, k=k):,}",
        ),
    }
    behind = ("model", "rank", "bandwidth", "seed")

    def show_agreement() -> None:
        with bar.controls_bar():
            question = controls.pick(MetricAgreement, at, look, more=behind)
        here = replace(at, scope=question.scope)
        section.draw(here, question, key="agreement", caption=PAIRS, methods=RANKED)

    trend = has_trend(at)
    if trend and _is_tested(at):
        with frame.part():
            show_trends(at)
        frame.fold("Do metrics agree?", show_agreement, key="matrix", link=look)
    else:
        show_agreement()
        if trend:
            frame.fold("Trend by metric", partial(show_trends, at), key="trend")
    if trend:
        section.closed(
            "Every pair of models, by metric",
            at,
            MetricTrends(at.scope),
            key="by-metric",
            caption=BY_METRIC,
            models=True,
            seconds=math.inf,
            label="Compute trends by all metrics",
        )
    frame.fold("What each metric sees and misses", _describe, key="described")
    frame.fold("Properties as published", _print_properties, key="properties")
    listed.show(at, "metrics")


def _describe() -> None:
    for metric in METRICS.values():
        spec = metric.spec
        st.markdown(f"**{spec.title}** ({spec.scope}). {spec.sees} **Misses.** {spec.misses}")
        st.latex(spec.formula)
        st.markdown(frame.plain(spec.reference))


def _print_properties() -> None:
    printed = printed_table().drop(columns="metric").rename(columns={"title": "metric"})
    narrow = {"metric": st.column_config.TextColumn(width=150)}  # a phone shows marks, too
    st.dataframe(printed, hide_index=True, column_config=narrow)
    st.caption(PRINTED)


def _is_tested(at: Place) -> bool:
    """Return whether there is a ρ by some metric that is kept or quick to compute."""
    question = Specifications(at.scope)
    if runner.waits(at, question, lambda: question.seconds(queries.study(at))):
        return False
    return bool(queries.ask(at, question)["rho"].notna().any())


def show_trends(at: Place) -> None:
    """Draw the headline's trend by every metric that it was measured with."""
    question = Specifications(at.scope)
    section.draw(
        at,
        question,
        key="trend-by-metric",
        caption=TRENDS,
        methods=TRENDS_METHODS,
        plot=metrics_plot,
        say=_say_trends,
        seconds=lambda: question.seconds(queries.study(at)),
        label="Compute ρ by metric",
    )


def _say_trends(found: Answered) -> list[str]:
    lines = [one.line for one in compare_metrics(by_metric(found.table), "training setups")]
    return lines or [found.findings[0].line]


def _look(labels: Mapping[Any, str], what: str, usual: str) -> Look:
    return Look(
        labels=labels, empty=usual, help=f"{what} to compare; choose several to compare variants."
    )
