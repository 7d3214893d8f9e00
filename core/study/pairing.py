"""Every two models of a study compared with each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import pandas as pd

from core.metrics import METRICS
from core.pairs.among import scores_among
from core.progress import Progress
from core.study.keeping import keep
from core.study.layers import read_choice
from core.study.pair_table import align_among, check_choice
from core.study.study import Study

T = TypeVar("T")


def pair_models(
    study: Study,
    names: Sequence[str],
    *,
    metric: str = "mutual_knn",
    layers: str = "best",
    report: Progress | None = None,
    **parameters: Any,
) -> pd.DataFrame:
    """Align every two of the models, of any modality.

    A metric that is not symmetric gives the mean of both directions, for each pair of layers.
    layers: as in `Study.align`, but no fixed pair. Returns a row for each pair, model_x before
    model_y by name, whatever the order of `names`: model_x, model_y, layer_x, layer_y, score,
    reason: why the score is NaN, else empty. Raises UnknownNameError for the metric or a model,
    MetricError for the rest.
    """
    check_choice(read_choice(layers), given=layers)
    study.engine(metric, **parameters)  # a wrong metric or k is told before anything is computed
    order, complete = sorted(set(names)), METRICS[metric].complete(parameters)
    recipe = study.recipe("model-pairs", order, metric=metric, layers=layers, **complete)
    return keep(
        study,
        recipe,
        lambda: _paired(
            study, order, metric=metric, layers=layers, parameters=complete, report=report
        ),
    )


def _paired(
    study: Study,
    names: Sequence[str],
    *,
    metric: str,
    layers: str,
    parameters: Mapping[str, Any],
    report: Progress | None,
) -> pd.DataFrame:
    choice, spec, engine = (
        read_choice(layers),
        METRICS[metric].spec,
        study.engine(metric, **parameters),
    )
    refused: dict[str, str] = {}

    def prepare(few: Sequence[str]) -> dict[str, Any]:
        ready, why = study.prepare_each(engine, few, concatenated=choice.concatenated)
        refused.update(why)
        return ready

    def reason(x: str, y: str) -> str:
        """Return why two models that may be compared have no score: a layer is refused, or two
        together.
        """
        directions = ([x], [y]), ([y], [x])
        told = (
            study.align(*sides, metric=metric, layers=layers, **parameters)["reason"].item()
            for sides in directions
        )
        return next(filter(None, told), "")

    scores = scores_among(engine, names, prepare, symmetric=spec.symmetric)
    table = align_among(names, _told(scores, len(names), report), choice=choice, spec=spec)
    without = table.loc[table["score"].isna(), ["model_x", "model_y"]].itertuples(
        index=False, name=None
    )
    told = {(x, y): refused.get(x) or refused.get(y) or reason(x, y) for x, y in without}
    return table.assign(
        reason=[told.get(pair, "") for pair in zip(table["model_x"], table["model_y"], strict=True)]
    )


def _told(scores: Iterable[T], models: int, report: Progress | None) -> Iterator[T]:
    """Pass scores on, and tell how many pairs are done, about once for each model."""
    total = models * (models - 1) // 2
    for done, one in enumerate(scores, start=1):
        yield one
        if report and (done % models == 0 or done == total):
            report(done, total, "pairs of models compared")
