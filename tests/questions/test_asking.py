"""A recipe takes in all that an answer depends on, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from core.metrics import METRICS
from core.questions.alignment.question import Alignment
from core.questions.asking import ask, question_recipe
from core.questions.metrics.question import MetricAgreement
from core.questions.question import StudyQuestion
from core.questions.topics import every_kind
from core.store import Store
from core.study.parts import Calibration, Comparison
from core.study.study import Study
from tests.pages.world import LANGUAGE, SMALL, VISION, PaintedDataset, build
from tests.questions.answers import answer_by

CALIBRATED = Alignment(calibration=Calibration(null=19))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return build(tmp_path, PaintedDataset(20), **SMALL)


@pytest.fixture
def study(root: Path) -> Study:
    return Study(Store(root), "cave")


def test_a_default_said_and_a_default_left_out_are_one_recipe(study: Study) -> None:
    said = replace(CALIBRATED, comparison=Comparison(k=10))
    assert question_recipe(said, study) == question_recipe(CALIBRATED, study)
    other = replace(CALIBRATED, comparison=Comparison(k=9))
    assert question_recipe(other, study) != question_recipe(CALIBRATED, study)


def test_a_metric_s_version_is_in_the_recipes_of_what_is_compared_by_it(study, monkeypatch):
    cka = replace(CALIBRATED, comparison=Comparison("cka"))
    questions = [CALIBRATED, cka, MetricAgreement(sizes=(20,))]
    before = [question_recipe(question, study) for question in questions]
    monkeypatch.setitem(METRICS, "cka", replace(METRICS["cka"], version=2))
    after = [question_recipe(question, study) for question in questions]
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, False, False]


def test_an_answer_that_is_computed_across_a_change_is_not_kept(root, study, monkeypatch):
    answer = Alignment.answer

    def meanwhile(*given):
        table = answer(*given).table
        build(root, PaintedDataset(20), vision=VISION[4:5], language=(), reality=False)
        return table

    answer_by(monkeypatch, Alignment, meanwhile)
    ask(CALIBRATED, study)
    assert not list((root / "results" / "cave").glob("answer-*"))


class Unplaced(Study):
    """A study that nobody may ask for its device."""

    @property
    def device(self) -> str:
        raise AssertionError("the device was read")

    @device.setter
    def device(self, _: str) -> None:
        pass


WITHOUT_DEVICE = [
    kind for kind in every_kind() if issubclass(kind, StudyQuestion) and kind.device is None
]


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store that every question has an answer in."""
    folder = tmp_path_factory.mktemp("wide")
    return build(folder, PaintedDataset(64), vision=VISION[1:5], language=LANGUAGE[1:2])


@pytest.mark.slow
@pytest.mark.parametrize("kind", WITHOUT_DEVICE, ids=lambda kind: kind.command)
def test_what_offers_no_device_uses_none(wide: Path, kind: type[StudyQuestion]) -> None:
    assert list(ask(kind(), Unplaced(Store(wide), "cave")).columns)
