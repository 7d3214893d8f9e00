"""Adjusted p-values against a hand-computed case, the procedure's definition, and what it
promises.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from core.errors import InputError
from core.statistics.nulls import adjust

p_values = st.lists(
    st.sampled_from([0, 0.001, 0.01, 0.02, 0.05, 0.3, 1]) | st.floats(0, 1), max_size=12
).map(np.array)


def test_a_hand_computed_case():
    """Sorted: 0.01, 0.02, 0.03, 0.5 times 4/1, 4/2, 4/3, 4/4 = 0.04, 0.04, 0.04, 0.5."""
    np.testing.assert_allclose(adjust(np.array([0.03, 0.5, 0.01, 0.02])), [0.04, 0.5, 0.04, 0.04])


def test_a_smaller_p_may_not_get_a_larger_q():
    """0.02 · 3/1 = 0.06 lies above 0.021 · 3/2 = 0.0315, which lies above 0.03 · 3/3 = 0.03: all
    three get 0.03.
    """
    np.testing.assert_allclose(adjust(np.array([0.02, 0.021, 0.03])), [0.03, 0.03, 0.03])


@given(p=p_values.map(np.float64), alpha=st.floats(0.001, 0.999))
def test_discoveries_are_those_of_the_step_up_procedure(p, alpha):
    """Reject the i smallest, for the largest i with p₍ᵢ₎ ≤ α · i/m."""
    falling_short = [
        i for i, value in enumerate(np.sort(p), start=1) if value * (len(p) / i) <= alpha
    ]
    cut = np.sort(p)[falling_short[-1] - 1] if falling_short else -1
    assert (adjust(p) <= alpha).tolist() == (p <= cut).tolist()


@given(p=p_values.filter(len).map(np.float64))
def test_equals_scipy(p):
    np.testing.assert_allclose(adjust(p), stats.false_discovery_control(p), rtol=1e-12)


def test_what_was_not_tested_counts_for_nothing():
    q = adjust(np.array([np.nan, 0.02, np.nan, 0.04]))
    np.testing.assert_allclose(q, [np.nan, 0.04, np.nan, 0.04])


def test_of_no_tests_there_are_no_discoveries():
    assert adjust(np.array([])).size == 0


def test_at_most_the_given_share_of_discoveries_is_false():
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(400):
        p = np.concatenate([rng.random(30), stats.norm.sf(rng.standard_normal(10) + 3)])
        found = adjust(p) <= 0.2
        shares.append(found[:30].sum() / max(1, found.sum()))
    assert (
        abs(np.mean(shares) - 0.2 * 30 / 40) < 4 * np.std(shares) / 20
    )  # α times the share of true nulls


@pytest.mark.parametrize("wrong", [-0.1, 1.5])
def test_a_p_outside_its_range_is_refused(wrong):
    with pytest.raises(InputError, match=rf"p-values must lie in \[0, 1\]; got {wrong}"):
        adjust(np.array([0.5, wrong]))
