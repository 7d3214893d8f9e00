"""Both published rankings of stimuli, against the two equations of the published method written out
in loops.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import orthogonal_procrustes
from scipy.stats import rankdata

from core.questions.asking import ask
from core.questions.dispersion.question import (
    Spaces,
    StimulusDispersion,
    loading,
    ranking_findings,
    spread_findings,
)
from core.spaces.choices import Clamping
from core.store import Store
from core.study.parts import Scope
from core.study.spaces import find_spaces
from core.study.study import Study
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build

SPACES = ("vit-mae-m:2", "vit-clip-m:2", "vit-supervised-s:3")
PUBLISHED = Spaces(SPACES, centering="stimuli")
AS_THEY_ARE = Scope("cave", Clamping(1.0))  # nothing clamped


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    root = tmp_path_factory.mktemp("store")
    build(root, PaintedDataset(60), vision=VISION, language=LANGUAGE[1:2], reality=False)
    return Study(Store(root), "cave", Clamping(1.0))


@pytest.fixture(scope="module")
def table(study):
    return ask(StimulusDispersion(AS_THEY_ARE, PUBLISHED, size=15, seed=3, rank=True), study)


def slow_residuals(spaces: list[np.ndarray]) -> np.ndarray:
    """Equations 1 and 2: center along the second dimension, pad with zeros, scale to norm 1, turn
    each onto the mean of all until that stays; then a distance per stimulus and model.
    """
    widest, prepared = max(space.shape[1] for space in spaces), []
    for space in spaces:
        rows = np.zeros((len(space), widest))
        for j, row in enumerate(space.astype(np.float64)):
            rows[j, : len(row)] = row - sum(row) / len(row)
        prepared.append(rows / np.sqrt((rows**2).sum()))
    joint = prepared[0]
    for _ in range(3_000):
        turned = [each @ orthogonal_procrustes(each, joint)[0] for each in prepared]
        joint = sum(turned) / len(turned)
    residuals = np.zeros((len(joint), len(spaces)))
    for i, each in enumerate(turned):
        for j in range(len(joint)):
            residuals[j, i] = np.sqrt(((each[j] - joint[j]) ** 2).sum())
    return residuals


def test_residuals_as_published_equal_the_equations_in_loops(study, table):
    raw = [study.spaces(place.model)[place.layer] for place in find_spaces(study, SPACES)]
    expected = slow_residuals(raw)
    np.testing.assert_allclose(table[list(SPACES)].to_numpy(), expected, rtol=2e-3)
    np.testing.assert_allclose(table["mean"], expected.mean(axis=1), rtol=1e-3)


def test_the_published_setting_is_another_one_than_the_usual(study, table):
    usual = ask(StimulusDispersion(Scope("cave"), Spaces(SPACES)), Study(study.store, "cave"))
    assert not np.allclose(usual["mean"], table["mean"], rtol=1e-3)


def test_each_ranking_has_its_own_sets_and_both_have_one_random_set(table):
    for by in ("mean", "pc1"):
        ordered = table.sort_values(by)
        assert ordered[f"rank_{by}"].tolist() == list(range(1, 61))
        assert (ordered[f"set_{by}"] == ["low"] * 15 + [""] * 30 + ["high"] * 15).all()
    assert table["random"].sum() == 15


def test_the_first_component_is_what_principal_components_say(table):
    rows = table[list(SPACES)].to_numpy()
    values, axes = np.linalg.eigh(np.cov(rows.T))
    slopes = [loading(table[space], table["pc1"]) for space in SPACES]
    np.testing.assert_allclose(np.abs(slopes), np.abs(axes[:, -1]), rtol=1e-6)
    assert table["explained"].iloc[0] == pytest.approx(values[-1] / values.sum())


def test_figures_show_sets_random_ticks_and_an_axis_per_model(table):
    question = StimulusDispersion(joint=PUBLISHED, rank=True)
    curves = question.plot(table).draw("light")
    panel = {trace.name or trace.legendgroup: trace for trace in curves.data if trace.xaxis == "x"}
    low = panel["low set"]
    assert (sorted(low.x), sorted(low.y)) == (list(range(1, 16)), sorted(table["mean"])[:15])
    assert len(panel["random set"].x) == 15
    titles = dict(zip(SPACES, ("MAE <m>", "CLIP", "one label"), strict=True))
    space = question.plot_space(table, titles).draw("dark")
    dots = [trace for trace in space.data if trace.mode == "markers" and len(trace.x) == 60]
    assert len(dots) == 3  # a panel per pair of models
    assert sorted(dots[0].x) == sorted(table[SPACES[0]])
    assert space.layout.xaxis.title.text == "MAE &lt;m&gt;"


def test_findings_say_how_far_both_rankings_agree():
    table = pd.DataFrame(
        {
            "mean": [1.0, 2, 3, 4],
            "pc1": [-2.0, 0, -1, 3],
            "set_mean": ["low", "low", "high", "high"],
            "set_pc1": ["low", "high", "low", "high"],
            "explained": 0.6,
        }
    )
    assert [one.value for one in ranking_findings(table)] == pytest.approx([0.8, 0.5, 0.5, 0.6])


N = 400
SCENE = np.repeat(["beach", "farm", "forest", "town"], N // 4)


def planted(seed: int = 0) -> tuple[pd.Series, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    values = pd.Series(1 + 0.1 * (SCENE == "farm") + rng.normal(scale=0.02, size=N))
    coin, x = rng.choice(["heads", "tails"], N), rng.normal(size=N)
    rare = ["seen"] + [None] * (N - 1)
    return values, pd.DataFrame({"scene": SCENE, "coin": coin, "x_1": x, "one": "a", "rare": rare})


def test_the_spread_is_the_ratio_of_tenths_and_a_planted_factor_is_named_with_its_share():
    values, factors = planted()
    extent, best = spread_findings(values, factors, "images")
    ranked = np.sort(values)
    assert extent.value == pytest.approx(ranked[-40:].mean() / ranked[:40].mean())
    assert "Of 3 factors, “scene”" in best.claim
    ranks = rankdata(values)  # an analysis of variance of them
    groups = [ranks[name == SCENE] for name in np.unique(SCENE)]
    between = sum(len(one) * (one.mean() - ranks.mean()) ** 2 for one in groups)
    share = between / ((ranks - ranks.mean()) ** 2).sum()
    assert best.value == pytest.approx(1 - (1 - share) * (N - 1) / (N - 4), abs=1e-9)
    assert best.p < 0.001


def test_without_a_link_none_is_claimed():
    claims = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        factors = pd.DataFrame({f"f{i}": rng.choice(list("abc"), 100) for i in range(5)})
        claims.append(spread_findings(pd.Series(rng.normal(5, 1, 100)), factors, "items")[1].claim)
    assert sum(claim.startswith("Of 5 factors") for claim in claims) <= 6


def test_few_stimuli_and_no_factors_say_so():
    (few,) = spread_findings(pd.Series(np.arange(19.0)), pd.DataFrame(), "images")
    assert few.reason == "needs 20 images; 19 loaded"
    assert len(spread_findings(pd.Series(np.arange(1.0, 31)), pd.DataFrame(), "images")) == 1
    same = spread_findings(pd.Series(np.zeros(30)), pd.DataFrame({"a": ["x", "y"] * 15}), "items")
    assert np.isnan(same[0].value)
