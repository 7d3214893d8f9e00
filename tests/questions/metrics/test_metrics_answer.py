"""What a study says of metrics: on which stimuli, of which layers, kept under which recipe."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import core.metrics.catalog
import core.questions.asking
from core.errors import PlatoscopeError
from core.metrics import METRICS
from core.questions.asking import answer, ask, question_recipe
from core.questions.metrics import question as comparison
from core.questions.metrics.question import MetricAgreement, MetricPair, MetricTrends
from core.questions.metrics.scores import (
    COMPARED,
    FIXED_K,
    FIXED_SHARE,
    REPEATS_GROWN,
    rank_agreement,
    size_curve,
)
from core.spaces.preprocess import normalize_rows
from core.store import Store
from core.study.parts import LayerPair
from core.study.study import Study
from tests.comparisons import align_models, layer_scores
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build

NAMES = ("gpt-2-s", "gpt-2-m", "vit-mae-s", "vit-clip-m")
PAIR = LayerPair("gpt-2-m", 2, "vit-clip-m", 1)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    dataset = PaintedDataset(80)
    return build(
        tmp_path_factory.mktemp("store"),
        dataset,
        vision=[VISION[0], VISION[3]],
        language=LANGUAGE[1:3],
        reality=False,
    )


@pytest.fixture
def study(root: Path) -> Study:
    return Study(Store(root), "cave")


def scored(study: Study, **choices) -> pd.DataFrame:
    return MetricAgreement(names=NAMES, **choices).complete(study).scores(study)


def grown(study: Study, **choices) -> pd.DataFrame:
    return ask(MetricPair(pair=PAIR, over="stimuli", **choices), study).set_index("curve")


def test_last_layers_are_compared_on_a_seeded_sample(study):
    table = scored(study, sizes=(30,), ks=(4,))
    rows = np.sort(np.random.default_rng(0).permuted(np.arange(80)[None], axis=1)[0, :30])
    x, y = (normalize_rows(study.spaces(name)[-1][rows]) for name in NAMES[1:3])
    row = table.set_index(["metric", "model_x", "model_y"]).loc["mutual_knn", NAMES[1], NAMES[2]]
    assert row["score"] == pytest.approx(METRICS["mutual_knn"](x, y, k=4))
    assert len(table) == 6 * len(COMPARED)


def test_the_pair_is_calibrated_in_its_layers(study):
    table = ask(MetricPair(pair=PAIR, k=4, null=20), study).set_index("metric")
    own = align_models(study, [PAIR.x], [PAIR.y], metric="cka", layers="2:1")["score"].item()
    assert table.loc["cka", "score"] == pytest.approx(own)


def test_two_models_are_placed_among_other_pairs_of_their_modalities(study):
    answered = answer(MetricPair(pair=PAIR, metrics=("shape_angle", "cka"), k=4, null=20), study)
    last = {name: normalize_rows(study.spaces(name)[-1]) for name in NAMES}
    for metric, toward in (("cka", 1), ("shape_angle", -1)):
        scores = {
            (x, y): toward * METRICS[metric](last[x], last[y]) for x in NAMES[:2] for y in NAMES[2:]
        }
        own = scores.pop((PAIR.x, PAIR.y))
        others = np.array(list(scores.values()))
        row = answered.table.set_index("metric").loc[metric]
        difference = (own - others.mean()) / others.std(ddof=1)
        assert row["difference"] == pytest.approx(difference, rel=1e-5)
        assert row["own"] == pytest.approx(toward * own, rel=1e-5)
        assert row["usual"] == pytest.approx(toward * others.mean(), rel=1e-5)
        assert row["above"] == pytest.approx((others < own).mean())
        assert row["others"] == 3
    assert answered.table["difference"].abs().is_monotonic_decreasing
    assert answered.findings[0].value == answered.table["difference"].iloc[0]


def test_a_model_that_is_not_usual_is_placed_among_its_pairs_too(study, monkeypatch):
    question = replace(MetricPair(pair=PAIR, k=4, null=20), metrics=("cka",)).complete(study)
    expected = question.answer(study).table
    every = comparison.usual
    monkeypatch.setattr(comparison, "usual", lambda models: every(models).query("model != @PAIR.x"))
    monkeypatch.setattr(comparison, "ask", lambda question, study: question.answer(study).table)
    pd.testing.assert_frame_equal(question.answer(study).table, expected)


def test_other_pairs_are_scored_once_for_all_pairs_of_their_modalities(study, monkeypatch):
    def count(pair):
        counted = []
        scored = comparison.score_pairs
        with monkeypatch.context() as patch:
            patch.setattr(comparison, "score_pairs", lambda *of: counted.append(1) or scored(*of))
            ask(MetricPair(pair=pair, metrics=("cka", "svcca"), k=3, null=19), study)
        return len(counted)

    first, second = (replace(PAIR, x=name, layer_x=None, layer_y=None) for name in NAMES[:2])
    assert (count(first), count(second)) == (2, 0)


def test_neighborhoods_reach_from_2_to_all_others(study):
    swept = ask(MetricPair(pair=PAIR, over="k"), study)
    over = ask(MetricTrends(over="k", x=NAMES[:2], y=NAMES[2:]), study)
    for table in (swept, over):
        assert (table["k"].min(), table["k"].max()) == (2, 79)
    assert set(over["model"]) == set(NAMES[:2])


def test_samples_grow_and_both_curves_of_mutual_knn_meet_at_all_stimuli(study):
    table = grown(study, k=10)
    assert table.loc["CKA", "n"].tolist() == [20, 40, 80]
    assert table.loc[FIXED_SHARE, "k"].tolist() == [2, 5, 10]
    ends = [table.loc[curve].iloc[-1] for curve in (FIXED_K, FIXED_SHARE)]
    assert [end["n"] for end in ends] == [80, 80]
    assert ends[0]["score"] == pytest.approx(ends[1]["score"])
    rows = np.arange(80)
    x, y = (normalize_rows(study.spaces(name)[layer][rows]) for name, layer in PAIR.places)
    direct = size_curve(
        METRICS["mutual_knn"],
        x,
        y,
        sizes=[20],
        parameters=lambda _: {"k": 10},
        seed=0,
        repeats=REPEATS_GROWN,
    )
    assert table.loc[FIXED_K].iloc[0]["score"] == pytest.approx(direct["score"].item())


def test_more_stimuli_than_kernels_allow_are_sampled(study, monkeypatch):
    monkeypatch.setattr(comparison, "LARGEST", 24)
    assert comparison.sample_sizes(study.size) == [24]
    assert ask(MetricPair(pair=PAIR, over="k", seed=7), study)["k"].max() == 23


def test_the_agreement_is_that_of_all_finished_models_by_all_metrics_but_costly_ones(study):
    question = MetricAgreement(sizes=(40,), ks=(4,))
    complete = question.complete(study)
    assert set(complete.names) == set(NAMES)
    assert complete.metrics == COMPARED
    direct = rank_agreement(complete.scores(study))
    pd.testing.assert_frame_equal(ask(question, study), direct)
    assert question_recipe(question, study) == question_recipe(complete, study)
    two = ask(MetricAgreement(sizes=(40,), ks=(4,), metrics=("cka", "rsa")), study)
    assert set(two["metric_x"]) == {"cka", "rsa"}


@pytest.mark.parametrize(
    ("n", "k", "size"), [(80, 4, 80), (1024, 10, 256), (1024, 300, 1024), (200, 10, 200)]
)
def test_the_usual_number_of_stimuli(n, k, size):
    assert comparison.usual_size(n, k=k) == size


def test_a_pair_that_is_left_out_is_the_best_aligned_one_in_its_best_layers(study):
    best = align_models(study, NAMES[:2], NAMES[2:], k=5).sort_values("score").iloc[-1]
    pair = MetricPair(over="stimuli", k=5).complete(study).pair
    assert pair.places == (
        (best["model_x"], best["layer_x"]),
        (best["model_y"], best["layer_y"]),
    )
    fixed = MetricPair(pair=LayerPair(NAMES[0], 1, NAMES[2]), over="stimuli", k=5)
    layers = layer_scores(study, [NAMES[0]], [NAMES[2]], k=5)[NAMES[0], NAMES[2]]
    chosen = fixed.complete(study).pair
    assert (chosen.x, chosen.layer_x, chosen.y) == (NAMES[0], 1, NAMES[2])
    by_metric = MetricPair(pair=LayerPair(NAMES[0], 1, NAMES[2])).complete(study).pair
    last = len(study.entry(NAMES[2]).dims) - 1
    assert by_metric.places == ((NAMES[0], 1), (NAMES[2], last))
    assert chosen.layer_y == np.unravel_index(np.nanargmax(layers), layers.shape)[1]


def test_models_are_centered_on_the_smallest(study):
    complete = MetricTrends(over="k").complete(study)
    assert complete.x == ("gpt-2-s", "gpt-2-m")  # by parameters
    table = ask(MetricTrends(over="k", x=("gpt-2-m", "gpt-2-s")), study)
    assert list(dict.fromkeys(table["model"])) == list(complete.x)
    first = table[table["model"] == "gpt-2-s"].dropna(subset="scaled")
    assert len(first)
    assert set(first["scaled"]) == {0.0}


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (MetricAgreement(sizes=(81,)), "expected at most 80 stimuli, which is all; got 81"),
        (
            MetricPair(over="k", pair=LayerPair("gpt-2-s", 4)),
            "a layer of gpt-2-s from 0 to 3; got 4",
        ),
        (MetricPair(over="k", pair=LayerPair("gpt-9")), "no model named 'gpt-9'"),
        (MetricPair(pair=PAIR, null=5), "at least 19 permutations"),
        (MetricPair(pair=PAIR, metrics=("ckaa",)), "no metric named 'ckaa'"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_is_computed(study, question, message):
    with pytest.raises(PlatoscopeError, match=message):
        question_recipe(question, study)


ON_DEVICE = (
    MetricAgreement(names=NAMES, metrics=("mutual_knn", "cka"), ks=(4,), sizes=(30,)),
    MetricPair(pair=PAIR, metrics=("mutual_knn", "cka"), k=4, null=20),
    MetricTrends(over="k", x=NAMES[:2], y=NAMES[2:]),
    MetricPair(pair=PAIR, over="k"),
)


@pytest.mark.parametrize(
    "question", ON_DEVICE, ids=lambda one: f"{one.command} {getattr(one, 'over', '')}"
)
def test_metrics_are_compared_on_the_study_s_device(study, question, monkeypatch):
    monkeypatch.setattr(core.questions.asking, "_fresh_answer", lambda *_: None)
    expected, places = ask(question, study), []

    def choose_device(name: str) -> torch.device:
        places.append(name)
        return torch.device("cpu")

    monkeypatch.setattr(core.metrics.catalog, "choose_device", choose_device)
    table = ask(question, Study(study.store, "cave", device="cuda"))
    assert set(places) == {"cuda"}
    pd.testing.assert_frame_equal(table, expected, atol=1e-6)
