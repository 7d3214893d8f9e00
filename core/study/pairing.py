"""Every two models of a study compared with each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pandas as pd

from core.metrics import METRICS
from core.pairs.among import scores_among
from core.pairs.engine import Engine
from core.pairs.prepared import Prepared
from core.progress import Progress
from core.study.comparing import choose_engine, prepare_each
from core.study.keeping import keep
from core.study.layers import read_choice
from core.study.pair_scores import scored
from core.study.pair_table import align_among, check_choice
from core.study.study import Study

P = TypeVar("P")
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
    layers: as in `align_models`, but no fixed pair. Returns a row for each pair, model_x before
    model_y by name, whatever the order of `names`: model_x, model_y, layer_x, layer_y, score,
    reason: why the score is NaN, else empty. Raises UnknownNameError for the metric or a model,
    MetricError for the rest.
    """
    check_choice(read_choice(layers), given=layers)
    choose_engine(study, metric, **parameters)  # refuses a wrong metric or k before any work
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
    choice, spec = read_choice(layers), METRICS[metric].spec
    engine = choose_engine(study, metric, **parameters)
    models = _Models(study, choice.concatenated, {}, {})

    def prepare(few: Sequence[str]) -> Mapping[str, Prepared[Any]]:
        return models.prepare(engine, few)

    scores = scores_among(engine, names, prepare, symmetric=spec.symmetric)
    reported = _reported(scores, len(names), report)
    pairs = ((x, y, scored(each, models.alone[x], models.alone[y])) for x, y, each in reported)
    table = align_among(names, pairs, choice=choice, spec=spec)
    refused = models.refused
    rows = zip(table["model_x"], table["model_y"], table["reason"], strict=True)
    return table.assign(reason=[refused.get(x) or refused.get(y) or why for x, y, why in rows])


@dataclass(frozen=True)
class _Models:
    """The models of a study as they are made ready, and what was refused of them.

    alone: why each layer of a model is refused, by model. refused: why a whole model is.
    """

    study: Study
    concatenated: bool
    alone: dict[str, tuple[str, ...]]
    refused: dict[str, str]

    def prepare(self, engine: Engine[P], names: Sequence[str]) -> Mapping[str, Prepared[P]]:
        ready, refused = prepare_each(self.study, engine, names, concatenated=self.concatenated)
        self.alone.update({name: model.refusals for name, model in ready.items()})
        self.refused.update(refused)
        return ready


def _reported(scores: Iterable[T], models: int, report: Progress | None) -> Iterator[T]:
    """Pass scores on, and tell how many pairs are done, about once for each model."""
    total = models * (models - 1) // 2
    for done, one in enumerate(scores, start=1):
        yield one
        if report and (done % models == 0 or done == total):
            report(done, total, "pairs of models compared")
