"""Two feature files are scored as the metric itself scores their clamped, normalized layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from core.errors import FeatureError, MetricError
from core.metrics import METRICS
from core.questions.asking import answer, ask
from core.questions.score import Score, score_layers
from core.spaces.choices import Clamping
from core.spaces.preprocess import clamp_outliers, normalize_rows
from core.study.parts import Comparison
from tests.metrics.oracles import clamp_literally, mutual_knn_literally


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
    "comparison",
    [
        Comparison("cka", layers="all"),
        Comparison("mutual_knn", k=3, layers="all"),
        Comparison("linear_predictivity", layers="all"),
    ],
)
def test_each_pair_of_layers_has_the_metrics_own_score(files, comparison):
    x, y, file_x, file_y = files
    table = ask(Score(file_x, file_y, comparison, Clamping(0.9)))
    assert list(zip(table["layer_x"], table["layer_y"], strict=True)) == [
        (a, b) for a in range(2) for b in range(3)
    ]
    clamped = [[normalize_rows(one) for one in clamp_outliers(side, q=0.9)] for side in (x, y)]
    metric, settings = METRICS[comparison.metric], comparison.settings
    expected = [metric(a, b, **settings) for a in clamped[0] for b in clamped[1]]
    assert table["score"].to_numpy() == pytest.approx(expected, abs=1e-6)
    assert set(table["n"]) == {20}
    assert all((table[name] == value).all() for name, value in settings.items())


def test_rows_that_both_files_name_are_matched(tmp_path):
    rows, order = np.random.default_rng(0).normal(size=(9, 4)), np.random.default_rng(1)
    for name, places in (("x", np.arange(9)), ("y", order.permutation(9))):
        ids = np.array([f"{place}.png" for place in places])
        np.savez(tmp_path / f"{name}.npz", feats=rows[places], ids=ids)
    x, y, plain = (str(tmp_path / name) for name in ("x.npz", "y.npz", "plain.npy"))
    answered = answer(Score(x, y, Comparison("cka")))
    assert answered.table["score"].item() == pytest.approx(1)
    claims = [one.claim for one in answered.findings]
    assert claims == ["Rows of y.npz are matched to those of x.npz by ids and ids"]
    np.save(plain, rows)
    for sides in ((x, plain), (plain, x)):
        with pytest.raises(FeatureError, match=r"x.npz names its rows, by ids, and plain.npy does"):
            ask(Score(*sides, Comparison("cka")))


def search_literally(
    sides: Sequence[Sequence[np.ndarray]], *, q: float, k: int, paper: bool
) -> tuple[float, tuple[int, int]]:
    """Look for the best two layers in loops; the paper has all of a model side by side, too."""
    best, where = 0.0, (-1, -1)
    x, y = (candidates_literally(layers, q=q, paper=paper) for layers in sides)
    for a, one in enumerate(x):
        for b, other in enumerate(y):
            score = mutual_knn_literally(one, other, k)
            if score > best:
                best, where = score, (a, b)
    return best, where


def candidates_literally(
    layers: Sequence[np.ndarray], *, q: float, paper: bool
) -> list[np.ndarray]:
    """Clamp all layers at one threshold, then give every row of each candidate length 1."""
    clamped = clamp_literally(layers, q)
    joined = [[value for layer in clamped for value in layer[i]] for i in range(len(clamped[0]))]
    return [
        np.array([[value / math.hypot(*row) for value in row] for row in layer])
        for layer in [*clamped, *([joined] if paper else [])]
    ]


@pytest.mark.parametrize("candidates", ["released", "paper"])
def test_the_best_is_looked_for_as_in_the_code_or_as_in_the_paper(files, candidates):
    x, y, file_x, file_y = files
    best = Comparison(k=3, candidates=candidates)
    row = ask(Score(file_x, file_y, best, Clamping(0.9))).iloc[0]
    expected = search_literally((x, y), q=0.9, k=3, paper=candidates == "paper")
    assert (row["score"], (row["layer_x"], row["layer_y"])) == (
        pytest.approx(expected[0]),
        expected[1],
    )
    every = ask(Score(file_x, file_y, replace(best, layers="all"), Clamping(0.9)))
    assert len(every) == {"released": 2 * 3, "paper": 3 * 4}[candidates]
    assert every["score"].max() == row["score"]


def test_the_paper_finds_more_where_models_agree_in_all_layers_together_alone():
    """Each of three layers has two of six dimensions; side by side they are the other model's."""
    rng = np.random.default_rng(0)
    whole = rng.standard_normal((40, 6))
    parts = [whole[:, i : i + 2] for i in (0, 2, 4)]
    released, paper = (
        score_layers(parts, [whole], Comparison(k=5, candidates=candidates), Clamping(1.0)).iloc[0]
        for candidates in ("released", "paper")
    )
    assert released["score"] < 0.6
    assert (paper["score"], paper["layer_x"]) == (1.0, 3)


def test_files_of_different_stimuli_and_parameters_out_of_range_are_refused(files):
    x, y, file_x, file_y = files
    with pytest.raises(FeatureError, match="same stimuli; got 20 and 7 rows"):
        score_layers(x, [layer[:7] for layer in y], Comparison(), Clamping(1.0))
    with pytest.raises(MetricError, match="k must"):
        ask(Score(file_x, file_y, Comparison(k=20, layers="all")))
