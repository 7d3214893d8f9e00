"""Alignment along training, over a hand-made study."""

import numpy as np
import pandas as pd
import pytest

from core.questions.competence.question import ABREAST, along_training

MODELS = pd.DataFrame(
    [  # model, modality, group, run, step, copy
        ("gpt-10", "language", "GPT-2", "gpt", 10, True),
        ("gpt", "language", "GPT-2", "gpt", 20, False),
        ("bloom-10", "language", "BLOOM", "bloom", 10, True),
        ("bloom", "language", "BLOOM", "bloom", 30, False),
        ("mae", "vision", "MAE", "mae", 10, False),
        ("raw", "vision", "untrained", "raw", 0, False),
        ("reality", "world", "reality", "reality", np.nan, False),
    ],
    columns=["model", "modality", "group", "run", "step", "copy"],
).assign(varies="")
PAIRS = pd.DataFrame(
    [
        ("bloom", "gpt", 0.5),
        ("bloom", "gpt-10", 0.2),
        ("bloom-10", "gpt", 0.25),
        ("bloom-10", "gpt-10", 0.4),
        ("gpt", "mae", 0.3),
        ("gpt-10", "mae", 0.1),
        ("bloom", "mae", np.nan),
        ("gpt", "raw", 0.9),
        ("gpt", "reality", 0.6),
        ("gpt-10", "reality", 0.05),
        ("gpt", "gpt-10", 0.99),
    ],
    columns=["model_x", "model_y", "score"],
)


def test_checkpoints_are_compared_with_what_others_finished_and_with_reality():
    found = along_training(PAIRS, MODELS).set_index(["model", "target"])["score"]
    assert found["gpt-10"].to_dict() == {
        "reality": 0.05,
        "trained vision models": 0.1,
        "trained language models": 0.2,
        ABREAST: 0.4,
    }
    assert found["gpt"].to_dict() == {
        "reality": 0.6,
        "trained vision models": 0.3,
        "trained language models": 0.5,
    }  # no other after 20 steps


def test_a_model_of_one_step_is_not_followed_and_a_missing_score_is_no_row():
    found = along_training(PAIRS, MODELS)
    assert set(found["run"]) == {"gpt", "bloom"}
    assert "trained vision models" not in set(found.loc[found["model"] == "bloom", "target"])
    assert found["step"].tolist() == sorted(found.loc[found["run"] == "bloom", "step"]) + sorted(
        found.loc[found["run"] == "gpt", "step"]
    )


def test_a_mean_counts_its_models():
    models = pd.concat([MODELS, MODELS[MODELS["model"] == "mae"].assign(model="clip", run="clip")])
    pairs = pd.concat([PAIRS, pd.DataFrame([("clip", "gpt", 0.5)], columns=PAIRS.columns)])
    row = (
        along_training(pairs, models)
        .set_index(["model", "target"])
        .loc["gpt", "trained vision models"]
    )
    assert row["score"] == pytest.approx(0.4)
    assert row["models"] == 2


def test_without_checkpoints_or_pairs_there_is_nothing_to_follow():
    assert along_training(PAIRS, MODELS[~MODELS["copy"]]).empty
    assert along_training(PAIRS.iloc[:0], MODELS).empty
