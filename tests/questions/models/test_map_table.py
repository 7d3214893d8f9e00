"""The map's table."""

import math

import numpy as np

from core.metrics import METRICS
from core.questions.models.geometry import distances, map_table
from core.statistics.layouts import Layout
from tests.questions.models.test_distances import pairs_of


def test_a_row_per_model_with_its_place_its_nearest_and_what_the_map_is_worth():
    found = distances(
        pairs_of(ab=0.5, ac=0.0, bc=0.2, ad=np.nan, bd=np.nan, cd=np.nan),
        spec=METRICS["mutual_knn"].spec,
    )
    table = map_table(
        found, Layout(np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]), 0.1, 0.9, 1)
    ).set_index("model")
    assert table.loc[
        "c", ["x", "y", "nearest_1", "nearest_2", "nearest_3", "floored", "reason"]
    ].tolist() == [
        4,
        5,
        "b",
        "a",
        "",
        1,
        "",
    ]
    assert table.loc["d", "reason"] == "no score with 3 of 3 other models: ad is refused"
    assert math.isnan(table.loc["d", "x"])
    assert table.loc["d", "nearest_1"] == ""
    assert (table[["stress", "trustworthiness", "neighbors", "floor"]] == [0.1, 0.9, 1, 0.2]).all(
        axis=None
    )
