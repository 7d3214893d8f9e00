"""Choosing one layer of each of two models: the controls that the Stimuli and the Metrics page
share.
"""

from __future__ import annotations

import pandas as pd
from streamlit.delta_generator import DeltaGenerator

from core.questions.alignment.pairs import best_layers
from core.study.parts import LayerPair
from pages._shared import controls, facts, queries
from pages._shared.chosen import selection
from pages._shared.queries import Place


def pick_pair(
    at: Place, models: pd.DataFrame, *, k: int, left: DeltaGenerator, right: DeltaGenerator
) -> LayerPair:
    """Choose two of at least two models that have neighbors, and a layer of each; at first those
    that were chosen anywhere, else those that agree most at this k.
    """
    best = facts.best_models(at, tuple(models["model"]), k=k)
    first, second = selection.pair(models, models, best)
    follow = bool(selection.chosen())
    a, b = (controls.option_named(LayerPair, name) for name in ("a", "b"))
    with left:
        x = controls.pick_model(a.label, models, a.name, default=first, follow=follow)
    with right:
        y = controls.pick_model(b.label, models, b.name, default=second, follow=follow)
    best_x, best_y = best_layers(at.scope, queries.study(at), x, y, k=k)
    layers = models.set_index("model")["layers"]
    with left:
        layer_x = controls.pick_layer(layers[x], "layer_a", best=best_x)
    with right:
        layer_y = controls.pick_layer(layers[y], "layer_b", best=best_y)
    return LayerPair(x, layer_x, y, layer_y)
