"""Every metric with every parameter on every number of stimuli, and how far any two of these rank
pairs of models alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from core.errors import MetricError
from core.metrics import METRICS
from core.metrics.catalog import PRINTED, make_engine
from core.metrics.spec import AnyEngine, Parameter
from core.pairs.prepared import Space
from core.progress import Progress
from core.questions.metrics.agreement import (
    first_reasons,
    rank_all,
    score_pairs,
    toward,
    unscored,
)
from core.questions.metrics.question import MetricMatrix

USUAL = (*PRINTED, "rbf_cka")


@dataclass(frozen=True)
class Variant:
    """A metric with one parameter, if it has any that varies, on so many stimuli."""

    metric: str
    parameter: tuple[tuple[str, Parameter], ...]
    size: int

    @property
    def title(self) -> str:
        """Return what tables and figures call it: mutual k-NN, k = 10, n = 256."""
        settings = (*self.parameter, ("n", self.size))
        return ", ".join([METRICS[self.metric].spec.short, *(f"{a} = {b}" for a, b in settings)])


def variants_of(question: MetricMatrix) -> list[Variant]:
    """Return all that a complete question compares: by metric, then parameter, then size.

    Raises MetricError where there is nothing to compare, and for a k, rank or bandwidth that a
    metric refuses on so many stimuli.
    """
    variants = [
        _checked(Variant(metric, parameter, size))
        for metric in question.metrics
        for parameter in _parameters(metric, question)
        for size in question.sizes
    ]
    if not variants:
        raise MetricError("expected a k, rank or bandwidth for some metric; got none: choose one")
    return variants


def _parameters(metric: str, question: MetricMatrix) -> Iterator[tuple[tuple[str, Parameter], ...]]:
    """Yield each value of the parameter that a metric has; once nothing where it has none."""
    values = {"k": question.ks, "rank": question.ranks, "bandwidth": question.bandwidths}
    varied = [name for name in values if name in METRICS[metric].spec.defaults]
    for name in varied:
        for value in values[name]:
            yield ((name, value),)
    if not varied:
        yield ()


def _checked(variant: Variant) -> Variant:
    for name, value in variant.parameter:
        expected = {
            "k": (int(value) < variant.size, "k below the number of stimuli"),
            "rank": (
                2 <= int(value) < variant.size / 2,
                "a rank of 2 or more, below half the number of stimuli",
            ),
            "bandwidth": (float(value) > 0, "a bandwidth above 0"),
        }
        fine, words = expected[name]
        if not fine:
            raise MetricError(
                f"expected {words}; got {name} = {value} on {variant.size} stimuli: choose another"
                f" {name} or number of stimuli"
            )
    return variant


def engine_of(variant: Variant, *, device: str) -> AnyEngine:
    """Return what scores a variant; raises as `make_engine`."""
    return make_engine(variant.metric, device=device, **dict(variant.parameter))


def score_variants(
    spaces: Mapping[int, Mapping[str, Space]],
    variants: list[Variant],
    *,
    device: str = "cpu",
    report: Progress | None = None,
) -> pd.DataFrame:
    """Score every pair of models by each variant.

    spaces: by number of stimuli, one layer of each model, as `score_pairs` takes them. Returns the
    columns of `score_pairs` and variant.
    """
    tables = []
    for done, variant in enumerate(variants, start=1):
        engine = engine_of(variant, device=device)
        table = score_pairs(spaces[variant.size], {variant.metric: engine})
        tables.append(table.assign(variant=variant.title))
        if report:
            report(done, len(variants), "metrics, parameters and numbers of stimuli")
    return pd.concat(tables, ignore_index=True)


def rank_variants(scores: pd.DataFrame, variants: list[Variant]) -> pd.DataFrame:
    """Return Spearman's ρ over all pairs of models for every two variants, with the metric of each;
    see `rank_all`.

    scores: as `score_variants` gives them.
    """
    wide = scores.pivot(index=["model_x", "model_y"], columns="variant", values="score")
    wide = wide.reindex(columns=[one.title for one in variants])  # none of them without a pair
    turned = {
        one.title: wide[one.title].to_numpy(np.float64) * toward(one.metric) for one in variants
    }
    table = rank_all(turned, first_reasons(scores, "variant"), names=("variant_x", "variant_y"))
    metric = {one.title: one.metric for one in variants}
    own = {f"metric_{side}": table[f"variant_{side}"].map(metric) for side in ("x", "y")}
    return table.assign(**own, reason=table["reason"], left_out=unscored(scores))
