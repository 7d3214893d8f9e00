"""Distances between models from their alignments."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.metrics import METRICS
from core.questions.models.pairs import distances

KNN, ANGLE = METRICS["mutual_knn"].spec, METRICS["shape_angle"].spec


def pairs_of(**scores: float) -> pd.DataFrame:
    """Name a pair by its two letters."""
    rows = [
        (*pair, score, "" if math.isfinite(score) else f"{pair} is refused")
        for pair, score in scores.items()
    ]
    return pd.DataFrame(rows, columns=["model_x", "model_y", "score", "reason"])


def test_distance_is_minus_the_logarithm_of_the_score():
    found = distances(pairs_of(ab=0.5, ac=0.25, bc=1.0), spec=KNN)
    assert found.names == ["a", "b", "c"]
    np.testing.assert_allclose(
        found.matrix, [[0, math.log(2), math.log(4)], [math.log(2), 0, 0], [math.log(4), 0, 0]]
    )
    assert math.isnan(found.floor)
    assert not found.floored.any()


def test_scores_not_above_0_are_put_at_the_least_aligned_pair_and_told():
    found = distances(pairs_of(ab=0.5, ac=0.1, bc=0.0, ad=-0.3, bd=0.2, cd=0.2), spec=KNN)
    assert found.floor == 0.1
    assert found.matrix[1, 2] == found.matrix[0, 3] == found.matrix[0, 2] == -math.log(0.1)
    assert np.argwhere(found.floored).tolist() == [[0, 3], [1, 2], [2, 1], [3, 0]]


def test_a_score_above_1_is_no_negative_distance():
    assert distances(pairs_of(ab=1.2), spec=KNN).matrix.tolist() == [[0, 0], [0, 0]]


def test_a_metric_that_is_a_distance_stays_one():
    found = distances(pairs_of(ab=0.5, ac=0.0, bc=1.5), spec=ANGLE)
    assert found.matrix.tolist() == [[0, 0.5, 0], [0.5, 0, 1.5], [0, 1.5, 0]]
    assert not found.floored.any()


def test_without_any_score_above_0_there_is_no_distance():
    with pytest.raises(InputError, match="no two of these models are aligned above 0"):
        distances(pairs_of(ab=0.0, ac=-0.5, bc=0.0), spec=KNN)


def test_models_that_lack_scores_are_left_out_the_worst_first():
    found = distances(pairs_of(ab=0.5, ac=np.nan, ad=np.nan, bc=np.nan, bd=0.3, cd=0.4), spec=KNN)
    assert found.names == ["c", "d"]
    assert found.left_out == {
        "a": "no score with 2 of 3 other models: ac is refused",
        "b": "no score with 1 of 2 other models: bc is refused",
    }


@given(st.lists(st.floats(-1, 1), min_size=6, max_size=6), st.permutations(range(6)))
def test_the_order_and_the_direction_of_pairs_do_not_matter(scores, order):
    names = ["".join(pair) for pair in combinations("abcd", 2)]
    if max(scores) <= 0:
        return
    straight = distances(pairs_of(**dict(zip(names, scores, strict=True))), spec=KNN)
    turned = distances(
        pairs_of(**{names[i][:: 1 if i % 2 else -1]: scores[i] for i in order}), spec=KNN
    )
    np.testing.assert_array_equal(straight.matrix, turned.matrix)
    assert straight.names == turned.names
