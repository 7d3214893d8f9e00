"""The picture of a plan's question is the one that its page draws."""

from __future__ import annotations

import plotly.graph_objects as go
import pytest

from core.competence.scores import import_scores
from core.plans.report import picture
from core.questions.alignment.question import Alignment
from core.questions.asking import ask
from core.questions.competence.question import CompetenceScores, Downstream
from core.questions.dispersion.effect import SetEffect, Trial
from core.questions.dispersion.question import HeldOutFits, Spaces, StimulusDispersion
from core.questions.metrics.question import MetricAgreement, MetricTrends
from core.questions.models.question import ModelMap
from core.questions.question import StudyQuestion
from core.store import Store
from core.study.parts import Calibration, Comparison, Measure
from core.study.study import Study
from tests.pages.world import SMALL, PaintedDataset, build

SCORES = "model,task,value,unit\n" + "".join(
    f"gpt-2-{size},reading,{value},%\n" for size, value in (("xs", 20), ("s", 30), ("m", 60))
)
NEAR = Comparison(k=3)
THREE = Spaces(("vit-mae-m", "vit-clip-s", "vit-clip-m"))
TRIAL = Trial(repeats=3, draws=3)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    store = build(tmp_path_factory.mktemp("store"), PaintedDataset(20), **SMALL)
    import_scores(store, "cave", SCORES.encode(), name="scores.csv")
    return Study(Store(store), "cave")


@pytest.mark.parametrize(
    "question",
    [
        Alignment(comparison=NEAR),
        Alignment(comparison=NEAR, axis="reading (user)", calibration=Calibration(null=20)),
        Downstream(comparison=NEAR, score="reading (user)", target="vit-clip-m"),
        ModelMap(comparison=NEAR, layout="mds"),
        SetEffect(trial=TRIAL, measure=Measure("mutual_knn", k=2)),
        SetEffect(sets="drop", trial=TRIAL, measure=Measure("mutual_knn", k=2)),
        HeldOutFits(joint=THREE),
        StimulusDispersion(
            joint=Spaces(("vit-mae-m", "vit-clip-s", "vit-clip-m")), size=5, rank=True
        ),
        MetricAgreement(ks=(2, 3), metrics=("mutual_knn", "cka"), sizes=(10, 20)),
        MetricTrends(k=3, metrics=("mutual_knn", "cka")),
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
