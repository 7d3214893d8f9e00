"""The closing table: figures 2 and 4 of a small world whose better models keep more of reality."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.competence.scores import import_scores
from core.questions.asking import ask
from core.questions.competence import trends
from core.questions.competence.question import TasksSolved, Trends
from core.questions.competence.registry import CAPTIONS
from core.questions.competence.trends import (
    BEND,
    BINS,
    GAIN,
    NEAR_REALITY,
    PREDICTS,
    TREND,
    UNMEASURED,
)
from core.store import Store
from core.study.parts import Comparison
from core.study.study import Study
from tests.pages.world import LANGUAGE, PaintedDataset, build
from tests.questions.answers import answer_by

SKILL = {f"{family.lower()}-{size}": skill for family, size, skill in LANGUAGE}
SOLVED = {
    "vit-mae-s": 0.1,
    "vit-mae-m": 0.5,
    "vit-clip-s": 0.55,
    "vit-clip-m": 0.9,
    "vit-supervised-s": 0.45,
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("store"), PaintedDataset(50))


def trends_of(root: Path, vision: str = "") -> pd.DataFrame:
    question = Trends(vision=vision, comparison=Comparison(k=5))
    return ask(question, Study(Store(root), "cave"))


@pytest.fixture
def competent(monkeypatch) -> None:
    """Give vision models their shares of tasks and language models the scores of two exams."""
    table = pd.DataFrame(
        {"model": list(SOLVED), "solved": list(SOLVED.values()), "basis": "shares"}
    )
    answer_by(monkeypatch, TasksSolved, lambda *_: table, kept=False)
    measured = trends.registry

    def registry(study: Study) -> pd.DataFrame:
        scores = {
            "completions": SKILL,
            "counting": {model: max(0.0, skill - 0.5) for model, skill in SKILL.items()},
        }
        rows = pd.DataFrame(
            [
                (model, task, value)
                for task, values in scores.items()
                for model, value in values.items()
            ]
        )
        rows = rows.set_axis(["model", "task", "value"], axis=1)
        exams = rows.assign(unit="top-1", origin="measured", embedded=True, group="language")
        return pd.concat([measured(study), exams], ignore_index=True)

    monkeypatch.setattr(trends, "registry", registry)


@pytest.mark.usefixtures("competent")
def test_all_figures_are_there_and_say_what_the_world_is_like(root):
    table = trends_of(root)
    assert set(table["finding"]) >= {
        BINS,
        TREND,
        NEAR_REALITY,
        PREDICTS,
        "partial correlation given log size",
    }
    near = table[table["finding"] == NEAR_REALITY].set_index("group")
    assert near.loc["language", "value"] > 0.8
    assert near.loc["language", "models"] == 6
    assert (
        near.loc["vision", "models"] == 5
    )  # untrained models have learned nothing that could be compared
    predicted = table[table["finding"] == PREDICTS].set_index("group")
    assert list(predicted.index) == [
        f"{task}, alignment with vit-clip-m" for task in ("completions", "counting")
    ]
    assert (predicted["value"] > 0.8).all()
    counted = table[table["group"] == "counting, alignment with vit-clip-m"].set_index("finding")
    assert counted.loc[BEND, "value"] > 0  # nobody counts below a skill of one half
    errors = 1 - counted.loc[
        ["R² on models left out, line", "R² on models left out, broken stick"], "value"
    ].to_numpy(float)
    assert np.sign(counted.loc[GAIN, "value"]) == np.sign(errors[0] - errors[1])
    assert counted.loc[GAIN, "se"] > 0
    assert table[table["finding"] == BINS]["group"].str.contains("40 % to 60 %, all pairs").any()


@pytest.mark.usefixtures("competent")
def test_scores_of_several_origins_or_units_are_never_mixed_and_stop_no_other_figure(
    root, tmp_path
):
    shutil.copytree(root, tmp_path / "store")
    rows = [
        f"{model},completions,{50 + number},{'%' if number < 5 else 'points'}"
        for number, model in enumerate(SKILL)
    ]
    import_scores(
        tmp_path / "store",
        "cave",
        "\n".join(["model,task,value,unit", *rows]).encode(),
        name="mine.csv",
    )
    table = trends_of(tmp_path / "store")
    found = table[table["finding"] == PREDICTS].set_index("group")
    own, theirs = "completions, alignment with vit-clip-m", "completions (user)"
    assert list(found.index) == [own, theirs, "counting, alignment with vit-clip-m"]
    assert found.loc[own, "value"] > 0.8
    assert (
        "values of several units, % and points, which are not mixed" in found.loc[theirs, "reason"]
    )


@pytest.mark.usefixtures("competent")
def test_language_models_that_code_no_caption_have_the_reason_in_place_of_the_figure(
    root, monkeypatch
):
    every = trends.registry
    monkeypatch.setattr(trends, "registry", lambda study: every(study).query("task != @CAPTIONS"))
    near = trends_of(root).query("finding == @NEAR_REALITY").set_index("group")
    assert near.loc["language", "reason"].startswith(f"no task named {CAPTIONS!r}")
    assert near.loc["vision", "models"] == 5


def test_what_was_not_measured_is_empty_with_its_reason(root):
    table = trends_of(root)
    assert not (table["finding"] == PREDICTS).any()
    vision = table[(table["finding"] == NEAR_REALITY) & (table["group"] == "vision")].iloc[0]
    assert np.isnan(vision["value"])
    assert "there are 0" in vision["reason"]
    assert table[table["finding"] == BINS]["reason"].tolist() == [UNMEASURED]
