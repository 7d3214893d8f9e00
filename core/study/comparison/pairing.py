"""Every two models of a study compared with each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pandas as pd

from core.pairs.among import HELD, scores_among
from core.pairs.engine import Engine
from core.pairs.prepared import Prepared
from core.progress import Progress
from core.study.comparison.comparing import prepare_each
from core.study.comparison.engines import choose_engine
from core.study.comparison.pair_scores import scored
from core.study.comparison.pair_table import align_among, check_choice
from core.study.parts import Comparison
from core.study.study import Study

P = TypeVar("P")
T = TypeVar("T")


def check_pairing(study: Study, comparison: Comparison) -> None:
    """Refuse what `pair_models` cannot compare by, before anything is computed.

    Raises UnknownNameError for the metric, MetricError for its parameters and for layers that
    compare no models of one set.
    """
    check_choice(comparison.read_layers(), text=comparison.layers)
    choose_engine(study, comparison)


def pair_models(
    study: Study, names: Sequence[str], comparison: Comparison, report: Progress | None = None
) -> pd.DataFrame:
    """Align every two of the models, of any modality.

    A metric that is not symmetric gives the mean of both directions, for each pair of layers.
    Returns a row for each pair, model_x before model_y in the order of `names`: model_x, model_y,
    layer_x, layer_y, score, reason: why the score is NaN, else empty. Raises UnknownNameError for
    a model, MetricError where none can be compared, and as `check_pairing`.
    """
    check_pairing(study, comparison)
    choice, spec = comparison.read_layers(), comparison.spec
    held = _most_held(study, names)
    engine = choose_engine(study, comparison, held, concatenated=choice.concatenated)
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


def _most_held(study: Study, names: Sequence[str]) -> list[str]:
    """Return the models with the most layers, as many as are ready at once: HELD and another."""
    return sorted(names, key=lambda name: -len(study.entry(name).dims))[: HELD + 1]


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
    """Pass scores on, and report how many pairs are done, about once per model."""
    total = models * (models - 1) // 2
    for done, one in enumerate(scores, start=1):
        yield one
        if report and (done % models == 0 or done == total):
            report(done, total, "pairs of models compared")
