"""A study's dispersion joined with images, captions, factors and consensus, kept under its
recipe.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from core.errors import StimuliError, UnknownNameError
from core.questions.asking import ask
from core.questions.dispersion import prediction
from core.questions.dispersion import question as answer
from core.questions.dispersion.prediction import TOGETHER, distance_to_neighbors, predict
from core.questions.dispersion.question import (
    ConsensusSpace,
    DispersionPredictors,
    Ranking,
    Spaces,
    StimulusDispersion,
)
from core.stimuli.statistics import describe_captions, describe_images
from core.store import Store
from core.study.study import Study
from tests.pages.world import VISION, PaintedDataset, build

SPACES = ("vit-mae-s:1", "vit-clip-m:2", "vit-supervised-s:2")
SIZE = 90


def explain(study: Study, *, seed=0, level="", report=None, **ranked) -> pd.DataFrame:
    question = DispersionPredictors(ranking=Ranking(SPACES, **ranked), seed=seed, level=level)
    return ask(question, study, report)


def words(study: Study, size: int) -> pd.DataFrame:
    return ask(DispersionPredictors(ranking=Ranking(SPACES), size=size, words=True), study)


def disperse(study: Study) -> pd.DataFrame:
    return ask(StimulusDispersion(joint=Spaces(SPACES)), study)


class Dusk(PaintedDataset):
    """Every third image is larger, and stimuli of few things have another caption level alone."""

    def image(self, index: int) -> Image.Image:
        image = super().image(index)
        return image.resize((448, 300)) if index % 3 == 0 else image


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(
        tmp_path_factory.mktemp("store"), Dusk(SIZE), vision=VISION, language=(), reality=False
    )


@pytest.fixture(autouse=True)
def few_halves(monkeypatch):
    monkeypatch.setattr(prediction, "HALVES", 5)


@pytest.fixture
def study(root: Path) -> Study:
    return Study(Store(root), "cave")


@pytest.fixture
def given(monkeypatch) -> dict:
    """Return what `predict` was given."""
    seen = {}

    def listen(target, predictors, **choices):
        seen.update(predictors, target=target)
        return predict(target, predictors, **choices)

    monkeypatch.setattr(answer, "predict", listen)
    return seen


def test_all_kinds_of_predictors_meet_the_dispersion_of_their_stimulus(study, given):
    table = explain(study, seed=11)
    dataset = Dusk(SIZE)
    assert given["target"] == pytest.approx(disperse(study)["mean"].to_numpy())
    assert given["image"]["size"].tolist() == [
        448 * 300 if i % 3 == 0 else 224 * 224 for i in range(SIZE)
    ]
    exact = describe_images([dataset.image(i) for i in range(SIZE)])
    assert given["image"]["brightness"].to_numpy() == pytest.approx(
        exact["brightness"].to_numpy(), abs=0.01
    )
    texts = dataset.captions.query("level == '20'")["text"].tolist()
    pd.testing.assert_frame_equal(given["caption"], describe_captions(texts))
    pd.testing.assert_frame_equal(given["factor"], dataset.stimuli.drop(columns="stimulus"))
    joint = ask(ConsensusSpace(joint=Spaces(SPACES)), study).filter(like="axis_").to_numpy()
    assert given["consensus"].iloc[:, 0].to_numpy() == pytest.approx(
        distance_to_neighbors(joint, k=10)
    )
    assert set(table["kind"]) == {"image", "caption", "factor", "consensus"}
    assert (table["predictor"] == TOGETHER).sum() == 3


def test_a_study_of_some_stimuli_explains_those_by_words_that_are_rare_in_all(root, given):
    study = Study(Store(root), "cave", where={"thing_color": "crimson"})
    with pytest.raises(Exception, match="at least 50 of them; got 23"):
        explain(study)
    texts = Dusk(SIZE).captions.query("level == '20'")["text"].tolist()
    expected = describe_captions(texts).iloc[::4].reset_index(drop=True)
    pd.testing.assert_frame_equal(given["caption"], expected)
    assert given["image"]["size"].tolist() == [
        448 * 300 if i % 3 == 0 else 224 * 224 for i in range(0, SIZE, 4)
    ]


def test_of_too_many_stimuli_some_are_drawn(study, given, monkeypatch):
    monkeypatch.setattr(answer, "LARGEST", 60)
    explain(study)
    everything = disperse(study)["mean"].to_numpy()
    places = [int(np.argmin(abs(everything - value))) for value in given["target"]]
    assert len(set(places)) == 60
    assert given["factor"]["count"].tolist() == [place % 4 + 1 for place in places]


def test_a_dataset_without_image_sizes_says_so(study, monkeypatch):
    monkeypatch.setattr(Store, "image_sizes", lambda *_: None)
    table = explain(study, seed=13).set_index("predictor")
    assert "known of 0 stimuli" in table.loc["size", "reason"]
    assert table.loc["brightness", "reason"] == ""


def test_words_are_those_of_the_least_and_the_most_dispersed(study):
    table = words(study, size=30).set_index("word")
    order = np.argsort(disperse(study)["mean"].to_numpy())
    for side, chosen in (("in_low", order[:30]), ("in_high", order[-30:])):
        assert table.loc["crimson", side] == (chosen % 4 == 0).sum()
    assert set(table["low"]) == set(table["high"]) == {30}


def test_copies_of_a_caption_count_once_per_set(study, monkeypatch):
    """Every caption in two copies, one beside the other in the ranking: the table is that of half
    as many stimuli.
    """
    ranked = disperse(study)["mean"].to_numpy().argsort()
    texts = prediction.texts_of(study, "20")
    texts[ranked[1::2]] = texts[ranked[::2]]
    monkeypatch.setattr(answer, "texts_of", lambda *_: texts)
    table = words(study, size=30).set_index("word")
    assert set(table["low"]) == set(table["high"]) == {15}
    assert table.loc["crimson", "in_low"] == (ranked[:30:2] % 4 == 0).sum()


def test_what_is_not_there_is_named(study):
    with pytest.raises(UnknownNameError, match="no caption level named '50'; did you mean 5"):
        explain(study, level="50")
    with pytest.raises(UnknownNameError, match="'meen'; did you mean mean"):
        explain(study, by="meen")
    with pytest.raises(StimuliError, match="46"):
        words(study, size=46)
