"""What a study says of metrics: on which stimuli, of which layers, kept under which recipe."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.errors import StoreWriteError
from core.metrics import METRICS
from core.questions.metrics import answer as comparison
from core.questions.metrics.agreement import COMPARED
from core.questions.metrics.answer import FIXED_K, FIXED_SHARE, Pair
from core.questions.metrics.sample_size import fixed_k, size_curve
from core.recipe import Recipe
from core.spaces.preprocess import normalize_rows
from core.store import Store
from core.study import keeping as kept
from core.study.study import Study
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build

NAMES = ("gpt-2-s", "gpt-2-m", "vit-mae-s", "vit-clip-m")
PAIR = Pair("gpt-2-m", 2, "vit-clip-m", 1)


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


def test_last_layers_are_compared_on_a_seeded_sample(study):
    table = comparison.compare_metrics(study, NAMES, size=30, k=4)
    rows = np.sort(np.random.default_rng(0).permuted(np.arange(80)[None], axis=1)[0, :30])
    x, y = (normalize_rows(study.spaces(name)[-1][rows]) for name in NAMES[1:3])
    row = table.set_index(["metric", "model_x", "model_y"]).loc["mutual_knn", NAMES[1], NAMES[2]]
    assert row["score"] == pytest.approx(METRICS["mutual_knn"](x, y, k=4))
    assert len(table) == 6 * len(COMPARED)


def test_on_all_stimuli_scores_are_the_studys_own(study):
    table = comparison.compare_metrics(study, NAMES, size=80, k=4).set_index(
        ["metric", "model_x", "model_y"]
    )["score"]
    for metric, parameters in (("mutual_knn", {"k": 4}), ("cka", {})):
        own = study.align([NAMES[0]], [NAMES[3]], metric=metric, layers="last", **parameters)[
            "score"
        ].item()
        assert table[metric, NAMES[0], NAMES[3]] == pytest.approx(own)


def test_the_pair_is_calibrated_in_its_layers(study):
    table = comparison.calibrate_pair(study, PAIR, k=4, null=20).set_index("metric")
    own = study.align([PAIR.x], [PAIR.y], metric="cka", layers="2:1")["score"].item()
    assert table.loc["cka", "score"] == pytest.approx(own)


def test_neighborhoods_reach_from_2_to_all_others(study):
    swept = comparison.sweep_neighborhood(study, PAIR)
    over = comparison.compare_neighborhoods(study, NAMES[:2], NAMES[2:])
    for table in (swept, over):
        assert (table["k"].min(), table["k"].max()) == (2, 79)
    assert set(over["model"]) == set(NAMES[:2])


def test_samples_grow_and_both_curves_of_mutual_knn_meet_at_all_stimuli(study):
    table = comparison.grow_sample(study, PAIR, k=10).set_index("curve")
    assert table.loc["CKA", "n"].tolist() == [20, 40, 80]
    assert table.loc[FIXED_SHARE, "k"].tolist() == [2, 5, 10]
    ends = [table.loc[curve].iloc[-1] for curve in (FIXED_K, FIXED_SHARE)]
    assert [end["n"] for end in ends] == [80, 80]
    assert ends[0]["score"] == pytest.approx(ends[1]["score"])
    rows = np.arange(80)
    x, y = (
        normalize_rows(study.spaces(name)[layer][rows])
        for name, layer in ((PAIR.x, PAIR.layer_x), (PAIR.y, PAIR.layer_y))
    )
    direct = size_curve(
        METRICS["mutual_knn"],
        x,
        y,
        sizes=[20],
        parameters=fixed_k(10),
        seed=0,
        repeats=comparison.REPEATS,
    )
    assert table.loc[FIXED_K].iloc[0]["score"] == pytest.approx(direct["score"].item())


@pytest.mark.parametrize(
    ("k", "fixed", "share"), [(79, [80], [80]), (1, [20, 40, 80], [80]), (40, [80], [20, 40, 80])]
)
def test_samples_that_are_too_small_for_k_are_left_out(study, k, fixed, share):
    table = comparison.grow_sample(study, PAIR, k=k).set_index("curve")
    assert table.loc[[FIXED_K], "n"].tolist() == fixed
    assert table.loc[[FIXED_SHARE], "n"].tolist() == share


def test_more_stimuli_than_kernels_allow_are_sampled(study, monkeypatch):
    monkeypatch.setattr(comparison, "LARGEST", 24)
    assert comparison.sample_sizes(study.size) == [24]
    assert comparison.sweep_neighborhood(study, PAIR)["k"].max() == 23


@pytest.mark.parametrize(
    ("n", "sizes"),
    [(1024, [128, 256, 512, 1024]), (5000, [128, 256, 512, 1024]), (256, [128, 256]), (9, [9])],
)
def test_the_sizes_that_are_offered(n, sizes):
    assert comparison.sample_sizes(n) == sizes


@pytest.mark.parametrize(
    ("n", "sizes"),
    [(1024, [16, 32, 64, 128, 256, 512, 1024]), (16, [16]), (5, [5]), (33, [16, 33])],
)
def test_growing_samples(n, sizes):
    assert comparison.growing(n) == sizes


def test_a_table_is_made_once_and_anew_for_another_recipe(study):
    made = []

    def make() -> pd.DataFrame:
        made.append(1)
        return pd.DataFrame({"score": [0.5]})

    for seed, times in ((0, 1), (0, 1), (1, 2)):
        table = kept.keep(study, Recipe.of("kept", seed=seed), make)
        assert table["score"].tolist() == [0.5]
        assert len(made) == times


def test_a_store_that_cannot_be_written_still_answers(study, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise StoreWriteError("no space is left")

    monkeypatch.setattr(kept, "write_result", refuse)
    table = kept.keep(
        study, Recipe.of("kept", seed="never"), lambda: pd.DataFrame({"score": [0.25]})
    )
    assert table["score"].tolist() == [0.25]
