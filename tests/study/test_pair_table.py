"""Pairs among one set of models, as a table and as a matrix."""

import numpy as np
import pandas as pd
import pytest

from core.errors import UnknownNameError
from core.metrics import METRICS
from core.study.layers import PairScores, align_among, read_choice, score_matrix

AB = PairScores(np.array([[0.1, 0.4], [0.2, 0.3]]))


def test_every_two_models_have_a_row_and_those_without_scores_a_nan():
    table = align_among(
        ["a", "b", "c"],
        {("a", "b"): AB},
        choice=read_choice("best"),
        spec=METRICS["mutual_knn"].spec,
    )
    assert table[["model_x", "model_y", "layer_x", "layer_y"]].to_numpy().tolist() == [
        ["a", "b", 0, 1],
        ["a", "c", -1, -1],
        ["b", "c", -1, -1],
    ]
    assert table["score"][0] == 0.4
    assert table["score"][1:].isna().all()
    assert table["reason"].tolist() == ["", "", ""]


def test_the_best_pair_of_a_distance_is_the_smallest():
    table = align_among(
        ["a", "b"], {("a", "b"): AB}, choice=read_choice("best"), spec=METRICS["shape_angle"].spec
    )
    assert table.iloc[0].tolist() == ["a", "b", 0, 0, 0.1, ""]


def test_the_matrix_is_symmetric_in_the_order_asked_for():
    pairs = pd.DataFrame(
        {"model_x": ["a", "c", "b"], "model_y": ["b", "a", "c"], "score": [0.1, 0.2, np.nan]}
    )
    matrix = score_matrix(pairs, ["c", "a", "b"])
    expected = [[np.nan, 0.2, np.nan], [0.2, np.nan, 0.1], [np.nan, 0.1, np.nan]]
    np.testing.assert_array_equal(matrix, expected)
    np.testing.assert_array_equal(score_matrix(pairs, ["b", "a"]), [[np.nan, 0.1], [0.1, np.nan]])
    with pytest.raises(UnknownNameError, match="no compared model named 'd'"):
        score_matrix(pairs, ["a", "d"])
