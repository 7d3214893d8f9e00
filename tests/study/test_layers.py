"""Which layers stand for two models: what is read, what is picked, what a null aggregates."""

import math

import numpy as np
import pytest

from core.errors import MetricError
from core.metrics import METRICS
from core.study.layers import NOWHERE, LayerChoice, aggregate, concatenate, pick, read_choice

KNN, ANGLE = METRICS["mutual_knn"].spec, METRICS["shape_angle"].spec


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("best", LayerChoice()),
        ("last", LayerChoice(depth=1.0)),
        ("0.25", LayerChoice(depth=0.25)),
        ("1", LayerChoice(depth=1.0)),
        ("3:-1", LayerChoice(pair=(3, -1))),
    ],
)
def test_choices_are_read(text, choice):
    assert read_choice(text) == choice


@pytest.mark.parametrize("text", ["", "first", "1.5", "3", "a:b", "-0.5"])
def test_other_words_are_refused_with_what_is_known(text):
    with pytest.raises(MetricError, match="layers are chosen by best, last, a pair such as 3:5"):
        read_choice(text)


def test_all_layers_side_by_side_are_a_candidate_for_the_best_alone():
    assert read_choice("best", concatenated=True) == LayerChoice(concatenated=True)
    with pytest.raises(MetricError, match="got layers 'last': choose best, or as released"):
        read_choice("last", concatenated=True)


def test_of_equal_pairs_the_lowest_layers_win():
    assert pick(np.array([[0.1, 0.2, 0.5], [0.5, 0.5, 0.0]]), LayerChoice(), spec=KNN) == (0, 2)
    assert pick(np.array([[-0.3, -0.2], [-0.2, -0.9]]), LayerChoice(), spec=KNN) == (
        0,
        1,
    )  # a metric may be negative


def test_the_best_is_the_least_where_lower_is_more_aligned():
    assert pick(np.array([[0.9, 0.2], [0.1, math.nan]]), LayerChoice(), spec=ANGLE) == (1, 0)


def test_a_layer_without_scores_is_passed_over():
    assert pick(np.array([[math.nan, 0.2], [math.nan, 0.1]]), LayerChoice(), spec=KNN) == (0, 1)


def test_models_without_any_comparable_layers_have_no_best_pair():
    assert pick(np.full((2, 3), math.nan), LayerChoice(), spec=KNN) == NOWHERE
    assert pick(np.full((2, 3), math.nan), LayerChoice(depth=1.0), spec=KNN) == (1, 2)


def test_layers_side_by_side_keep_their_scales():
    rng = np.random.default_rng(1)
    wide, narrow = 100 * rng.standard_normal((6, 4)), rng.standard_normal((6, 2))
    joined = concatenate([wide, np.zeros((6, 1)), narrow])
    assert joined.tolist() == [
        [*a, 0.0, *b] for a, b in zip(wide.tolist(), narrow.tolist(), strict=True)
    ]


def test_a_pair_counts_from_either_end_and_must_be_there():
    assert pick(np.zeros((3, 2)), LayerChoice(pair=(-3, -1)), spec=KNN) == (0, 1)
    with pytest.raises(
        MetricError, match="there is no layer 2, only 0 … 1, or -2 … -1 from the end"
    ):
        pick(np.zeros((3, 2)), LayerChoice(pair=(0, 2)), spec=KNN)


def test_a_depth_is_the_same_share_of_both_models():
    assert LayerChoice(depth=0.5).place(5, 13) == (2, 6)
    assert LayerChoice(depth=0.0).place(5, 13) == (0, 0)


def test_a_null_aggregates_as_the_observed_score_is_picked():
    scores = np.random.default_rng(0).normal(size=(7, 3, 4))
    for choice in (LayerChoice(), LayerChoice(depth=1.0), LayerChoice(pair=(1, 2))):
        for spec in (KNN, ANGLE):
            expected = [each[pick(each, choice, spec=spec)] for each in scores]
            np.testing.assert_array_equal(aggregate(choice, spec=spec)(scores), expected)
