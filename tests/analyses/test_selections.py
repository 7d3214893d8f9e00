import base64
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.analyses.selections import decode, encode
from core.errors import StimuliError


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


def test_few_of_many_stimuli_take_few_characters():
    assert len(encode([5, 70_000, 99_999], 100_000)) < 200


def test_order_and_repetition_do_not_change_the_text():
    assert encode([3, 1, 3], 9) == encode([1, 3], 9)


@given(st.text(max_size=40))
def test_garbage_is_refused_by_one_sentence(text):
    with pytest.raises(StimuliError, match=r"is written as 16\.…|was chosen from|damaged or cut short"):
        decode(text, 16)


@given(st.data())
def test_a_text_with_one_changed_character_is_refused(data):
    text = encode(np.random.default_rng(0).permutation(1024)[:300], 1024)
    at = data.draw(st.integers(0, len(text) - 2))  # the last character has bits to spare
    changed = text[:at] + data.draw(st.characters().filter(lambda new: new != text[at])) + text[at + 1 :]
    with pytest.raises(StimuliError, match="set"):
        decode(changed, 1024)


@pytest.mark.parametrize("cut", [1, 4, 60, 170])
def test_a_text_cut_short_is_refused(cut):
    text = encode(np.random.default_rng(0).permutation(1024)[:300], 1024)
    with pytest.raises(StimuliError, match="damaged or cut short; copy the whole link again"):
        decode(text[:-cut], 1024)


def test_a_set_of_another_number_of_stimuli_is_refused():
    with pytest.raises(StimuliError, match="this set was chosen from 64 stimuli, here are 32"):
        decode(encode([1], 64), 32)


def test_a_text_that_unfolds_into_gigabytes_is_refused():
    import zlib

    bomb = base64.urlsafe_b64encode(b"\0\0" + zlib.compress(bytes(10**7))).decode()
    with pytest.raises(StimuliError, match="damaged"):
        decode(f"1024.{bomb}", 1024)


@pytest.mark.parametrize(
    ("indices", "message"), [([], "given none"), ([-1, 2], "given -1 to 2"), ([8], "counted from 0 to 7; given 8 to 8")]
)
def test_a_set_that_cannot_be_is_refused(indices, message):
    with pytest.raises(StimuliError, match=message):
        encode(indices, 8)
