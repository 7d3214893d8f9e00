"""The map of layers: a star on the best pair, which the head names with its references."""

from __future__ import annotations

from itertools import product

import pandas as pd

from core.metrics import METRICS
from core.questions.alignment.figures import layer_map


def test_a_star_marks_the_best_pair_and_the_head_names_it():
    places = list(product(range(3), range(2)))
    table = pd.DataFrame(places, columns=["layer_x", "layer_y"]).assign(
        model_x="a",
        model_y="b",
        score=[0.1, 0.2, 0.3, 0.6, 0.5, 0.4],
        chance=0.05,
        layer_name_x=[f"block {x}" for x, _ in places],
        layer_name_y=[f"layer {y}" for _, y in places],
    )
    figure = layer_map(table, METRICS["mutual_knn"].spec).draw("light")
    heat, star = figure.data[:2]
    assert list(heat.y) == [0, 1, 2]
    assert (list(star.x), list(star.y), list(star.text)) == ([1], [1], ["★"])
    assert figure.layout.annotations[0].text == "★ block 1 × layer 1<br>0.600, chance 0.050"
