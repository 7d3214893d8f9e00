"""Nulls and intervals of a study equal those of its spaces, taken literally; a pair that has none
leaves the others theirs.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import core.metrics.cka
import core.questions.alignment.calibration
import core.questions.alignment.question
import core.questions.asking
import core.study.comparing
from core.errors import MetricError
from core.metrics import METRICS
from core.metrics.knn import mutual_share
from core.questions.alignment.question import Alignment
from core.questions.asking import ask
from core.spaces.neighbors import nearest
from core.spaces.preprocess import normalize_rows
from core.statistics.intervals import (
    depth_for_halves,
    draw_halves,
    half_interval,
    neighbor_interval,
)
from core.statistics.nulls import adjust, draw_orders
from core.store import Store, add_dataset
from core.study.parts import Calibration, Comparison, Scope
from core.study.study import Study
from tests.comparisons import align_models
from tests.store_fakes import CountedDataset
from tests.study.stored import layers_of, put

N = 48
X, Y = ["ape", "reality"], ["bee", "cat"]


UNCALIBRATED = Calibration()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store of sound models, but for the first layer of bee and all of cat."""
    root = tmp_path_factory.mktemp("store")
    add_dataset(root, CountedDataset(N))
    ape, bee, reality = (layers_of(seed, widths=(4, 6), n=N) for seed in range(3))
    for name, layers in {
        "ape": ape,
        "bee": [np.ones_like(bee[0]), *bee],
        "cat": [np.zeros_like(bee[0])],
        "reality": reality,
    }.items():
        put(root, name, layers, n=N)
    return root


@pytest.fixture
def study(root: Path) -> Study:
    return Study(Store(root), "counted")


def align_calibrated(
    study: Study,
    x: list[str],
    y: list[str],
    *,
    metric: str = "mutual_knn",
    layers: str = "best",
    calibration: Calibration = UNCALIBRATED,
    **parameters,
) -> pd.DataFrame:
    question = Alignment(
        Scope(study.dataset.name),
        tuple(x),
        tuple(y),
        axis="",
        comparison=Comparison.of(metric, parameters, layers=layers),
        calibration=calibration,
    )
    return ask(question, study)


def sound(study: Study, model: str) -> list[np.ndarray]:
    return [normalize_rows(layer) for layer in study.spaces(model)][model == "bee" :]


def best(metric: str, x: list[np.ndarray], y: list[np.ndarray], **parameters) -> float:
    most = max if METRICS[metric].spec.higher_is_more_aligned else min
    return most(METRICS[metric](a, b, **parameters) for a in x for b in y)


@pytest.mark.parametrize(
    ("metric", "parameters"),
    [("mutual_knn", {"k": 3}), ("shape_angle", {}), ("cycle_knn", {"k": 2})],
)
def test_scores_are_the_studys_and_the_null_is_that_of_permuted_spaces(study, metric, parameters):
    table = align_calibrated(
        study, X, Y, metric=metric, calibration=Calibration(null=19, seed=3), **parameters
    )
    plain = align_models(study, X, Y, metric=metric, **parameters)
    pd.testing.assert_frame_equal(table[list(plain)], plain)
    bee, toward = sound(study, "bee"), 1 if METRICS[metric].spec.higher_is_more_aligned else -1
    for _, row in table[table["model_y"] == "bee"].iterrows():
        x = sound(study, row["model_x"])
        null = [
            best(metric, x, [b[order] for b in bee], **parameters)
            for order in draw_orders(N, count=19, seed=3)
        ]
        assert row["p"] == (1 + sum(toward * value >= toward * row["score"] for value in null)) / 20
        assert (row["null_mean"], row["null_sd"]) == pytest.approx(
            (np.mean(null), np.std(null, ddof=1))
        )
    np.testing.assert_array_equal(table["p_adjusted"], adjust(table["p"].to_numpy()))


def test_a_pair_without_a_score_has_no_null_and_no_interval_and_says_why(study):
    for metric in ("mutual_knn", "cka"):
        table = align_calibrated(
            study, X, Y, metric=metric, calibration=Calibration(null=19, bootstrap=40)
        )
        named = [
            "null_mean",
            "null_sd",
            "threshold",
            "p",
            "p_adjusted",
            "calibrated",
            "low",
            "high",
        ]
        assert (
            table[named].isna().all(axis=1).tolist()
            == table["score"].isna().tolist()
            == [False, True] * 2
        )
        assert table[named].notna().all(axis=1).tolist() == [True, False] * 2
        assert (
            table["reason"].str.contains("stimulus 0 has only zeros").tolist() == [False, True] * 2
        )
        assert list(table)[-1] == "reason"


def test_a_degenerate_layer_that_was_chosen_has_no_null_and_no_interval(study):
    row = align_calibrated(
        study,
        ["ape"],
        ["bee"],
        metric="cka",
        layers="0:0",
        calibration=Calibration(null=19, bootstrap=40),
    ).iloc[0]
    assert row[["score", "chance", "p", "calibrated", "low", "high"]].isna().all()
    assert (
        row["reason"] == f"layer 0 of bee: all {N} stimuli have the same vector, so"
        " this space has no neighbors; choose another layer"
    )


def test_the_interval_of_a_neighbor_metric_is_that_of_its_lists_within_the_range(study):
    for k in (3, 1):
        row = align_calibrated(
            study,
            ["ape"],
            ["bee"],
            layers="0:1",
            calibration=Calibration(bootstrap=50, seed=1),
            k=k,
        ).iloc[0]
        near = (
            nearest(space, k=depth_for_halves(k, N))
            for space in (sound(study, "ape")[0], sound(study, "bee")[0])
        )
        literal = neighbor_interval(*near, k=k, share=mutual_share, count=50, seed=1)
        assert (row["low"], row["high"]) == tuple(np.clip(literal, 0, 1))
        assert row["low"] <= row["score"] <= row["high"]
    assert literal[0] < 0 == row["low"]


@pytest.mark.parametrize(
    ("metric", "parameters", "halved"),
    [
        ("cka", {}, {}),
        ("unbiased_cka", {}, {}),
        ("procrustes", {}, {}),
        ("cknna", {"k": 5}, {"k": 3}),
        ("cycle_knn", {"k": 1}, {"k": 1}),
    ],
)
def test_the_interval_of_other_metrics_is_that_of_halves(study, metric, parameters, halved):
    row = align_calibrated(
        study,
        ["ape"],
        ["bee"],
        metric=metric,
        layers="1:2",
        calibration=Calibration(bootstrap=40, seed=2),
        **parameters,
    ).iloc[0]
    x, y = sound(study, "ape")[1], sound(study, "bee")[1]
    scores = np.array(
        [METRICS[metric](x[half], y[half], **halved) for half in draw_halves(N, count=40, seed=2)]
    )
    literal = half_interval(row["score"], scores, spec=METRICS[metric].spec)
    assert (row["low"], row["high"]) == pytest.approx(tuple(literal))
    assert row["reason"] == ""


@pytest.mark.parametrize("metric", ["cka", "unbiased_cka", "procrustes", "linear_predictivity"])
def test_intervals_of_many_stimuli_are_those_of_few(study, metric, monkeypatch):
    few = align_calibrated(
        study, ["ape"], ["bee"], metric=metric, calibration=Calibration(bootstrap=40)
    ).iloc[0]
    monkeypatch.setattr(core.study.comparing, "BUDGET", 0)
    monkeypatch.setattr(core.metrics.cka, "linear", None)  # no kernel may be made
    monkeypatch.setattr(core.questions.asking, "_fresh_answer", lambda *_: None)
    fresh = Study(study.store, "counted")
    many = align_calibrated(
        fresh, ["ape"], ["bee"], metric=metric, calibration=Calibration(bootstrap=40)
    ).iloc[0]
    columns = ["score", "low", "high"]
    np.testing.assert_allclose(many[columns].tolist(), few[columns].tolist(), atol=1e-6)


@pytest.mark.parametrize("metric", ["mutual_knn", "jaccard_knn"])
def test_too_many_neighbors_for_a_half_leave_no_interval_of_common_neighbors(study, metric):
    most = 2 * (N // 2 - 2)  # half of it leaves one neighbor over in a half
    for k, reason in ((most, ""), (most + 1, f"{N} stimuli are too few for k = {most + 1}")):
        table = align_calibrated(
            study, X, Y, metric=metric, calibration=Calibration(bootstrap=3), k=k
        )
        scored = table["score"].notna()
        assert scored.tolist() == [True, False] * 2
        assert table["low"].notna().tolist() == [not reason, False] * 2
        assert table.loc[scored, "reason"].str.contains(reason, regex=False).all()
        assert not table.loc[~scored, "reason"].str.contains("no interval").any()


def test_cknna_as_released_has_no_best_value_and_no_end(study):
    row = align_calibrated(
        study,
        ["ape"],
        ["ape"],
        metric="cknna",
        layers="0:1",
        calibration=Calibration(null=19, bootstrap=40),
        k=20,
        variant="released",
    ).iloc[0]
    assert math.isnan(row["calibrated"])
    assert row["reason"] == "Centered kernel nearest-neighbor alignment has no best value"
    assert row["p"] == 1 / 20
    assert row["low"] <= row["score"] <= row["high"]


def test_too_few_permutations_are_told_before_anything_is_computed(study, monkeypatch):
    answer = core.questions.alignment.question
    monkeypatch.setattr(answer, "align_models", lambda *_, **__: pytest.fail("computed"))
    with pytest.raises(MetricError, match="needs at least 19 permutations; got 18"):
        align_calibrated(study, X, Y, calibration=Calibration(null=18))


def test_layers_side_by_side_are_calibrated_as_one_more_candidate(study):
    question = Alignment(
        Scope(study.dataset.name),
        ("ape",),
        ("reality",),
        axis="",
        comparison=Comparison(k=4, candidates="paper"),
        calibration=Calibration(19, 9),
    )
    row = ask(question, study).iloc[0]
    x, y = (
        [normalize_rows(space) for space in study.spaces(name, concatenated=True)]
        for name in ("ape", "reality")
    )
    null = [
        best("mutual_knn", x, [b[order] for b in y], k=4)
        for order in draw_orders(N, count=19, seed=0)
    ]
    assert row["score"] == best("mutual_knn", x, y, k=4)
    assert row["null_mean"] == pytest.approx(np.mean(null))
    assert row["low"] <= row["score"] <= row["high"]


def test_of_a_part_of_the_stimuli_only_those_are_permuted_and_drawn(root):
    part, rows = Study(Store(root), "counted", where={"scene": "hill"}), np.arange(2, N, 3)
    row = align_calibrated(
        part,
        ["ape"],
        ["reality"],
        layers="last",
        calibration=Calibration(null=19, bootstrap=7),
        k=2,
    ).iloc[0]
    x, y = (sound(part, name)[-1] for name in ("ape", "reality"))
    assert len(x) == row["n"] == len(rows)
    null = [
        METRICS["mutual_knn"](x, y[order], k=2)
        for order in draw_orders(len(rows), count=19, seed=0)
    ]
    assert row["null_mean"] == pytest.approx(np.mean(null))
