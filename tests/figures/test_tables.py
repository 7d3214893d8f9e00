"""Analyses are joined with what is known of the models."""

import pandas as pd
import pytest

from core.encoders.encoder import ModelCard
from core.questions.alignment.axes import AXES, fits, trend_points
from core.study.models import describe


def card(name, modality, family, objective, parameters=1000):
    return ModelCard(
        name, name.upper(), modality, f"hf:{name}", family, objective, parameters, "w", ("0", "1")
    )


MODELS = describe(
    [card(f"gpt-{i}", "language", f"GPT-{i}", "language") for i in range(5)]
    + [
        card("mae-s", "vision", "ViT", "MAE"),
        card("mae-m", "vision", "ViT", "MAE"),
        card("reality", "world", "world", "reality", None),
    ]
)
ALIGNMENT = pd.DataFrame(
    [
        {
            "model_x": f"gpt-{i}",
            "model_y": y,
            "layer_x": 0,
            "layer_y": 1,
            "score": score,
            "chance": 0.1,
            "axis": 0.1 * (i + 1),
            "n": 11,
            "k": 1,
        }
        for i in range(5)
        for y, score in (("reality", 0.5), ("mae-s", 0.1 * i), ("mae-m", 0.3 * i))
    ]
)


COMPETENCE = AXES["competence"]


def test_trend_points_describe_both_models():
    points = trend_points(ALIGNMENT, MODELS)
    assert points["panel"].tolist() == ["reality", "MAE", "MAE"] * 5
    assert points.iloc[1][["title_x", "title_y"]].tolist() == ["GPT-0", "MAE-S"]


def test_a_fit_has_one_point_per_language_model_however_many_models_it_meets():
    fit = fits(trend_points(ALIGNMENT, MODELS), COMPETENCE)["MAE"]
    assert fit.n == 5
    assert fit.slope == pytest.approx(
        2.0
    )  # the means 0, 0.2 … 0.8 over the competences 0.1, 0.2 … 0.5


def test_seeds_of_a_recipe_count_once_on_either_side():
    twin = MODELS[MODELS["model"].isin(["gpt-4", "mae-m"])]
    twins = twin.assign(model=twin["model"] + "-seed1", recipe=twin["model"])
    models = pd.concat([MODELS, twins], ignore_index=True)
    again = {"model_x": {"gpt-4": "gpt-4-seed1"}, "model_y": {"mae-m": "mae-m-seed1"}}
    copies = [
        ALIGNMENT[ALIGNMENT[side].isin(names)].replace({side: names})
        for side, names in again.items()
    ]
    plain, seeded = (
        fits(trend_points(pairs, models), COMPETENCE)["MAE"]
        for pairs in (ALIGNMENT, pd.concat([ALIGNMENT, *copies], ignore_index=True))
    )
    assert seeded.n == plain.n == 5
    assert seeded.points["y"].to_numpy() == pytest.approx(plain.points["y"].to_numpy())


def test_copies_and_untrained_models_are_drawn_and_not_fitted():
    models = MODELS.assign(copy=MODELS["model"] == "gpt-1")
    found = fits(trend_points(ALIGNMENT, models), COMPETENCE)
    assert found["MAE"].n == 4
    assert "at least 5" in found["MAE"].reason
