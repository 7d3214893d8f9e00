"""Analyses are joined with what is known of the models."""

import numpy as np
import pandas as pd
import pytest

from core.encoders.encoder import ModelCard
from core.figures.tables import describe, fits, headline_points, ranking_points, tell_apart, trend_points


def card(name, modality, family, objective, parameters=1000):
    return ModelCard(name, name.upper(), modality, f"hf:{name}", family, objective, parameters, "w", ("0", "1"))


MODELS = describe(
    [card(f"gpt-{i}", "language", "GPT-2", "language") for i in range(3)]
    + [
        card("mae-s", "vision", "ViT", "MAE"),
        card("mae-m", "vision", "ViT", "MAE"),
        card("reality", "world", "world", "reality", None),
    ]
)
COMPETENCE = pd.DataFrame({"model": ["gpt-0", "gpt-1", "gpt-2"], "value": [0.1, 0.2, 0.3]})
ALIGNMENT = pd.DataFrame(
    [
        {"model_x": f"gpt-{i}", "model_y": y, "layer_x": 0, "layer_y": 1, "score": score, "chance": 0.1, "n": 11, "k": 1}
        for i in range(3) for y, score in (("reality", 0.5), ("mae-s", 0.1 * i), ("mae-m", 0.3 * i))
    ]
)  # fmt: skip


def test_the_group_is_the_objective_of_vision_and_the_family_of_language():
    assert MODELS["group"].tolist() == ["GPT-2"] * 3 + ["MAE", "MAE", "reality"]
    assert np.isnan(MODELS["parameters"].iloc[-1])


def test_titles_that_two_models_share_get_their_names():
    assert tell_apart(["A", "B", "A"], ["a1", "b", "a2"]) == ["A (a1)", "B", "A (a2)"]


def test_trend_points_describe_both_models_and_put_reality_last():
    points = trend_points(ALIGNMENT, COMPETENCE, MODELS)
    assert points["facet"].tolist() == ["MAE"] * 6 + ["reality"] * 3
    assert points["competence"].tolist()[:2] == [0.1, 0.1]
    assert points.iloc[0][["title_x", "title_y"]].tolist() == ["GPT-0", "MAE-S"]


def test_a_fit_has_one_point_per_language_model_however_many_models_it_meets():
    fit = fits(trend_points(ALIGNMENT, COMPETENCE, MODELS))["MAE"]
    assert fit.n == 3
    assert fit.slope == pytest.approx(2.0)  # the means 0, 0.2, 0.4 over the competences 0.1, 0.2, 0.3


def test_headline_points_hold_mean_and_range_over_the_target():
    points = headline_points(trend_points(ALIGNMENT, COMPETENCE, MODELS))
    last = points[(points["target"] == "vision models") & (points["model"] == "gpt-2")].iloc[0]
    assert (last["low"], last["score"], last["high"]) == pytest.approx((0.2, 0.4, 0.6))
    assert (points.loc[points["target"] == "reality", "score"] == 0.5).all()


def test_ranking_points_are_means_over_what_a_model_was_compared_with():
    points = ranking_points(ALIGNMENT[ALIGNMENT["model_y"] != "reality"], MODELS)
    assert dict(zip(points["model"], points["score"], strict=True)) == pytest.approx({"gpt-0": 0.0, "gpt-1": 0.2, "gpt-2": 0.4})
