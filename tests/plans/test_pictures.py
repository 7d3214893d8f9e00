"""The picture of a plan's question is the one that its page draws."""

from __future__ import annotations

import plotly.graph_objects as go
import pytest

from core.plans.report import picture
from core.questions.alignment.question import Alignment
from core.questions.asking import ask
from core.questions.competence.question import CompetenceScores
from core.questions.dispersion.effect import SetEffect, Trial
from core.questions.dispersion.question import Spaces, StimulusDispersion
from core.questions.metrics.question import MetricAgreement
from core.questions.models.question import ModelMap
from core.questions.question import StudyQuestion
from core.store import Store
from core.study.parts import Comparison, Measure
from core.study.study import Study
from tests.pages.world import SMALL, PaintedDataset, build

NEAR = Comparison(k=3)
TRIAL = Trial(repeats=3, draws=3)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    store = build(tmp_path_factory.mktemp("store"), PaintedDataset(20), **SMALL)
    return Study(Store(store), "cave")


@pytest.mark.parametrize(
    "question",
    [
        Alignment(comparison=NEAR),
        ModelMap(comparison=NEAR, layout="mds"),
        SetEffect(trial=TRIAL, measure=Measure("mutual_knn", k=2)),
        StimulusDispersion(
            joint=Spaces(("vit-mae-m", "vit-clip-s", "vit-clip-m")), size=5, rank=True
        ),
        MetricAgreement(ks=(2, 3), metrics=("mutual_knn", "cka"), sizes=(10, 20)),
    ],
    ids=lambda question: question.command,
)
def test_a_question_has_its_picture(study: Study, question: StudyQuestion):
    drawn = picture(question, ask(question, study), study)
    assert isinstance(drawn, go.Figure)
    assert drawn.data
    assert drawn.layout.meta["title"]


def test_a_question_without_a_picture_has_none(study: Study):
    question = CompetenceScores()
    assert picture(question, ask(question, study), study) is None
