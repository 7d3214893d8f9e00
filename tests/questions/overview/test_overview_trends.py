"""The study's figures: hand-made tables whose correlations and means are known."""

import numpy as np
import pandas as pd
import pytest

from core.questions.overview.trends import CLOSENESS, OVERALL, closeness, solving, trends
from core.study.models import FEWER, UNTRAINED

MODELS = pd.DataFrame(
    [  # model, modality, group, family, copy, tasks, size
        *(
            (f"gpt-{i}", "language", "GPT-2", "GPT-2", False, np.nan, size)
            for i, size in enumerate(("XS", "S", "M", "L", "XL"))
        ),
        ("gpt-1-step00010", "language", "GPT-2", "GPT-2", True, np.nan, "S"),
        ("gpt-raw", "language", UNTRAINED, "GPT-2", False, np.nan, "S"),
        ("mae-s", "vision", "MAE", "ViT", False, np.nan, "S"),
        ("clip-s", "vision", "CLIP", "ViT", False, np.nan, "S"),
        ("vit-s", "vision", "multitask", "ViT", False, 32.0, "S"),
        ("vit-m", "vision", "multitask", "ViT", False, 32.0, "M"),
        ("resnet-s", "vision", "multitask", "ResNet", False, 32.0, "S"),
        ("vit-2-s", "vision", FEWER, "ViT", False, 2.0, "S"),
        ("reality", "world", "reality", "world", False, np.nan, ""),
    ],
    columns=["model", "modality", "group", "family", "copy", "tasks", "size"],
).assign(parameters=1.0, varies="")
LANGUAGE = ["gpt-0", "gpt-1", "gpt-2", "gpt-3", "gpt-4", "gpt-1-step00010", "gpt-raw"]
SKILL = pd.DataFrame({"model": LANGUAGE, "value": [0.1, 0.2, 0.3, 0.4, 0.5, 0.15, -0.5]})

APART = MODELS.assign(family=MODELS["model"])  # no two are of one family
RISING = [0.1, 0.2, 0.3, 0.4, 0.5]


def pairs(**scores: list[float]) -> pd.DataFrame:
    rows = [
        (x, y, score, 0.01)
        for y, column in scores.items()
        for x, score in zip(LANGUAGE, column, strict=True)
    ]
    table = pd.DataFrame(rows, columns=["model_x", "model_y", "score", "chance"]).replace(
        {"model_y": {"mae": "mae-s", "clip": "clip-s"}}
    )
    return table.assign(axis=table["model_x"].map(SKILL.set_index("model")["value"]))


def test_copies_and_untrained_models_do_not_take_part_in_a_trend():
    found = trends(
        pairs(mae=[*RISING, 0.9, 0.9], reality=[*RISING[::-1], 0.9, 0.9]), APART
    ).set_index("group")
    assert found.loc["MAE", ["models", "value"]].tolist() == [5, pytest.approx(1)]
    assert found.loc["reality", "value"] == pytest.approx(-1)
    assert found.loc["MAE", "p"] == pytest.approx(1 / 60)  # two of the 120 orders


def test_all_vision_models_count_once_per_language_model():
    found = trends(
        pairs(mae=[*RISING, 0, 0], clip=[1.1, 0.2, 0.3, 0.4, 0.5, 0, 0]), APART
    ).set_index("group")
    assert found.loc[OVERALL, "models"] == 5
    assert found.loc[OVERALL, "value"] == pytest.approx(0)  # the means are 0.6, 0.2 … 0.5


def test_too_few_models_give_a_reason_and_no_number():
    few = MODELS[MODELS["model"] != "gpt-0"]
    row = trends(pairs(mae=[*RISING, 0, 0]), few).iloc[0]
    assert np.isnan(row["value"])
    assert "at least 5 models" in row["reason"]
    related = trends(pairs(mae=[*RISING, 0, 0]), MODELS).iloc[0]
    assert np.isnan(related[["value", "p"]].astype(float)).all()
    assert related["reason"].endswith("there are 5 of 1 family")


NEAR = pd.DataFrame(
    {
        "model_x": [name for name in MODELS["model"][:-1] if name not in ("gpt-3", "gpt-4")],
        "chance": 0.01,
        "score": [0.1, 0.2, 0.6, 0.9, 0.02, 0.03, 0.2, 0.4, 0.6, 0.5, 0.1],
    }
)


def test_means_by_objective_leave_copies_out_and_untrained_models_apart():
    found = closeness(NEAR, MODELS)
    means = found[found["finding"] == f"{CLOSENESS} objective"].set_index("group")
    assert means.loc["GPT-2 (language)", ["models", "value"]].tolist() == [3, pytest.approx(0.3)]
    assert means.loc["untrained (language)", "value"] == 0.02
    assert means.loc["multitask (vision)", "value"] == pytest.approx(0.5)
    assert (found["chance"] == 0.01).all()


def test_a_model_without_a_score_is_not_counted_in_a_mean():
    found = closeness(NEAR.assign(score=NEAR["score"].where(NEAR["model_x"] != "gpt-1")), MODELS)
    means = found[found["finding"] == f"{CLOSENESS} objective"].set_index("group")
    assert means.loc["GPT-2 (language)", "models"] == 2


def test_sizes_are_compared_without_models_of_fewer_tasks():
    found = closeness(NEAR, MODELS)
    means = found[found["finding"] == f"{CLOSENESS} size"].set_index("group")["value"]
    assert means["vision S"] == pytest.approx(
        (0.03 + 0.2 + 0.4) / 3
    )  # without the ResNet, which has one size
    assert means["language M"] == 0.6


def test_numbers_of_tasks_are_compared_within_one_size_and_family():
    found = closeness(NEAR, MODELS)
    means = found[found["finding"] == f"{CLOSENESS} tasks"].set_index("group")["value"]
    assert means.to_dict() == {"32 of the tasks": 0.4, "2 of the tasks": 0.1}


def test_solved_tasks_are_ranked_against_alignment_of_vision_models():
    vision = ["mae-s", "clip-s", "vit-s", "resnet-s", "vit-m"]
    row = solving(
        NEAR, pd.DataFrame({"model": vision, "solved": [0.1, 0.2, 0.3, 0.35, 0.4]}), MODELS
    ).iloc[0]
    assert (row["models"], row["value"]) == (5, pytest.approx(1))
    assert solving(NEAR, pd.DataFrame({"model": [], "solved": []}), MODELS).empty
