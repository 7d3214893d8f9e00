"""What an alignment owes to the metric: models by every metric, over neighborhoods, over sample
sizes and against nulls.

Kernels of all pairs of stimuli bound the work: of more than LARGEST stimuli as many are drawn,
seeded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import pandas as pd
from jaxtyping import Float32, Int64

from core.errors import MetricError, UnknownNameError
from core.metrics import find_metric
from core.metrics.spec import AnyEngine
from core.progress import Progress
from core.questions.alignment.axes import AXES
from core.questions.alignment.pairs import complete_pair
from core.questions.alignment.placing import check_axis
from core.questions.alignment.question import COMPETENCE, Alignment
from core.questions.metrics import matrix, trends
from core.questions.metrics.agreement import (
    COMPARED,
    make_engines,
    rank_agreement,
    score_pairs,
)
from core.questions.metrics.calibrated import calibrate_metrics
from core.questions.metrics.findings import (
    agreement_findings,
    by_metric_findings,
    matrix_findings,
)
from core.questions.metrics.neighborhoods import (
    curve_over_k,
    scale_trends,
    scores_over_k,
    spread_ks,
)
from core.questions.metrics.question import (
    CalibratedMetrics,
    MetricAgreement,
    MetricMatrix,
    MetricTrends,
    Neighborhoods,
    NeighborhoodSweep,
    SampleSize,
)
from core.questions.metrics.sample_size import grow_sample
from core.questions.registry import Answer, declare
from core.spaces.preprocess import check_k, normalize_rows
from core.statistics.nulls import check_count, draw_orders
from core.study.models import is_reality, usual
from core.study.parts import LayerPair
from core.study.study import Study, finished_models

LARGEST = 1024

ByCompetence = TypeVar("ByCompetence", Neighborhoods, MetricTrends)
Chosen = TypeVar("Chosen", str, int, float)


def sample_sizes(n: int) -> list[int]:
    """Return the numbers of stimuli that metrics are compared on: 128, 256, 512 where there are
    more, and all, at most LARGEST.
    """
    return [size for size in (128, 256, 512) if size < n] + [min(n, LARGEST)]


def usual_size(n: int, *, k: int) -> int:
    """Return on how many stimuli metrics are compared at first: few that still distinguish models,
    more than k; all where none are.
    """
    sizes = [size for size in sample_sizes(n) if size > k] or [min(n, LARGEST)]
    return sizes[min(1, len(sizes) - 1)]


def complete_agreement(question: MetricAgreement, study: Study) -> MetricAgreement:
    """Name models, metrics and the number of stimuli; raises what none of them can be."""
    question = replace(question, metrics=_named(question.metrics))
    _engines(question, study)  # refuses a metric that the device does not have
    size = question.size or usual_size(study.size, k=question.k)
    _check_size(size, study)
    return replace(question, names=question.names or _compared(study), size=size)


def _compared(study: Study) -> tuple[str, ...]:
    """Return the finished models that metrics are compared on."""
    models = usual(study.models())
    return tuple(models.loc[~is_reality(models), "model"])


def agree(question: MetricAgreement, study: Study, report: Progress | None) -> pd.DataFrame:
    """Rank all pairs of models by every metric, and compare the rankings; see `rank_agreement`."""
    return rank_agreement(compare_metrics(question, study, report))


declare(
    MetricAgreement,
    Answer(
        agree,
        version=2,
        complete=complete_agreement,
        findings=agreement_findings,
        hidden=("left_out",),
    ),
)


def compare_metrics(
    question: MetricAgreement, study: Study, report: Progress | None = None
) -> pd.DataFrame:
    """Score every pair of models by every metric in their last layers over the same stimuli.

    question: complete. See `score_pairs`.
    """
    assert question.size is not None
    spaces = _last_layers(study, question.names, question.size, question.seed)
    return score_pairs(spaces, _engines(question, study), report)


def complete_matrix(question: MetricMatrix, study: Study) -> MetricMatrix:
    """Name models, metrics and the numbers of stimuli; raises what none of them can be."""
    complete = replace(
        question,
        names=_once(question.names) or _compared(study),
        metrics=_each_once(question.metrics) or matrix.USUAL,
        ks=_once(question.ks),
        ranks=_once(question.ranks),
        bandwidths=_once(question.bandwidths),
        sizes=_once(question.sizes) or tuple(sample_sizes(study.size)[:3]),
    )
    _check_size(max(complete.sizes), study)
    for variant in matrix.variants_of(complete):  # refuses what no metric can do
        matrix.engine_of(variant, device=study.device)  # and what the device does not have
    return complete


def _check_size(size: int, study: Study) -> None:
    if size > study.size:
        raise MetricError(f"expected at most {study.size} stimuli, which is all; got {size}")
    if size > LARGEST:
        raise MetricError(
            f"expected at most {LARGEST:,} stimuli, since metrics compare all pairs of them; got"
            f" {size:,}: ask for fewer"
        )


def cross_metrics(question: MetricMatrix, study: Study, report: Progress | None) -> pd.DataFrame:
    """Rank all pairs of models by every variant, and compare the rankings; see
    `core.questions.metrics.matrix.rank_variants`.
    """
    variants = matrix.variants_of(question)
    spaces = {
        size: _last_layers(study, question.names, size, question.seed) for size in question.sizes
    }
    scores = matrix.score_variants(spaces, variants, device=study.device, report=report)
    return matrix.rank_variants(scores, variants)


declare(
    MetricMatrix,
    Answer(
        cross_metrics,
        version=2,
        complete=complete_matrix,
        findings=matrix_findings,
        hidden=("left_out",),
    ),
)


def complete_neighborhoods(question: ByCompetence, study: Study) -> ByCompetence:
    """Name the models, those of x from the smallest to the largest, then by competence.

    Raises MetricError where a side has none.
    """
    skill = study.competence().dropna(subset="value").set_index("model")["value"]
    x = _once(question.x) or [name for name in finished_models(study, "caption") if name in skill]
    y = _once(question.y) or finished_models(study, "image")
    if not (x and y):
        raise MetricError(
            "expected a finished language model of known competence and a finished vision model;"
            f" got {len(x)} and {len(y)}: embed another one"
        )
    parameters = study.models().set_index("model")["parameters"]
    table = pd.DataFrame({"model": list(x), "parameters": parameters.reindex(list(x)).to_numpy()})
    table = table.assign(skill=table["model"].map(skill)).sort_values(["parameters", "skill"])
    return replace(question, x=tuple(table["model"]), y=tuple(y))


def compare_neighborhoods(
    question: Neighborhoods, study: Study, report: Progress | None
) -> pd.DataFrame:
    """Score the last layers of x's models against those of y's from k = 2 to n − 1, scaled.

    Returns `scale_trends` over `scores_over_k`, models from the smallest to the largest; what is
    subtracted are the scores of the first model that has any.
    """
    size = min(study.size, LARGEST)
    x, y = (_last_layers(study, names, size, question.seed) for names in (question.x, question.y))
    scores = scores_over_k(x, y, ks=spread_ks(size, count=8), device=study.device, report=report)
    return scale_trends(scores, smallest=smallest_scored(scores))


declare(Neighborhoods, Answer(compare_neighborhoods, version=1, complete=complete_neighborhoods))


def complete_trends(question: MetricTrends, study: Study) -> MetricTrends:
    """Name models and metrics; raises as `complete_neighborhoods`, and for layers, parameters and
    an axis that cannot be.
    """
    question.rule.read_layers()
    if question.axis != COMPETENCE and question.axis in AXES:
        raise UnknownNameError("score", question.axis, [COMPETENCE])
    check_axis(Alignment(question.scope, x=question.x, axis=question.axis), study)
    metrics = _each_once(question.metrics) or trends.USUAL
    check_k(question.k, study.size)
    return replace(complete_neighborhoods(question, study), metrics=metrics)


declare(
    MetricTrends,
    Answer(trends.align_by_each, version=2, complete=complete_trends, findings=by_metric_findings),
)


def smallest_scored(scores: pd.DataFrame) -> str:
    """Return the first model that has a score; the first of all where none has."""
    names = scores.dropna(subset="score")["model"]
    return str((names if len(names) else scores["model"]).iloc[0])


def complete_sweep(question: NeighborhoodSweep, study: Study) -> NeighborhoodSweep:
    """Name the models and layers that are left out; raises as `complete_pair`."""
    k = min(10, study.size - 1)
    return replace(question, pair=complete_pair(question.pair, question.scope, study, k=k))


def sweep(question: NeighborhoodSweep, study: Study, report: Progress | None) -> pd.DataFrame:
    """Score one pair of layers from k = 2 to n − 1 beside its chance; see `curve_over_k`."""
    x, y = _layers(study, question.pair, question.seed)
    return curve_over_k(
        x, y, ks=spread_ks(len(x)), seed=question.seed, device=study.device, report=report
    )


declare(NeighborhoodSweep, Answer(sweep, version=1, complete=complete_sweep))


def complete_sample(question: SampleSize, study: Study) -> SampleSize:
    """Name the models and layers that are left out; raises as `complete_pair`."""
    return replace(question, pair=complete_pair(question.pair, question.scope, study, k=question.k))


def grow(question: SampleSize, study: Study, report: Progress | None) -> pd.DataFrame:
    """Score one pair of layers over ever more stimuli; see `grow_sample`."""
    x, y = (normalize_rows(layer) for layer in _layers(study, question.pair, question.seed))
    return grow_sample(x, y, k=question.k, seed=question.seed, report=report)


declare(SampleSize, Answer(grow, version=1, complete=complete_sample))


def complete_calibrated(question: CalibratedMetrics, study: Study) -> CalibratedMetrics:
    """Name metrics, models and layers that are left out.

    Raises as `complete_pair`, UnknownNameError for a metric, MetricError for too few permutations.
    """
    check_count(question.null)
    complete = replace(question, metrics=_named(question.metrics))
    _engines(complete, study)  # refuses a metric that the device does not have
    return replace(complete, pair=complete_pair(question.pair, question.scope, study, k=question.k))


def calibrate(question: CalibratedMetrics, study: Study, report: Progress | None) -> pd.DataFrame:
    """Calibrate every metric on one pair of layers; see `calibrate_metrics`."""
    x, y = _layers(study, question.pair, question.seed)
    return calibrate_metrics(
        x,
        y,
        _engines(question, study),
        count=question.null,
        seed=question.seed,
        report=report,
    )


declare(CalibratedMetrics, Answer(calibrate, version=1, complete=complete_calibrated))


def _engines(question: MetricAgreement | CalibratedMetrics, study: Study) -> dict[str, AnyEngine]:
    return make_engines(question.metrics, k=question.k, device=study.device)


def _named(metrics: Sequence[str]) -> tuple[str, ...]:
    return _each_once(metrics) or COMPARED


def _each_once(metrics: Sequence[str]) -> tuple[str, ...]:
    """Return the ids of metrics, each once; raises UnknownNameError."""
    return _once([find_metric(name).spec.id for name in metrics])


def _once(named: Sequence[Chosen]) -> tuple[Chosen, ...]:
    """Return what was named, in its order, without repeats."""
    return tuple(dict.fromkeys(named))


def _sample(study: Study, size: int, seed: int) -> Int64[np.ndarray, " size"]:
    """Draw stimuli; with one seed the smaller sample lies within the larger."""
    return np.sort(draw_orders(study.size, count=1, seed=seed)[0, :size])


def _last_layers(
    study: Study, names: Sequence[str], size: int, seed: int
) -> dict[str, Float32[np.ndarray, "size _"]]:
    rows = _sample(study, size, seed)
    return {name: study.spaces(name)[-1][rows] for name in names}


def _layers(
    study: Study, pair: LayerPair, seed: int
) -> tuple[Float32[np.ndarray, "size dx"], Float32[np.ndarray, "size dy"]]:
    rows = _sample(study, min(study.size, LARGEST), seed)
    x, y = (study.spaces(model)[layer][rows] for model, layer in pair.places)
    return x, y
