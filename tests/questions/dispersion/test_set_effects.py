"""Tables of scores on sets: intervals and p-values worked out by hand from the draws."""

from __future__ import annotations

import numpy as np
import pytest

from core.metrics import METRICS
from core.questions.dispersion.effect import (
    ALL,
    NO_RATIO,
    NO_SCORE,
    SetScore,
    effect_table,
    score_all,
)

SPEC = METRICS["cknna"].spec


def sums(rows):
    """Score two spaces with two: the sum of the indices, plus a number of the pair."""
    return rows.sum() + np.array([[0.0, 1], [10, 11]])


def constant(value, draws=4):
    """Return a set's score of one pair and of its mean."""
    return SetScore(np.full((1, 2), value), np.full((draws, 1, 2), value))


def test_a_set_is_scored_whole_and_in_three_quarters():
    seen = []

    def listen(rows):
        seen.append(rows.tolist())
        return sums(rows)

    (found,) = score_all(listen, [np.arange(5, 15)], draws=3, seed=7)
    whole, *parts = sorted(seen, key=len, reverse=True)
    assert whole == list(range(5, 15))
    assert [len(part) for part in parts] == [7, 7, 7]
    assert all(part == sorted(set(part) & set(whole)) for part in parts)
    assert len({tuple(part) for part in parts}) > 1
    np.testing.assert_allclose(found.whole, [[95, 96, 95.5], [105, 106, 105.5]])
    assert sorted(found.parts[:, 0, 0]) == sorted(sum(part) for part in parts)
    np.testing.assert_allclose(found.parts[:, 1, 2], found.parts[:, 0, 0] + 10.5)


def test_no_parts_leave_no_interval():
    scores = score_all(sums, [np.arange(8)], draws=0, seed=0)
    table = effect_table(["a", "b"], ["c", "d"], {"full": scores[0]}, {}, spec=SPEC)
    assert table["score"].notna().all()
    assert table[["low", "high", "p"]].isna().all(axis=None)
    assert table["language"].tolist() == ["c", "d", ALL] * 2


def test_an_interval_is_the_score_plus_how_parts_vary_scaled():
    one = SetScore(
        np.full((1, 2), 0.6),
        np.tile(np.array([0.4, 0.45, 0.5, 0.55, 0.6])[:, None, None], (1, 1, 2)),
    )
    row = effect_table(["a"], ["b"], {"low": one}, {}, spec=SPEC).iloc[0]
    far = np.sqrt(3) * 0.095  # quantiles 0.025, 0.975 of -0.1 … 0.1
    assert (row["low"], row["high"]) == pytest.approx((0.6 - far, 0.6 + far))


def test_the_interval_of_a_mean_has_the_width_it_should():
    """Of scores that are a mean over stimuli, for which theory is exact: ± 1.96 σ / √m."""
    values = np.random.default_rng(0).normal(0.5, 0.1, size=400)
    (found,) = score_all(
        lambda rows: np.array([[values[rows].mean()]]), [np.arange(400)], draws=2000, seed=1
    )
    row = effect_table(["a"], ["b"], {"low": found}, {}, spec=SPEC).iloc[0]
    assert row["high"] - row["low"] == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.06)


def test_one_draw_leaves_no_interval():
    one = constant(0.6, draws=1)
    table = effect_table(
        ["a"],
        ["b"],
        {"low": one, "high": one},
        {"random": [constant(0.5)]},
        spec=SPEC,
        ratio=("low", "high"),
    ).set_index("set")
    assert table["score"].notna().all()
    assert table[["low", "high"]].isna().all(axis=None)


def test_p_counts_random_sets_that_are_as_far_on_either_side():
    random = {"random": [constant(value) for value in (0.1, 0.2, 0.3, 0.4)]}
    sets = {"low": constant(0.5), "even": constant(0.25), "equal": constant(0.1)}
    table = (
        effect_table(["a"], ["b"], sets, random, spec=SPEC)
        .query("language == 'b'")
        .set_index("set")
    )
    assert table["p"].tolist()[:3] == [2 / 5, 1, 2 * 2 / 5]
    assert table.loc["random", "score"] == pytest.approx(0.25)
    assert (table.loc["random", "low"], table.loc["random", "high"]) == pytest.approx(
        (0.1075, 0.3925)
    )


def test_a_ratio_has_the_interval_of_its_logarithm():
    low = SetScore(np.full((1, 2), 0.6), np.tile(np.array([0.1, 0.4])[:, None, None], (1, 1, 2)))
    high = SetScore(np.full((1, 2), 0.3), np.tile(np.array([0.2, 0.2])[:, None, None], (1, 1, 2)))
    row = (
        effect_table(["a"], ["b"], {"low": low, "high": high}, {}, spec=SPEC, ratio=("low", "high"))
        .set_index("set")
        .loc["low/high"]
    )
    far = (
        np.sqrt(3) * 0.95 * np.log(2)
    )  # logarithms of 1/2 and 2 around their mean of 0; 95% of the way to either
    assert row["score"].tolist() == [2, 2]
    assert row["low"].iloc[0] == pytest.approx(2 * np.exp(-far))
    assert row["high"].iloc[0] == pytest.approx(2 * np.exp(far))


@pytest.mark.parametrize("worst", [0.0, -0.1, np.nan])
def test_a_ratio_of_scores_that_are_not_positive_is_none(worst):
    sets = {
        "low": constant(0.5, draws=2),
        "high": SetScore(np.full((1, 2), 0.2), np.array([[[worst] * 2], [[0.1] * 2]])),
    }
    table = (
        effect_table(["a"], ["b"], sets, {}, spec=SPEC, ratio=("low", "high"))
        .set_index("set")
        .loc["low/high"]
    )
    assert table["score"].isna().all()
    assert set(table["reason"]) == {NO_RATIO}


def test_a_set_without_a_score_says_so():
    random = {"random": [constant(0.1), constant(0.2)]}
    row = effect_table(["a"], ["b"], {"low": constant(np.nan)}, random, spec=SPEC).iloc[0]
    assert np.isnan(row["p"])
    assert row["reason"] == NO_SCORE
