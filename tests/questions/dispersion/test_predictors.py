"""What each predictor says by itself, and what a study knows of its stimuli."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from scipy import stats

from core.errors import MetricError
from core.questions.asking import ask
from core.questions.dispersion.question import (
    ConsensusSpace,
    DispersionPredictors,
    Ranking,
    Spaces,
    StimulusDispersion,
)
from core.questions.dispersion.residuals import (
    associate,
    describe_stimuli,
    distance_to_neighbors,
    rank_predictors,
)
from core.stimuli.statistics import describe_captions, describe_images
from core.store import Store
from core.study.study import Study
from tests.pages.world import VISION, PaintedDataset, build

RNG = np.random.default_rng(0)
TARGET = RNG.normal(size=60)


def test_spearman_is_that_of_its_formula_over_what_is_known():
    values = pd.Series(RNG.permutation(60).astype(float))
    values[:7] = np.nan
    found = associate(values, TARGET)
    ranks = [stats.rankdata(each[7:]) for each in (values.to_numpy(), TARGET)]
    assert found.n == 53
    assert found.spearman == pytest.approx(
        1 - 6 * ((ranks[0] - ranks[1]) ** 2).sum() / (53 * (53**2 - 1))
    )
    assert found.share == pytest.approx(1 - (1 - found.spearman**2) * 52 / 51)


def test_kruskal_and_wallis_compare_the_known_values_by_their_formula():
    values = pd.Series(["sea"] * 20 + ["hill"] * 15 + ["city"] * 12 + [None] * 13)
    ranks = stats.rankdata(TARGET[:47])
    sums = [ranks[:20].sum() ** 2 / 20, ranks[20:35].sum() ** 2 / 15, ranks[35:].sum() ** 2 / 12]
    h = 12 / (47 * 48) * sum(sums) - 3 * 48
    found = associate(values, TARGET)
    assert found.test == "Kruskal-Wallis"
    assert found.p == pytest.approx(stats.chi2.sf(h, 2))
    assert np.isnan(found.spearman)
    assert found.share == pytest.approx((h - 2) / (47 - 3))


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([np.nan] * 51 + list(range(9)), "known of 9 stimuli, and at least 10 are needed"),
        ([4.0] * 50 + [np.nan] * 10, "have the same value"),
        ([f"id {i}" for i in range(60)], "no two values occur in 10 stimuli each"),
        (["sea"] * 60, "no two values occur in 10 stimuli each"),
        ([None] * 60, "known of 0"),
        (["sea"] * 30 + [None] * 30, "no two values"),
    ],
)
def test_what_cannot_be_used_says_why(values, why):
    found = associate(pd.Series(values), TARGET)
    assert pd.Series(found.reason).str.contains(why).item()
    assert np.isnan(found.p)


@pytest.mark.parametrize(
    "values", [list(range(30)) + [np.nan] * 30, ["sea", "hill"] * 15 + [None] * 30]
)
def test_where_the_target_is_constant_there_is_no_test(values):
    target = np.r_[np.zeros(30), TARGET[:30]]
    found = associate(pd.Series(values), target)
    assert found.test == ""
    assert np.isnan(found.p)


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.booleans())
def test_distances_are_those_of_a_slow_count(seed, k, copies):
    rng = np.random.default_rng(seed)
    space = rng.normal(size=(9, 3))
    if copies:
        space[:3] = space[4]
    slow = [
        np.mean(sorted(np.linalg.norm(space[i] - space[j]) for j in range(9) if j != i)[:k])
        for i in range(9)
    ]
    assert distance_to_neighbors(space, k=k) == pytest.approx(slow, abs=1e-6)


def test_dense_places_have_near_neighbors_whatever_the_rotation_but_not_whatever_the_scale():
    space = np.r_[RNG.normal(size=(20, 4)) * 0.1, RNG.normal(size=(20, 4)) + 9]
    found = distance_to_neighbors(space, k=5)
    assert found[:20].max() < found[20:].min()
    turned = space @ np.linalg.qr(RNG.normal(size=(4, 4)))[0] + 3
    assert distance_to_neighbors(turned, k=5) == pytest.approx(found)
    assert distance_to_neighbors(2 * space, k=5) == pytest.approx(2 * found)


def test_neighbors_that_are_not_there_are_refused():
    with pytest.raises(MetricError, match="k must lie in 1 … 8 for 9 stimuli; got 9"):
        distance_to_neighbors(RNG.normal(size=(9, 2)), k=9)
    with pytest.raises(MetricError, match="all 9 stimuli have the same vector"):
        distance_to_neighbors(np.ones((9, 2)), k=2)


def test_infinite_numbers_are_missing_and_rare_values_are_one():
    values = pd.Series(np.arange(60.0))
    values[:5] = np.inf
    assert associate(values, TARGET).n == 55
    texts = pd.Series(["sea"] * 40 + [f"id {i}" for i in range(20)])
    merged = texts.where(texts == "sea", "other")
    assert associate(texts, TARGET) == associate(merged, TARGET)


def test_predictors_are_ranked_by_share_and_adjusted_together():
    factors = pd.DataFrame({"noise": RNG.normal(size=60), "self": TARGET, "one": "a"})
    table = rank_predictors({"factor": factors}, TARGET)
    assert table["predictor"].tolist() == ["self", "noise", "one"]
    adjusted = stats.false_discovery_control(table["p"][:2])
    assert table["p_adjusted"][:2].tolist() == pytest.approx(adjusted.tolist())
    assert table["reason"][2]


SPACES = ("vit-mae-s:1", "vit-clip-m:2", "vit-supervised-s:2")
SIZE = 90


class Dusk(PaintedDataset):
    """Every third image is larger."""

    def image(self, index: int) -> Image.Image:
        image = super().image(index)
        return image.resize((448, 300)) if index % 3 == 0 else image


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(
        tmp_path_factory.mktemp("store"), Dusk(SIZE), vision=VISION, language=(), reality=False
    )


def test_a_study_of_some_stimuli_knows_them_by_words_that_are_rare_in_all(root):
    study, rows = Study(Store(root), "cave"), np.arange(0, SIZE, 4)
    known = describe_stimuli(study, rows)
    assert known["image"]["size"].tolist() == [448 * 300 if i % 3 == 0 else 224 * 224 for i in rows]
    exact = describe_images([Dusk(SIZE).image(i) for i in rows])
    assert known["image"]["brightness"].to_numpy() == pytest.approx(
        exact["brightness"].to_numpy(), abs=0.01
    )
    captions = Dusk(SIZE).captions
    texts = captions.loc[captions["level"] == study.dataset.levels[0], "text"].tolist()
    expected = describe_captions(texts).iloc[rows].reset_index(drop=True)
    pd.testing.assert_frame_equal(known["caption"], expected)


def test_all_kinds_of_predictors_meet_the_dispersion_of_their_stimulus(root):
    study = Study(Store(root), "cave")
    table = ask(DispersionPredictors(ranking=Ranking(SPACES)), study)
    assert set(table["kind"]) == {"image", "caption", "factor", "consensus"}
    mean = ask(StimulusDispersion(joint=Spaces(SPACES)), study)["mean"]
    joint = ask(ConsensusSpace(joint=Spaces(SPACES)), study).filter(like="axis_").to_numpy()
    row = table.set_index("kind").loc["consensus"]
    found = stats.spearmanr(distance_to_neighbors(joint, k=10), mean)
    assert (row["spearman"], row["p"]) == pytest.approx((found.statistic, found.pvalue))
