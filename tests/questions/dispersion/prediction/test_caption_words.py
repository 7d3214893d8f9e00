"""Words of two sets of captions: counted by hand, tested by Fisher's sum."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from core.errors import InputError
from core.questions.dispersion.prediction import LEAST_CAPTIONS, enriched


def slow_p(a: int, b: int, low: int, high: int) -> float:
    """Sum the probabilities of all tables with the same margins that are no more likely than this
    one.
    """
    total = a + b
    chances = [
        comb(low, i) * comb(high, total - i) / comb(low + high, total) for i in range(total + 1)
    ]
    return sum(chance for chance in chances if chance <= chances[a] * (1 + 1e-9))


def test_counted_by_hand():
    low = [["owl", "owl", "a"]] * 6 + [["a"]] * 2
    high = [["fog", "a"]] * 5 + [["owl"]] + [["a", "rare"]] * 4
    table = enriched(low, high).set_index("word")
    assert table.index.tolist() == ["owl", "fog", "a"]  # "rare" is in four captions alone
    assert table.loc["owl", ["in_low", "in_high", "low", "high"]].tolist() == [6, 1, 8, 10]
    assert table.loc["owl", "odds_ratio"] == pytest.approx(6 * 9 / (1 * 2))
    assert table.loc["fog", "odds_ratio"] == 0
    assert table.loc["a", "odds_ratio"] == np.inf
    assert table.loc["owl", "p"] == pytest.approx(slow_p(6, 1, 8, 10))


def test_the_lady_tasting_tea():
    """Fisher 1935: eight cups, three of four told right: p = 34/70, two-sided."""
    cups = [["milk", "x"]] * 3 + [["x"]], [["milk"]] + [["-"]] * 3
    found = enriched(
        [[*cup, "first"] for cup in cups[0]] * 2, [list(cup) for cup in cups[1]] * 2
    ).set_index("word")
    assert found.loc["milk", "p"] == pytest.approx(slow_p(6, 2, 8, 8))
    assert slow_p(3, 1, 4, 4) == pytest.approx(34 / 70)


@settings(max_examples=40)
@given(st.integers(0, 12), st.integers(0, 9))
def test_p_is_fishers_sum(a, b):
    low, high = [["w"]] * a + [["-"]] * (12 - a), [["w"]] * b + [["-"]] * (9 - b)
    table = enriched(low, high).set_index("word")
    assert ("w" in table.index) == (LEAST_CAPTIONS <= a + b < 21)
    if "w" in table.index:
        assert table.loc["w", "p"] == pytest.approx(slow_p(a, b, 12, 9))
        swapped = enriched(high, low).set_index("word")
        assert swapped.loc["w", "p"] == pytest.approx(table.loc["w", "p"])
        with np.errstate(divide="ignore"):
            assert swapped.loc["w", "odds_ratio"] == pytest.approx(
                1 / np.float64(table.loc["w", "odds_ratio"])
            )


def captions(rng: np.random.Generator, shares: np.ndarray, n: int) -> list[list[str]]:
    return [
        [f"w{word}" for word in np.flatnonzero(rng.random(len(shares)) < shares)] for _ in range(n)
    ]


def test_false_discoveries_keep_to_their_share_and_planted_words_are_found():
    shares = np.random.default_rng(0).uniform(0.05, 0.5, 40)
    planted = shares.copy()
    planted[:8] += 0.35
    false, found, none = [], [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        both = captions(rng, planted, 120), captions(rng, shares, 120)
        hits = enriched(*both).query("p_adjusted <= 0.1")["word"]
        wrong = [word for word in hits if int(word[1:]) >= 8]
        false.append(len(wrong) / max(len(hits), 1))
        found.append(len(hits) - len(wrong))
        none.append(
            len(
                enriched(captions(rng, shares, 120), captions(rng, shares, 120)).query(
                    "p_adjusted <= 0.1"
                )
            )
            > 0
        )
    assert np.mean(false) <= 0.1
    assert np.mean(found) > 7
    assert np.mean(none) <= 0.2


def test_adjusted_p_is_that_of_all_tested_words_and_ranks_them():
    rng = np.random.default_rng(2)
    table = enriched(captions(rng, np.full(20, 0.3), 40), captions(rng, np.full(20, 0.3), 40))
    assert table["p"].is_monotonic_increasing
    assert table["p_adjusted"].to_numpy() == pytest.approx(
        stats.false_discovery_control(table["p"])
    )


def test_the_order_of_captions_and_repeated_words_do_not_count():
    rng = np.random.default_rng(1)
    low, high = captions(rng, np.full(9, 0.4), 20), captions(rng, np.full(9, 0.2), 20)
    table = enriched(low, high)
    assert table.equals(enriched([words[::-1] * 2 for words in low[::-1]], high[::-1]))


def test_sets_without_common_words_give_an_empty_table():
    table = enriched([["a"]] * 4, [["b"]] * 4)
    assert table.empty
    assert table["p_adjusted"].dtype == np.float64


@pytest.mark.parametrize(("low", "high", "name"), [([], [["a"]], "low"), ([["a"]], [], "high")])
def test_an_empty_set_is_refused(low, high, name):
    with pytest.raises(InputError, match=f"the {name} set is empty"):
        enriched(low, high)
