"""Which two models, and which layer of each, are meant if a pair leaves them out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from core.errors import MetricError
from core.questions.alignment.question import Alignment
from core.questions.asking import ask
from core.study.models import reads, without_variants
from core.study.parts import Comparison, LayerPair, Scope
from core.study.spaces import largest_models
from core.study.study import Study


def complete_pair(pair: LayerPair, scope: Scope, study: Study, *, k: int) -> LayerPair:
    """Name the models and layers that are left out: the most aligned ones by mutual k-NN."""
    if not (pair.x and pair.y):
        models = study.models()
        counted = without_variants(models[~models["copy"]])
        first, second = best_models(scope, study, counted, k=k)
        pair = replace(pair, x=pair.x or first, y=pair.y or second)
    for name, layer in ((pair.x, pair.layer_x), (pair.y, pair.layer_y)):
        count = len(study.entry(name).dims)
        if layer is not None and layer >= count:
            raise MetricError(f"expected a layer of {name} from 0 to {count - 1}; got {layer}")
    if pair.layer_x is None or pair.layer_y is None:
        best_x, best_y = best_layers(scope, study, pair.x, pair.y, k=k)
        x = best_x if pair.layer_x is None else pair.layer_x
        y = best_y if pair.layer_y is None else pair.layer_y
        pair = replace(pair, layer_x=x, layer_y=y)
    return pair


def best_models(scope: Scope, study: Study, models: pd.DataFrame, *, k: int) -> tuple[str, str]:
    """Return the best-aligned language and vision model, the two largest if one of both is missing.

    models: of `core.study.models.describe`.
    """
    if len(models) < 2:
        raise MetricError(f"expected two models to compare; got {len(models)}: embed another one")
    language, vision = (
        models.loc[reads(models, item), "model"].tolist() for item in ("caption", "image")
    )
    if not (language and vision):
        there = models["model"].tolist()
        large = [name for name in largest_models(study) if name in there]
        first, second = list(dict.fromkeys([*large, *there]))[:2]
        return first, second
    scores = _aligned(scope, study, language, vision, k=k).dropna(subset="score")
    if scores.empty:
        return language[0], vision[0]
    best = scores.sort_values("score").iloc[-1]
    return best["model_x"], best["model_y"]


def best_layers(scope: Scope, study: Study, x: str, y: str, *, k: int) -> tuple[int, int]:
    """Return the layers of two models that agree most by mutual k-NN."""
    row = _aligned(scope, study, [x], [y], k=k).iloc[0]
    return int(row["layer_x"]), int(row["layer_y"])


def _aligned(
    scope: Scope, study: Study, x: Sequence[str], y: Sequence[str], *, k: int
) -> pd.DataFrame:
    usual = Comparison.of("mutual_knn", {"k": k})
    return ask(Alignment(scope, tuple(x), tuple(y), axis="", comparison=usual), study)
