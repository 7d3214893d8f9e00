import base64
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import StimuliError
from core.study.selections import count_share, decode, encode, ends, random_sets, without


@given(st.data())
def test_a_set_comes_back_from_its_text(data):
    n = data.draw(st.integers(1, 1100))
    chosen = data.draw(st.sets(st.integers(0, n - 1), min_size=1))
    text = encode(list(chosen), n)
    assert decode(text, n).tolist() == sorted(chosen)
    assert re.fullmatch(r"[A-Za-z0-9._-]+", text)


@pytest.mark.parametrize("size", [1, 10, 256, 512, 768, 1024])
def test_any_set_of_1024_stimuli_fits_into_a_link(size):
    chosen = np.random.default_rng(size).permutation(1024)[:size]
    assert len(encode(chosen, 1024)) <= 179


@given(st.text(max_size=40))
def test_garbage_is_refused_by_one_sentence(text):
    with pytest.raises(
        StimuliError, match=r"is written as 16\.…|was chosen from|damaged or cut short"
    ):
        decode(text, 16)


@given(st.data())
def test_a_text_with_one_changed_character_is_refused(data):
    text = encode(np.random.default_rng(0).permutation(1024)[:300], 1024)
    at = data.draw(st.integers(0, len(text) - 2))  # the last character has bits to spare
    changed = (
        text[:at] + data.draw(st.characters().filter(lambda new: new != text[at])) + text[at + 1 :]
    )
    with pytest.raises(StimuliError, match="set"):
        decode(changed, 1024)


def test_a_set_of_another_number_of_stimuli_is_refused():
    with pytest.raises(StimuliError, match="this set was chosen from 64 stimuli, here are 32"):
        decode(encode([1], 64), 32)


def test_a_text_that_unfolds_into_gigabytes_is_refused():
    import zlib

    bomb = base64.urlsafe_b64encode(b"\0\0" + zlib.compress(bytes(10**7))).decode()
    with pytest.raises(StimuliError, match="damaged"):
        decode(f"1024.{bomb}", 1024)


@pytest.mark.parametrize(
    ("indices", "message"),
    [([], "got none"), ([-1, 2], "got -1 to 2"), ([8], "counted from 0 to 7; got 8 to 8")],
)
def test_a_set_that_cannot_be_is_refused(indices, message):
    with pytest.raises(StimuliError, match=message):
        encode(indices, 8)


VALUES = np.array([3.0, 1, 2, 1, 5, 4])


def test_the_ends_of_a_ranking_share_no_stimulus_and_ties_go_by_index():
    low, high = ends(VALUES, 3)
    assert low.tolist() == [1, 2, 3]
    assert high.tolist() == [0, 4, 5]
    assert ends(VALUES, 1)[0].tolist() == [1]


def test_an_end_is_dropped():
    without_high, without_low = without(np.arange(8.0)[::-1], count_share(0.25, 8))
    assert without_high.tolist() == [2, 3, 4, 5, 6, 7]
    assert without_low.tolist() == [0, 1, 2, 3, 4, 5]


def test_random_sets_are_seeded_and_hold_each_stimulus_with_equal_chance():
    found = random_sets(20, 5, count=2000, seed=1)
    assert all((np.diff(rows) > 0).all() for rows in found)
    counts = np.bincount(np.concatenate(found), minlength=20)
    assert abs(counts - 500).max() < 5 * np.sqrt(2000 * 0.25 * 0.75)
    assert [rows.tolist() for rows in random_sets(20, 5, count=3, seed=1)] == [
        rows.tolist() for rows in found[:3]
    ]


@pytest.mark.parametrize(
    ("choose", "message"),
    [
        (
            lambda: count_share(0.9, 6),
            "share of at most a half that is 1 … 3 of 6 stimuli; got 0.9",
        ),
        (
            lambda: count_share(0.0, 6),
            "share of at most a half that is 1 … 3 of 6 stimuli; got 0.0",
        ),
        (
            lambda: count_share(np.nan, 6),
            "share of at most a half that is 1 … 3 of 6 stimuli; got nan",
        ),
        (
            lambda: ends(VALUES * np.nan, 2),
            "by a value that some of them lack; choose another summary",
        ),
    ],
)
def test_a_selection_that_cannot_be_is_refused(choose, message):
    with pytest.raises(StimuliError, match=message):
        choose()
