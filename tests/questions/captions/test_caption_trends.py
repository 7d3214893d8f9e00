"""Means, trends and bins by caption level, next to counting by hand."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.questions.captions import by_group, by_level, by_share, level_trends

ESTIMATES = ["slope", "low", "high", "rho", "p"]
WORDS = {"5": 5.0, "10": 10.0, "20": 20.0, "40": 40.0}


def table(scores: np.ndarray, *, target: str = "v") -> pd.DataFrame:
    """Return rows of models × levels."""
    rows = [
        (f"m{model}", level, words, target, scores[model, place], 0.01)
        for model in range(len(scores))
        for place, (level, words) in enumerate(WORDS.items())
    ]
    return pd.DataFrame(rows, columns=["model", "level", "words", "model_y", "score", "chance"])


def test_means_and_deviations_are_over_language_models() -> None:
    scores = np.array([[0.1, 0.2, 0.3, 0.4], [0.3, 0.4, 0.5, np.nan]])
    found = by_level(table(scores).sample(frac=1, random_state=0)).set_index("level")
    assert found.index.tolist() == ["5", "10", "20", "40"]
    assert found["mean"].tolist() == pytest.approx([0.2, 0.3, 0.4, 0.4])
    assert found.loc["5", "deviation"] == pytest.approx(np.sqrt(0.02))
    assert np.isnan(found.loc["40", "deviation"])
    assert found["models"].tolist() == [2, 2, 2, 1]


def test_the_slope_is_per_doubling_of_the_words_and_its_interval_students() -> None:
    scores = np.array([[0.1, 0.2, 0.3, 0.4], [0.1, 0.3, 0.5, 0.7], [0.0, 0.3, 0.6, 0.9]])
    found = level_trends(table(scores), {}).iloc[0]
    assert found["slope"] == pytest.approx(0.2)
    half = 4.302653 * 0.1 / np.sqrt(3)  # t of 2 degrees of freedom; slopes 0.1, 0.2, 0.3
    assert (found["low"], found["high"]) == pytest.approx((0.2 - half, 0.2 + half))
    assert (found["models"], found["levels"], found["reason"]) == (3, 4, "")


@given(seed=st.integers(0, 40))
def test_the_p_value_is_that_of_all_orders(seed: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(2, 4))
    ranks = scores.argsort(axis=1).argsort(axis=1) + 1
    observed = (ranks.sum(axis=0) * np.arange(1, 5)).sum()
    sums = [
        sum(place * (a + b) for place, (a, b) in enumerate(zip(one, other, strict=True), start=1))
        for one in permutations(range(1, 5))
        for other in permutations(range(1, 5))
    ]
    above, below = (
        np.mean([total >= observed for total in sums]),
        np.mean([total <= observed for total in sums]),
    )
    assert level_trends(table(scores), {})["p"].item() == pytest.approx(
        min(1, 2 * min(above, below))
    )


def test_only_models_with_every_level_are_paired_and_p_is_adjusted_over_targets() -> None:
    scores = np.arange(4) + np.random.default_rng(0).normal(scale=0.5, size=(5, 4))
    gaps = scores.copy()
    gaps[0, 2] = np.nan
    both = level_trends(pd.concat([table(gaps, target="v"), table(scores[1:], target="w")]), {})
    assert both["models"].tolist() == [4, 4]
    assert both["slope"].nunique() == 1
    assert both["p_adjusted"].tolist() == pytest.approx(both["p"].tolist())
    noise = np.random.default_rng(1).normal(size=(5, 4))
    mixed = level_trends(pd.concat([table(scores, target="v"), table(noise, target="w")]), {})
    assert mixed["p_adjusted"][0] == pytest.approx(min(2 * mixed["p"][0], mixed["p"].max()))


def test_a_level_of_one_model_alone_takes_no_trend_from_the_others() -> None:
    rows = table(np.arange(4) + np.random.default_rng(0).normal(scale=0.5, size=(5, 4)))
    alone = rows[:1].assign(level="mean", words=75.0, score=9.0)
    assert level_trends(pd.concat([rows, alone]), {}).equals(level_trends(rows, {}))


def test_too_little_has_no_trend_but_a_reason() -> None:
    found = level_trends(table(np.zeros((1, 4))), {}).iloc[0]
    assert np.isnan(found["p"])
    assert (
        found["reason"] == "needs 2 families of language models at 3 caption levels; 1 at 4 loaded"
    )
    unscored = level_trends(table(np.full((3, 4), np.nan)), {}).iloc[0]
    assert (unscored["models"], unscored["reason"]) == (
        0,
        "needs 2 families of language models at 3 caption levels; 0 at 4 loaded",
    )


def test_a_group_is_the_mean_over_its_targets() -> None:
    one, other = np.full((2, 4), 0.1), np.full((2, 4), 0.3)
    rows = pd.concat(
        [table(one, target="v"), table(other, target="w"), table(other, target="alone")]
    )
    found = by_group(rows, {"v": "CLIP", "w": "CLIP"})
    assert found["model_y"].unique().tolist() == ["CLIP"]
    assert found["score"].tolist() == pytest.approx([0.2] * 8)


def test_stimuli_are_binned_by_what_their_captions_tell() -> None:
    facts, scores = np.array([0.05, 0.15, 0.16, 0.4, 1.0]), np.array([0.0, 0.2, 0.4, 0.5, 0.9])
    bins = by_share(facts, scores, edges=np.linspace(0, 1, 11), fewest=1)
    assert bins["stimuli"].tolist() == [1, 2, 1, 1]
    assert bins["score"].tolist() == pytest.approx([0.0, 0.3, 0.5, 0.9])
    assert bins["facts"].tolist() == pytest.approx([0.05, 0.155, 0.4, 1.0])
    assert by_share(facts, scores, edges=np.linspace(0, 1, 11), fewest=2)["stimuli"].tolist() == [2]


FAMILIES = {"m0": "A", "m1": "A", "m2": "A", "m3": "B", "m4": "B"}  # m5 is its own


def test_a_trend_is_over_families_not_models() -> None:
    scores = np.arange(4) + np.random.default_rng(0).normal(scale=0.5, size=(6, 4))
    means = np.array([scores[:3].mean(axis=0), scores[3:5].mean(axis=0), scores[5]])
    found, expected = level_trends(table(scores), FAMILIES), level_trends(table(means), {})
    assert found[["models", "families", "levels"]].values.tolist() == [[6, 3, 4]]
    assert found[ESTIMATES].to_numpy() == pytest.approx(expected[ESTIMATES].to_numpy())


def test_more_models_of_a_family_make_no_trend_surer() -> None:
    scores = np.arange(4) + np.random.default_rng(1).normal(scale=0.8, size=(3, 4))
    more = level_trends(
        table(np.repeat(scores, 5, axis=0)), {f"m{model}": f"{model // 5}" for model in range(15)}
    )
    assert more[ESTIMATES].to_numpy() == pytest.approx(
        level_trends(table(scores), {})[ESTIMATES].to_numpy()
    )
    assert (
        level_trends(table(np.repeat(scores, 5, axis=0)), {})["p"].item() < more["p"].item() / 10
    )  # each its own


def test_a_family_s_mean_is_over_the_same_models_at_every_level() -> None:
    scores = np.arange(4) + np.random.default_rng(2).normal(scale=0.5, size=(6, 4))
    gaps = scores.copy()
    gaps[0] += 50
    gaps[0, 3] = np.nan  # the mean of A would fall there for no other reason
    whole = level_trends(table(gaps), FAMILIES)
    assert whole["models"].item() == 5
    assert whole["slope"].item() == pytest.approx(
        level_trends(table(scores).query("model != 'm0'"), FAMILIES)["slope"].item()
    )


def test_one_family_has_no_trend_and_levels_that_two_have_go_before_more_of_one() -> None:
    scores = np.arange(4) + np.random.default_rng(3).normal(scale=0.5, size=(6, 4))
    alone = level_trends(table(scores[:3]), FAMILIES).iloc[0]
    assert np.isnan(alone["p"])
    assert (
        alone["reason"] == "needs 2 families of language models at 3 caption levels; 1 at 4 loaded"
    )
    scores[3:, 0] = (
        np.nan
    )  # A at four levels is 12 scores, all at three are 18; B and m5 alone are 9
    assert level_trends(table(scores), FAMILIES)[
        ["models", "families", "levels"]
    ].values.tolist() == [[6, 3, 3]]
    few = level_trends(
        table(scores[[0, 1, 2, 3]]), FAMILIES
    )  # 12 of one family at four levels, 12 of two at three
    assert few[["models", "families", "levels"]].values.tolist() == [[4, 2, 3]]


def test_the_order_is_the_mean_rank_correlation() -> None:
    scores = np.array([[0.1, 0.2, 0.3, 0.4], [0.9, 0.7, 0.8, 1.0], [0.4, 0.3, 0.2, 0.1]])
    assert level_trends(table(scores), {})["rho"].item() == pytest.approx(
        (1 + 0.4 - 1) / 3
    )  # ranks 3, 1, 2, 4: 1 − 6 · 6 / 60
    assert level_trends(table(np.zeros((2, 4))), {})["rho"].item() == pytest.approx(0)
