"""Alignment by each metric is the study's own; what is said of it, and how it is drawn."""

from __future__ import annotations

import pandas as pd
import pytest

from core.errors import MetricError
from core.metrics import METRICS
from core.metrics.catalog import PRINTED
from core.questions.asking import ask, findings_of
from core.questions.metrics.question import MetricTrends
from core.questions.metrics.trend_figures import by_metric
from core.store import Store
from core.study.comparing import align_models
from core.study.parts import Comparison, LayerRule
from core.study.study import Study
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build

METRICS_ASKED = ("cka", "mutual_knn", "shape_angle")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    root = tmp_path_factory.mktemp("store")
    kinds = {"vision": VISION[:2], "language": LANGUAGE[:3], "reality": False}
    return Study(Store(build(root, PaintedDataset(40), **kinds)), "cave")


def test_each_metric_aligns_as_the_study_does_with_the_layers_that_are_asked_for(study):
    rule = LayerRule(candidates="paper")
    table = ask(MetricTrends(metrics=METRICS_ASKED, k=4, rule=rule), study)
    assert table["metric"].unique().tolist() == list(METRICS_ASKED)
    skill = study.competence().set_index("model")["value"]
    assert (table["competence"] == table["model_x"].map(skill)).all()
    x, y = (table[side].unique().tolist() for side in ("model_x", "model_y"))
    for metric, k in (("cka", None), ("mutual_knn", 4), ("shape_angle", None)):
        own = align_models(study, x, y, Comparison(metric, k=k, candidates="paper"))
        rows = table[table["metric"] == metric].reset_index(drop=True)
        pd.testing.assert_frame_equal(rows[own.columns[:5]], own[own.columns[:5]])


def test_usual_are_the_papers_eight_and_what_cannot_be_is_refused(study):
    with pytest.raises(MetricError, match="choose best, or as released"):
        ask(MetricTrends(rule=LayerRule("last", "paper")), study)
    with pytest.raises(MetricError, match="k must"):
        ask(MetricTrends(k=40), study)
    table = ask(MetricTrends(y=("vit-mae-s",), k=3, rule=LayerRule("last")), study)
    assert table["metric"].unique().tolist() == list(PRINTED)


def rows(metric: str, scores: list[float]) -> list[dict[str, object]]:
    """Return scores of two vision models, of which one is higher by 0.1."""
    return [
        {
            "metric": metric,
            "model_x": f"m{i}",
            "title_x": f"M <{i}>",
            "model_y": f"v{side}",
            "title_y": f"V {side}",
            "group_y": "MAE",
            "parameters_y": 1e5,
            "layer_x": 1,
            "layer_y": 2,
            "score": score + 0.1 * side,
            "competence": i / 10,
            "line": f"m{i}",
            "reason": "",
        }
        for i, score in enumerate(scores)
        for side in (0, 1)
    ]


def test_a_metric_that_is_low_where_models_are_aligned_is_turned_in_words_not_in_the_figure():
    rising, falling = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.6, 0.5, 0.4, 0.3, 0.2, 0.1]
    table = pd.DataFrame(
        [*rows("cka", rising), *rows("shape_angle", falling), *rows("mutual_knn", falling)]
    )
    question = MetricTrends(metrics=("cka", "shape_angle", "mutual_knn"))
    assert findings_of(question, table) == [
        "Alignment rises with competence beyond chance by 2 of 3 metrics (Spearman over 6 language"
        " models: CKA 1.00, shape angle 1.00, mutual k-NN −1.00)."
    ]
    figure = by_metric(table, mode="light")
    heads = [note.text for note in figure.layout.annotations]
    assert heads[:3] == ["<b>CKA</b>", "<b>shape angle (low: aligned)</b>", "<b>mutual k-NN</b>"]
    one, other, mean = figure.data[3:6]
    assert (list(one.y), list(other.y)) == (falling, pytest.approx([y + 0.1 for y in falling]))
    assert list(mean.y) == pytest.approx([y + 0.05 for y in falling])
    assert "M &lt;0&gt;" in one.text[0] if one.text is not None else one.hovertext[0]
    assert METRICS["shape_angle"].spec.short in str(one)


def test_too_few_models_and_no_scores_give_a_reason():
    few = pd.DataFrame(rows("cka", [0.1, 0.2]))
    question = MetricTrends(metrics=("cka",))
    flat = pd.DataFrame(rows("cka", [0.3, 0.1, 0.2, 0.3, 0.1]))
    assert "beyond chance by none of 1 metric (" in findings_of(question, flat)[0]
    assert findings_of(question, few) == [
        "No trend can be judged, since a fit needs at least 5 models with both values; there are 2."
    ]
    drawn = by_metric(few.assign(score=float("nan")), mode="dark")
    assert "No alignment can be computed" in drawn.layout.annotations[0].text
