"""Two feature files are scored as the metric itself scores their clamped, normalized layers."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import FeatureError, MetricError
from core.metrics import METRICS
from core.questions.asking import ask, recipe_of
from core.questions.score.answer import score_layers
from core.questions.score.question import Score
from core.spaces.preprocess import clamp_outliers, normalize_rows
from core.study.parts import Measure


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 2, 5)), rng.normal(size=(20, 3, 4))
    for name, features in (("x", x), ("y", y)):
        np.save(tmp_path / f"{name}.npy", features)
    return (
        [x[:, i] for i in range(2)],
        [y[:, i] for i in range(3)],
        str(tmp_path / "x.npy"),
        str(tmp_path / "y.npy"),
    )


@pytest.mark.parametrize(
    "measure", [Measure("cka"), Measure("mutual_knn", k=3), Measure("linear_predictivity")]
)
def test_each_pair_of_layers_has_the_metrics_own_score(files, measure):
    x, y, file_x, file_y = files
    table = ask(Score(file_x, file_y, measure, q=0.9))
    assert list(zip(table["layer_x"], table["layer_y"], strict=True)) == [
        (a, b) for a in range(2) for b in range(3)
    ]
    clamped = [[normalize_rows(one) for one in clamp_outliers(side, q=0.9)] for side in (x, y)]
    metric, settings = METRICS[measure.metric], measure.settings
    expected = [metric(a, b, **settings) for a in clamped[0] for b in clamped[1]]
    assert table["score"].to_numpy() == pytest.approx(expected, abs=1e-6)
    assert set(table["n"]) == {20}
    assert all((table[name] == value).all() for name, value in settings.items())


def test_files_of_different_stimuli_and_parameters_out_of_range_are_refused(files):
    x, y, file_x, file_y = files
    with pytest.raises(FeatureError, match="same stimuli; got 20 and 7 rows"):
        score_layers(x, [layer[:7] for layer in y], Measure(), q=1.0)
    with pytest.raises(MetricError, match="k must"):
        ask(Score(file_x, file_y, Measure(k=20)))


def test_the_recipe_names_both_files_and_every_choice():
    recipe = recipe_of(Score("a.npy", "b.npy", Measure("cka")))
    assert recipe.kind == "score"
    assert recipe.choices["versions"] == {"score": 1}
    assert (recipe.choices["x"], recipe.choices["y"]) == ("a.npy", "b.npy")
    assert recipe != recipe_of(Score("a.npy", "b.npy"))
