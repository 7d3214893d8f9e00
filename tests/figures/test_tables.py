"""Analyses are joined with what is known of the models."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from core.encoders.encoder import ModelCard
from core.errors import MetricError
from core.questions.alignment.points import fits, trend_points
from core.questions.overview.points import growth_points, headline_points, ranking_points
from core.statistics.intervals import mean_interval
from core.study.models import FEWER, UNTRAINED, describe


def card(name, modality, family, objective, parameters=1000):
    return ModelCard(
        name, name.upper(), modality, f"hf:{name}", family, objective, parameters, "w", ("0", "1")
    )


MODELS = describe(
    [card(f"gpt-{i}", "language", "GPT-2", "language") for i in range(5)]
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


def test_trend_points_describe_both_models_and_put_reality_last():
    points = trend_points(ALIGNMENT, MODELS)
    assert points["facet"].tolist() == ["MAE"] * 10 + ["reality"] * 5
    assert points["axis"].tolist()[:2] == [0.1, 0.1]
    assert points.iloc[0][["title_x", "title_y"]].tolist() == ["GPT-0", "MAE-S"]


def test_a_fit_has_one_point_per_language_model_however_many_models_it_meets():
    fit = fits(trend_points(ALIGNMENT, MODELS), MODELS)["MAE"]
    assert fit.n == 5
    assert fit.slope == pytest.approx(
        2.0
    )  # the means 0, 0.2 … 0.8 over the competences 0.1, 0.2 … 0.5


def test_seeds_of_a_recipe_count_once_on_either_side():
    table = trend_points(ALIGNMENT, MODELS)
    twin = MODELS[MODELS["model"].isin(["gpt-4", "mae-m"])]
    twins = twin.assign(model=twin["model"] + "-seed1", recipe=twin["model"])
    models = pd.concat([MODELS, twins], ignore_index=True)
    again = {"model_x": {"gpt-4": "gpt-4-seed1"}, "model_y": {"mae-m": "mae-m-seed1"}}
    copies = [
        table[table[side].isin(names)].replace({side: names}) for side, names in again.items()
    ]
    plain, seeded = (fits(points, models)["MAE"] for points in (table, pd.concat([table, *copies])))
    assert seeded.n == plain.n == 5
    assert seeded.points["y"].to_numpy() == pytest.approx(plain.points["y"].to_numpy())


def test_copies_and_untrained_models_are_drawn_and_not_fitted():
    models = MODELS.assign(copy=MODELS["model"] == "gpt-1")
    found = fits(trend_points(ALIGNMENT, models), models)
    assert found["MAE"].n == 4
    assert "at least 5" in found["MAE"].reason


def test_headline_points_hold_the_mean_over_the_target_and_its_interval_where_it_has_one():
    points = headline_points(trend_points(ALIGNMENT, MODELS))
    last = points[(points["target"] == "vision models") & (points["model"] == "gpt-2")].iloc[0]
    assert (last["score"], last["targets"]) == (pytest.approx(0.4), 2)
    assert points[["low", "high"]].isna().all(axis=None)  # two models
    pair = ALIGNMENT[ALIGNMENT["model_y"] == "mae-s"]
    several = pd.concat([pair.assign(score=0.1 * n) for n in range(1, 6)])
    points = headline_points(trend_points(several, MODELS))
    half = stats.t.ppf(0.975, 4) * np.std([0.1, 0.2, 0.3, 0.4, 0.5], ddof=1) / 5**0.5
    assert points["low"].to_numpy() == pytest.approx(0.3 - half)
    assert points["high"].to_numpy() == pytest.approx(0.3 + half)


def test_an_interval_of_a_mean_covers_it_as_often_as_it_says():
    rng = np.random.default_rng(0)
    bounds = [mean_interval(rng.standard_normal(6) + 2, level=0.9) for _ in range(1000)]
    assert abs(np.mean([low <= 2 <= high for low, high in bounds]) - 0.9) < 4 * (0.09 / 1000) ** 0.5
    assert np.isnan(mean_interval(np.arange(4.0))).all()
    assert mean_interval(np.array([1, 2, 3, 4, 5, np.nan])) == mean_interval(np.arange(1.0, 6))
    with pytest.raises(MetricError, match=r"between 0 and 1; got 1\.0"):
        mean_interval(np.arange(5.0), level=1.0)


def test_ranking_points_are_means_over_what_a_model_was_compared_with():
    points = ranking_points(ALIGNMENT[ALIGNMENT["model_y"] != "reality"], MODELS)
    assert dict(zip(points["model"], points["score"], strict=True)) == pytest.approx(
        {"gpt-0": 0.0, "gpt-1": 0.2, "gpt-2": 0.4, "gpt-3": 0.6, "gpt-4": 0.8}
    )


def ranked(**columns) -> pd.DataFrame:
    table = pd.DataFrame({"model": ["a", "a-step1", "b", "c", "raw"], "score": 0.1} | columns)
    plain = {
        "run": table["model"],
        "step": 10.0,
        "copy": False,
        "varies": "",
        "tasks": np.nan,
        "group": "MAE",
        "family": "ViT",
        "size": "S",
        "objective": "MAE",
        "parameters": 1e5,
    }
    return table.assign(**{name: value for name, value in plain.items() if name not in table})


NONE_SOLVED = pd.DataFrame({"model": [], "solved": []})


def test_copies_and_the_finished_model_are_one_line_in_order_of_their_steps():
    ranking = ranked(
        run=["a", "a", "b", "c", "raw"],
        copy=[False, True, False, False, False],
        step=[10.0, 1.0, 5.0, 5.0, 0.0],
    )
    points = growth_points(ranking, NONE_SOLVED)
    assert points.loc[points["panel"] == "training", ["model", "x"]].to_numpy().tolist() == [
        ["a-step1", 1.0],
        ["a", 10.0],
    ]


def test_sizes_are_joined_within_a_group_and_neither_copies_nor_untrained_ones_are_sizes():
    ranking = ranked(
        copy=[False, True, False, False, False],
        group=["MAE", "MAE", "MAE", "CLIP", UNTRAINED],
        parameters=[1e5, 1e5, 3e5, 1e5, 1e5],
    )
    points = growth_points(ranking, NONE_SOLVED)
    assert points.loc[points["panel"] == "size", "model"].tolist() == ["a", "b"]


def test_tasks_are_compared_among_models_that_differ_in_nothing_else():
    ranking = ranked(
        group=["supervised", "MAE", FEWER, "supervised", "supervised"],
        objective="supervised",
        tasks=[32.0, np.nan, 2.0, 32.0, 32.0],
        family=["ViT", "ViT", "ViT", "ResNet", "ViT"],
        size=["S", "S", "S", "S", "M"],
        varies=["", "", "tasks", "", ""],
    )
    points = growth_points(ranking, NONE_SOLVED)
    assert points.loc[points["panel"] == "tasks", ["model", "x"]].to_numpy().tolist() == [
        ["b", 2.0],
        ["a", 32.0],
    ]
