"""How far metrics agree, and what a trend shows from the smallest neighborhood to the largest, in
plain sentences.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.figures.numbers import counted
from core.metrics import METRICS
from core.questions.alignment.axes import short_name
from core.questions.metrics.agreement import toward
from core.questions.metrics.question import MetricAgreement, MetricMatrix, MetricTrends
from core.statistics.correlations import SURE, Fit, competence_fit
from core.statistics.nulls import adjust

KINDS = {  # of two metrics, by what they see
    ("local", "local"): "between two that see neighborhoods",
    ("global", "global"): "between two that see all pairs of stimuli",
    ("global", "local"): "across",
}
DEPENDENT = "Pairs that share a model are not independent, so ρ has no interval here."


def agreement_findings(_: MetricAgreement, table: pd.DataFrame) -> list[str]:
    """Say how far two metrics rank the pairs of models alike: the median of Spearman's ρ over all
    two metrics and by what they see, and which two agree least.

    table: as `core.questions.metrics.agreement.rank_agreement` returns it.
    """
    first = table["metric_x"].map(list(METRICS).index)
    below = first < table["metric_y"].map(list(METRICS).index)  # each two metrics once
    ranked = table[below].dropna(subset="spearman")
    if ranked.empty:
        why = next(iter(table.loc[below, "reason"]), "there is one metric alone")
        return [f"Whether metrics agree cannot be judged: {why}."]
    least = ranked.sort_values("spearman", kind="stable").iloc[0]
    metrics = len({*ranked["metric_x"], *ranked["metric_y"]})
    return [
        f"Any two of {metrics} metrics agree on the ranking of {ranked['pairs'].max():,} pairs of"
        f" models with a median Spearman’s ρ of {_rho(ranked['spearman'].median())}"
        f" ({', '.join(_by_kind(ranked))})."
        f" The two that agree least are {_short(least['metric_x'])} and"
        f" {_short(least['metric_y'])} ({_rho(least['spearman'])}).",
        *_left_out(table),
        DEPENDENT,
    ]


def matrix_findings(_: MetricMatrix, table: pd.DataFrame) -> list[str]:
    """Say how far metrics rank the pairs of models alike over all parameters and numbers of
    stimuli, within a metric and across, and which two variants agree least.

    table: as `core.questions.metrics.matrix.rank_variants` returns it.
    """
    place = {title: number for number, title in enumerate(table["variant_x"].unique())}
    below = table["variant_x"].map(place) < table["variant_y"].map(place)  # each two once
    ranked = table[below].dropna(subset="spearman")
    if ranked.empty:
        why = next(iter(table.loc[below, "reason"]), "there is one variant alone")
        return [f"Whether metrics agree cannot be judged: {why}."]
    same = ranked["metric_x"] == ranked["metric_y"]
    parts = [
        f"{_rho(few.median())} {words}"
        for few, words in (
            (ranked.loc[same, "spearman"], "within a metric"),
            (ranked.loc[~same, "spearman"], "between two metrics"),
        )
        if len(few)
    ]
    least = ranked.sort_values("spearman", kind="stable").iloc[0]
    return [
        f"Any two of {len(place)} variants of {table['metric_x'].nunique()} metrics agree on the"
        f" ranking of {ranked['pairs'].max():,} pairs of models with a median Spearman’s ρ of"
        f" {_rho(ranked['spearman'].median())} ({', '.join(parts)}). The two that agree least are"
        f" {least['variant_x']} and {least['variant_y']} ({_rho(least['spearman'])}).",
        *_left_out(table),
        DEPENDENT,
    ]


def _left_out(table: pd.DataFrame) -> list[str]:
    why = str(table["left_out"].iloc[0])
    return [f"Left out, since their last layers cannot be compared: {why}."] if why else []


def by_metric_findings(question: MetricTrends, table: pd.DataFrame) -> list[str]:
    """Say by how many metrics alignment rises with competence beyond chance, and the correlation by
    each: of language models' competence with their mean alignment over the vision models.

    p: adjusted for the false discovery rate over the metrics. table: as
    `core.questions.metrics.trends.align_by_each` returns it.
    """
    fits = {name: _fit(mean_by_model(table, name)) for name in table["metric"].unique()}
    fitted = {name: fit for name, fit in fits.items() if not fit.reason}
    if not fitted:
        return [f"No trend can be judged, since {next(iter(fits.values())).reason}."]
    sure = adjust(np.array([fit.p for fit in fitted.values()])) < SURE
    rises = [fit.spearman > 0 for fit in fitted.values()]
    rising = sum(a and b for a, b in zip(sure, rises, strict=True))
    each = ", ".join(f"{_short(name)} {_rho(fit.spearman)}" for name, fit in fitted.items())
    count = next(iter(fitted.values())).n
    return [
        f"Alignment rises with {short_name(question.axis)} beyond chance by {rising or 'none'} of"
        f" {counted(len(fitted), 'metric', 'metrics')} (Spearman over {count} language models:"
        f" {each})."
    ]


def mean_by_model(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return line, competence and mean score of each language model by a metric, higher is more
    aligned.

    table: as `core.questions.metrics.trends.align_by_each` returns it.
    """
    rows = table[table["metric"] == metric]
    models = rows.groupby("model_x", sort=False)
    means = models[["competence", "score"]].mean().assign(line=models["line"].first())
    return means.assign(score=means["score"] * toward(metric))


def _by_kind(ranked: pd.DataFrame) -> list[str]:
    """Return the median of ρ by what the two metrics see."""
    scope = {name: metric.spec.scope for name, metric in METRICS.items()}
    kinds = [
        KINDS[min(scope[x], scope[y]), max(scope[x], scope[y])]
        for x, y in zip(map(str, ranked["metric_x"]), map(str, ranked["metric_y"]), strict=True)
    ]
    medians = ranked["spearman"].groupby(pd.Series(kinds, index=ranked.index)).median()
    return [f"{_rho(medians[kind])} {kind}" for kind in KINDS.values() if kind in medians]


def _short(metric: str) -> str:
    return METRICS[metric].spec.short


def _rho(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def trend_findings(points: pd.DataFrame) -> list[str]:
    """Say for each metric whether Spearman's correlation of competence and alignment depends on k:
    its least and largest value, and at how many k it differs from 0.

    p: adjusted for the false discovery rate over all k of a metric. points: metric, k, model, line,
    competence, score; one row per model.
    """
    named = ((METRICS[str(name)].spec.short, rows) for name, rows in points.groupby("metric"))
    return [_trend(f"{name[:1].upper()}{name[1:]}", rows) for name, rows in named]


def _trend(metric: str, points: pd.DataFrame) -> str:
    ks = sorted(set(points["k"].tolist()))
    fits = {k: _fit(points[points["k"] == k]) for k in ks}
    fitted = {k: fit for k, fit in fits.items() if not fit.reason}
    if not fitted:
        return f"{metric}: no trend can be judged, since {next(iter(fits.values())).reason}."
    least, most = (pick(fitted, key=lambda k: fitted[k].spearman) for pick in (min, max))
    sure = int((adjust(np.array([fit.p for fit in fitted.values()])) < SURE).sum())
    span = f"Spearman {_at(fitted, least)} to {_at(fitted, most)}, {fitted[most].n} models"
    if not sure:
        return f"{metric}: no correlation of alignment and competence beyond chance ({span})."
    beyond = f"beyond chance at {sure} of {counted(len(fitted), 'size', 'sizes')}"
    return f"{metric}: {_direction(fitted[least], fitted[most])} ({span}), {beyond}."


def _fit(points: pd.DataFrame) -> Fit:
    x, y = (points[name].to_numpy(float) for name in ("competence", "score"))
    return competence_fit(x, y, points["line"].tolist())


def _direction(least: Fit, most: Fit) -> str:
    if least.spearman > 0:
        return "alignment rises with competence at every k"
    if most.spearman < 0:
        return "alignment falls with competence at every k"
    return "whether alignment rises with competence depends on k"


def _at(fits: dict[int, Fit], k: int) -> str:
    return f"{fits[k].spearman:.2f} (k = {k:,})".replace("-", "−")
