"""Choosing one layer of each of two models: the controls that the Stimuli and the Metrics page
share.
"""

from __future__ import annotations

import pandas as pd
from streamlit.delta_generator import DeltaGenerator

from core.metrics import METRICS
from core.questions.metrics.answer import Pair
from core.study.layers import LayerChoice
from core.study.layers import pick as pick_best
from pages._shared import controls, queries
from pages._shared.queries import Place


def pick_pair(
    at: Place, models: pd.DataFrame, *, k: int, left: DeltaGenerator, right: DeltaGenerator
) -> Pair:
    """Choose two of at least two models that have neighbors, and a layer of each; at first those
    that agree most at this k.
    """
    first, second = _best_models(at, models, k)
    with left:
        x = controls.pick_model("One model", models, "a", default=first)
    with right:
        y = controls.pick_model("Another model", models, "b", default=second)
    scores = queries.layer_map(at, x, y, metric="mutual_knn", k=k)
    best_x, best_y = pick_best(scores, LayerChoice(), spec=METRICS["mutual_knn"].spec)
    layers = models.set_index("model")["layers"]
    with left:
        layer_x = controls.pick_layer(layers[x], "layer-a", best=best_x)
    with right:
        layer_y = controls.pick_layer(layers[y], "layer-b", best=best_y)
    return Pair(x, layer_x, y, layer_y)


def _best_models(at: Place, models: pd.DataFrame, k: int) -> tuple[str, str]:
    """Take the best-aligned pair of a language and a vision model; any two models where one kind is
    missing.
    """
    language, vision = (
        models.loc[models["modality"] == modality, "model"].tolist()
        for modality in ("language", "vision")
    )
    if not language or not vision:
        first, second = models["model"].iloc[:2]
        return first, second
    best = queries.alignment(at, language, vision, k=k).sort_values("score").iloc[-1]
    return best["model_x"], best["model_y"]
