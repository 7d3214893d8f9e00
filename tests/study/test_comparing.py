"""Models of a stored study compared: equal to the pure functions on the same spaces, every missing
score with its reason, and nothing compared twice.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

import core.metrics.catalog
import core.metrics.cka
import core.pairs.engine
import core.pairs.on_torch
import core.study.comparing
import core.study.layers
import core.study.study
from core.errors import (
    MetricError,
    UnknownNameError,
)
from core.metrics import METRICS
from core.metrics.cka import cka_chance, roundness
from core.spaces.choices import Clamp
from core.spaces.preprocess import clamp_outliers, normalize_rows
from core.store import Store, add_dataset
from core.study.comparing import choose_engine as engine_for
from core.study.comparing import engine_over, kernel_bytes
from core.study.parts import Measure
from core.study.selections import encode
from core.study.study import Study
from tests.comparisons import align_models, choose_engine, layer_scores
from tests.store_fakes import CountedDataset
from tests.study.stored import SIZE, layers_of, put


def expected_score(
    x: int, y: int, *, k: int, q: float = 0.95, clamp: Clamp = "exact"
) -> tuple[int, int, float]:
    spaces = [
        [normalize_rows(layer) for layer in clamp_outliers(layers_of(seed), q=q, clamp=clamp)]
        for seed in (x, y)
    ]
    scores = {
        (i, j): METRICS["mutual_knn"](a, b, k=k)
        for i, a in enumerate(spaces[0])
        for j, b in enumerate(spaces[1])
    }
    best = max(scores, key=scores.__getitem__)
    return *best, scores[best]


@pytest.mark.parametrize("k", [1, 10, 100, 101, 129])
def test_align_equals_the_metric_on_clamped_and_normalized_spaces(study, k):
    table = align_models(study, ["ape", "reality"], ["bee", "cat"], k=k)
    assert table[["model_x", "model_y"]].to_numpy().tolist() == [
        [x, y] for x in ("ape", "reality") for y in ("bee", "cat")
    ]
    for row, (x, y) in zip(table.itertuples(), [(0, 1), (0, 2), (3, 1), (3, 2)], strict=True):
        assert (row.layer_x, row.layer_y, row.score) == expected_score(x, y, k=k)
        assert (row.chance, row.n, row.k) == (k / (SIZE - 1), SIZE, k)


def test_a_degenerate_layer_is_passed_over_and_has_no_neighbors(tmp_path):
    add_dataset(tmp_path, CountedDataset(SIZE))
    good = layers_of(0, widths=(5,))[0]
    put(tmp_path, "ape", [np.ones_like(good), good])
    put(tmp_path, "bee", layers_of(1))
    study = Study(Store(tmp_path), "counted")
    assert np.isnan(layer_scores(study, ["ape"], ["bee"])["ape", "bee"]).tolist() == [
        [True, True],
        [False, False],
    ]
    assert align_models(study, ["ape"], ["bee"]).layer_x.item() == 1


@pytest.mark.parametrize("metric", ["mutual_knn", "cka", "mean_cca", "linear_predictivity"])
def test_a_model_that_cannot_be_compared_leaves_the_others_their_rows(uneven, metric):
    table = align_models(Study(uneven, "counted"), ["ape"], ["bee", "cat"], metric=metric)
    assert table[["layer_x", "layer_y"]].to_numpy().tolist() == [[0, 2], [-1, -1]]
    assert table["score"].isna().tolist() == [False, True]
    assert table["reason"].str.contains("stimulus 0 has only zeros").tolist() == [False, True]
    assert table["reason"][0] == ""


def test_a_side_of_which_no_model_can_be_compared_is_refused_whatever_was_asked_before(uneven):
    study = Study(uneven, "counted")
    assert len(align_models(study, ["ape"], ["bee", "cat"], metric="cka")) == 2
    with pytest.raises(
        MetricError, match="no layer can be compared: vectors with a direction expected; stimulus 0"
    ):
        align_models(study, ["ape"], ["cat"], metric="cka")


def test_a_model_that_clamping_would_wipe_out_leaves_the_others_their_rows(tmp_path):
    add_dataset(tmp_path, CountedDataset(SIZE))
    sparse = np.zeros((SIZE, 40), np.float32)
    sparse[:, 0] = np.arange(1, SIZE + 1)
    for name, layers in {"ape": layers_of(0), "bee": layers_of(1), "cat": [sparse]}.items():
        put(tmp_path, name, layers)
    for metric in ("mutual_knn", "cka"):
        table = align_models(
            Study(Store(tmp_path), "counted"), ["ape"], ["bee", "cat"], metric=metric, layers="last"
        )
        assert table["reason"].str.startswith(
            "cat: clamping at q = 0.95 would set every value to 0"
        ).tolist() == [False, True]


def test_two_models_that_a_metric_refuses_together_tell_why(uneven):
    study = Study(uneven, "counted")
    table = align_models(study, ["ape"], ["bee", "reality"], metric="mean_cca")
    table = table.set_index("model_y")
    assert table.loc["bee", "reason"] == ""
    assert table.loc["reality", "reason"].startswith(
        "layers 0 and 0: canonical correlations of ranks 70 and 70 need more than 140"
    )
    assert table.loc["reality", "reason"].endswith("take more stimuli, or svcca with a lower rank")


@pytest.mark.parametrize("metric", ["mutual_knn", "cka", "procrustes"])
def test_a_degenerate_layer_that_was_chosen_is_named(uneven, metric):
    study = Study(uneven, "counted")
    table = align_models(study, ["ape"], ["bee"], metric=metric, layers="all")
    assert table["score"].isna().tolist() == [True, True, False]
    for reason, why in zip(
        table["reason"], ("only zeros", f"all {SIZE} stimuli have the same vector"), strict=False
    ):
        assert reason.startswith("layer ")
        assert " of bee: " in reason
        assert why in reason
    assert (
        align_models(study, ["ape"], ["bee"], metric=metric, layers="0:1")["reason"].tolist()
        == table["reason"].tolist()[1:2]
    )


def test_chance_of_cka_is_missing_for_degenerate_layers_and_each_model_is_read_once_for_it(
    uneven, monkeypatch
):
    study, read = Study(uneven, "counted"), []
    table = align_models(study, ["ape", "reality"], ["bee", "cat"], metric="cka", layers="all")
    assert (
        np.isnan(table["chance"]).tolist()
        == table["score"].isna().tolist()
        == [True, True, False, True] * 2
    )
    fresh, spaces = Study(uneven, "counted"), Study.spaces
    monkeypatch.setattr(
        Study, "spaces", lambda self, name, **how: read.append(name) or spaces(self, name, **how)
    )
    again = align_models(fresh, ["ape", "reality"], ["bee", "cat"], metric="cka", layers="all")
    np.testing.assert_array_equal(again["chance"], table["chance"])
    assert sorted(read) == ["ape", "ape", "bee", "bee", "cat", "reality", "reality"]


def test_layers_side_by_side_are_one_more_candidate(study):
    spaces = {name: study.spaces(name, concatenated=True) for name in ("ape", "bee")}
    expected = [
        [METRICS["cka"](normalize_rows(a), normalize_rows(b)) for b in spaces["bee"]]
        for a in spaces["ape"]
    ]
    for metric, parameters in (("cka", {}), ("mutual_knn", {"k": 5}), ("mutual_knn", {"k": 110})):
        scores = layer_scores(
            study, ["ape"], ["bee"], metric=metric, concatenated=True, **parameters
        )["ape", "bee"]
        plain = layer_scores(study, ["ape"], ["bee"], metric=metric, **parameters)["ape", "bee"]
        np.testing.assert_array_equal(scores[:2, :2], plain)
        last = (normalize_rows(spaces[name][2]) for name in ("ape", "bee"))
        assert scores[2, 2] == pytest.approx(METRICS[metric](*last, **parameters))
    row = align_models(study, ["ape"], ["bee"], metric="cka", candidates="paper").iloc[0]
    assert row["score"] == pytest.approx(np.max(expected))
    assert (row["layer_x"], row["layer_y"]) == np.unravel_index(np.argmax(expected), (3, 3))
    x, y = (
        roundness(normalize_rows(spaces[name][row[side]]))
        for name, side in (("ape", "layer_x"), ("bee", "layer_y"))
    )
    assert row["chance"] == pytest.approx(cka_chance(x, y, n=SIZE))


def test_of_a_part_of_the_stimuli_a_study_is_as_if_there_were_no_others(filled):
    part, rows = Study(Store(filled), "counted", where={"scene": "hill"}), np.arange(2, SIZE, 3)
    ape, bee = (
        [
            normalize_rows(layer)
            for layer in clamp_outliers([layer[rows] for layer in layers_of(seed)], q=0.95)
        ]
        for seed in (0, 1)
    )
    row = align_models(part, ["ape"], ["bee"], k=5, layers="last").iloc[0]
    assert row["score"] == METRICS["mutual_knn"](ape[-1], bee[-1], k=5)
    assert (row["n"], row["chance"]) == (len(rows), 5 / (len(rows) - 1))
    assert part.recipe("x", ["ape"]).choices["where"] == {"scene": "hill"}
    assert "where" not in Study(Store(filled), "counted").recipe("x", ["ape"]).choices


def test_a_set_of_stimuli_is_studied_as_the_factors_that_choose_the_same(filled):
    hills = encode(np.arange(2, SIZE, 3), SIZE)
    by_set, by_factor = (
        Study(Store(filled), "counted", stimuli=hills),
        Study(Store(filled), "counted", where={"scene": "hill"}),
    )
    assert align_models(by_set, ["ape"], ["bee"], k=5).equals(
        align_models(by_factor, ["ape"], ["bee"], k=5)
    )
    assert by_set.recipe("x", ["ape"]) != by_factor.recipe("x", ["ape"])
    assert by_set.recipe("x", ["ape"]).choices["stimuli"] == hills
    assert "stimuli" not in by_factor.recipe("x", ["ape"]).choices
    both = Study(Store(filled), "counted", where={"scene": "hill"}, stimuli=encode([0, 2, 5], SIZE))
    assert both.rows.tolist() == [2, 5]


def test_what_does_not_exist_is_refused_by_name(study):
    with pytest.raises(UnknownNameError, match="no model named 'bea'; did you mean bee"):
        align_models(study, ["ape"], ["bea"])
    with pytest.raises(
        UnknownNameError, match="no metric named 'mutual_nn'; did you mean mutual_knn"
    ):
        align_models(study, ["ape"], ["bee"], metric="mutual_nn")
    with pytest.raises(UnknownNameError, match="no dataset named 'count'; did you mean counted"):
        Study(study.store, "count")


BIG = ["cka", "unbiased_cka", "procrustes", "linear_predictivity", "cknna", "mutual_knn", "svcca"]


@pytest.mark.parametrize("metric", BIG)
def test_many_stimuli_have_the_same_scores_without_a_matrix_of_all_pairs(
    filled, metric, monkeypatch
):
    small = layer_scores(Study(Store(filled), "counted"), ["ape"], ["bee"], metric=metric)
    monkeypatch.setattr(core.study.comparing, "BUDGET", 0)
    monkeypatch.setattr(core.pairs.engine, "triangle", None)  # no kernel may be made
    monkeypatch.setattr(core.metrics.cka, "linear", None)
    large = layer_scores(Study(Store(filled), "counted"), ["ape"], ["bee"], metric=metric)
    np.testing.assert_allclose(large["ape", "bee"], small["ape", "bee"], atol=1e-6)
    assert np.isfinite(large["ape", "bee"]).all()


@pytest.mark.parametrize("metric", ["rsa", "rbf_cka"])
def test_a_metric_of_all_pairs_that_is_not_streamed_is_refused_from_the_limit_on(
    study, metric, monkeypatch
):
    monkeypatch.setattr(core.study.comparing, "BUDGET", 0)
    with pytest.raises(
        MetricError,
        match=rf"of 4 layers compares all pairs of {SIZE} stimuli at once, which takes .* of"
        r" memory; at most 0 bytes expected: use mutual_knn, .*cka, unbiased_cka, .* or"
        " linear_predictivity,"
        " compare fewer models, or study fewer stimuli",
    ):
        align_models(study, ["ape"], ["bee"], metric=metric)
    monkeypatch.setattr(core.study.comparing, "BUDGET", kernel_bytes(SIZE, layers=4))
    assert np.isfinite(align_models(study, ["ape"], ["bee"], metric=metric)["score"].item())


def test_kernels_are_held_as_long_as_all_of_them_fit_together(filled, monkeypatch):
    study, cka = Study(Store(filled), "counted"), Measure("cka")
    names = [entry.card.name for entry in study.store.embeddings("counted")]
    layers = sum(len(study.entry(name).dims) for name in names)
    held, summed = METRICS["cka"].engine(), METRICS["cka"].streamed()
    budget = kernel_bytes(SIZE, layers=layers)
    monkeypatch.setattr(core.study.comparing, "BUDGET", budget)
    assert type(engine_for(study, cka, names)) is type(held)
    assert type(engine_for(study, cka, [*names, *names])) is type(held)  # each is held once
    assert type(engine_for(study, cka, names, concatenated=True)) is type(summed)
    monkeypatch.setattr(core.study.comparing, "BUDGET", budget - 1)
    assert type(engine_for(study, cka, names)) is type(summed)
    assert type(engine_for(study, cka, names[1:])) is type(held)
    procrustes = Measure("procrustes")  # keeps no kernel: the stimuli alone count
    assert type(engine_for(study, procrustes, names)) is type(METRICS["procrustes"].engine())


def test_what_is_summed_on_the_cpu_alone_is_refused_on_a_gpu_that_was_asked_for(monkeypatch):
    monkeypatch.setattr(core.study.comparing, "BUDGET", 0)
    with pytest.raises(
        MetricError, match="so it is summed on the CPU; got device cuda: use cpu or auto"
    ):
        engine_over(SIZE, Measure("cka"), layers=4, device="cuda")


@pytest.mark.parametrize("metric", ["mutual_knn", "cka", "unbiased_cka", "cknna"])
def test_a_study_on_a_device_gives_the_same_from_the_same_neighbors(filled, metric, monkeypatch):
    expected = layer_scores(Study(Store(filled), "counted"), ["ape"], ["bee"], metric=metric)
    monkeypatch.setattr(core.metrics.catalog, "choose_device", lambda _: torch.device("cpu"))
    if metric == "mutual_knn":
        monkeypatch.setattr(core.pairs.on_torch, "_nearest", None)  # kept neighbors are taken
    study = Study(Store(filled), "counted", device="cuda")
    assert type(choose_engine(study, metric)).__module__ == "core.pairs.on_torch"
    scores = layer_scores(study, ["ape"], ["bee"], metric=metric)
    np.testing.assert_allclose(scores["ape", "bee"], expected["ape", "bee"], atol=1e-7)
